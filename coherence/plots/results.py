"""The figures of results: choices of a pair of actions, effects over evaluations, and power."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.inputs import require
from coherence.plots.style import (
    ABOVE,
    DASHES,
    FAINT,
    INK,
    SERIES_COLOURS,
    Span,
    Style,
    belief_axes,
    canvas,
    fit_effects,
    fit_probabilities,
    frame_axes,
    points_with_intervals,
    probability_scales,
    require_columns,
    set_title,
    span_of,
)
from coherence.printable import clean, evaluation_name
from coherence.public_names import described
from coherence.result import LEVEL, CheckResult, Outcome
from coherence.runs.runs import STATED

_PAIR_LABEL, _TITLE_LABEL, _LABEL = 24, 40, 44  # letters
_LETTERS = "x-small"
_LINES = ("agent", "check", "signal", "n_reps")
_OF_POWER = (*_LINES, "n_cases", "power", "low", "high")


# Choices of a pair of actions


def choice_bins(details: pd.DataFrame) -> pd.DataFrame:
    """Collect the belief bins out of a table of bin pairs."""
    names = ["bin", "belief", "share", "n", "low", "high"]
    sides = [
        details.reindex(columns=[f"{name}_{side}" for name in names]).set_axis(names, axis=1)
        for side in ("j", "k")
    ]
    # Every bin but the first and the last stands on both sides of some pair.
    bins = pd.concat(sides).drop_duplicates("bin")
    return bins[(bins["n"] > 0) & bins["share"].notna() & bins["belief"].notna()].sort_values(
        "belief", ignore_index=True
    )


@described
def plot_pairwise_choice(
    result: CheckResult,
    *,
    noun: str = STATED,
    title: str | None = None,
    scale: Span | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of the first action of a pair against the mean belief of each bin.

    Parameters
    ----------
    result : CheckResult
        Of `coherence.monotone_choice_test`.

    Returns
    -------
    Axes
        Points have areas in proportion to the choices of their bin, and 95% intervals over contexts
        where the result has them. Significant reversals are dashed lines with the gid "reversal",
        other neighbours are joined by solid ones.

    Raises
    ------
    InputError
        The result is of another check, or has no bins.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("nonmonotone", n_contexts=80, n_reps=3, rng=1)
    >>> how = {"pair": ("yes", "no"), "data": runs.dropna(subset="action"), "context": "context"}
    >>> result = coherence.monotone_choice_test("p", "action", rng=1, **how)
    >>> coherence.plots.plot_pairwise_choice(result).get_title(loc="left")
    'Share of yes among yes and no'
    """
    pair: Any = getattr(result, "pair", None)
    require(
        isinstance(pair, Sequence),
        "result must be what coherence.monotone_choice_test returns; received "
        f"{getattr(result, 'check', type(result).__name__)}.",
    )
    details = result.details
    require(not details.empty, f"result must have bins to draw; {result.reason or 'it has none'}.")
    bins, (first, second) = choice_bins(details), (clean(x, limit=_PAIR_LABEL) for x in pair)
    with canvas(ax) as axes:
        belief_axes(axes)
        fit_probabilities(axes, "x", span_of(bins["belief"]))
        fit_probabilities(axes, "y", shown_shares(bins) if scale is None else scale)
        has_reversals = _join_bins(details, bins, axes)
        if len(bins):
            # Area in proportion to the count: a bin with four times the choices looks four times as
            # heavy.
            areas = np.maximum(130 * bins["n"] / bins["n"].max(), 10)
            dots: Style = {"s": areas, "color": INK, "edgecolor": "white", "gid": "bins"}
            bars: Style = {"lines": {"zorder": 4}, "points": dots | {"linewidth": 1.0, "zorder": 5}}
            points_with_intervals(axes, bins, place="belief", value="share", **bars)
        if has_reversals:
            # Above the axes: every corner inside may hold points.
            axes.legend(**ABOVE, frameon=False, handlelength=3)
        axes.set_ylabel(f"share of {first}\nrather than {second}", parse_math=False)
        axes.set_xlabel(f"mean {noun} of the bin")
        set_title(axes, title, title_of_pair(pair), lift=24 if has_reversals else 6)
        return axes


def shown_shares(bins: pd.DataFrame) -> Span:
    """Return the least and the largest share that is drawn of the bins of `choice_bins`."""
    return span_of(*(bins[name] for name in ("share", "low", "high")))


def title_of_pair(pair: Sequence[object]) -> str:
    """Say what the figure of a pair shows."""
    first, second = (clean(label, limit=_TITLE_LABEL) for label in pair)
    return f"Share of {first} among {first} and {second}"


def _join_bins(details: pd.DataFrame, bins: pd.DataFrame, ax: Axes) -> bool:
    """Join neighbouring bins, mark the significant reversals, and tell whether there are any."""
    by_bin, order = bins.set_index("bin"), bins["bin"].tolist()
    marked = details[details["violation"].astype(bool) & details["significant"].astype(bool)]
    ends_of = zip(marked["bin_j"].tolist(), marked["bin_k"].tolist(), strict=True)
    # A bin in which neither action was chosen has no share, and no line can end there.
    reversals = sorted({ends for ends in ends_of if {*ends} <= {*order}})
    neighbours = list(pairwise(order))
    step: Style = {"linewidth": 1.6, "gid": "step", "zorder": 2}
    dashed: Style = {"linestyle": (0, (4, 2)), "gid": "reversal", "zorder": 3}
    # A reversal between neighbours gets its own line, not two. One over several bins is drawn as
    # well, but lightly: in a choice that falls all the way there are many.
    lines = [(ends, step) for ends in neighbours if ends not in reversals]
    lines += [
        (ends, dashed | {"linewidth": 2.2 if ends in neighbours else 1.1}) for ends in reversals
    ]
    for ends, style in lines:
        joined = by_bin.loc[list(ends)]
        label = "significant reversal" if reversals[:1] == [ends] else None
        ax.plot(joined["belief"], joined["share"], color=INK, label=label, **style)
    return bool(reversals)


# Effects over evaluations


def title_of_forest(check: object) -> str:
    """Say what the figure of a check shows."""
    return f"{clean(check)} over evaluations"


def height_of_forest(n_rows: int) -> float:
    """Return the height in inches that as many rows need."""
    return 1.0 + 0.2 * n_rows


@described
def plot_forest(
    results: pd.DataFrame,
    *,
    check: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the effect of one check in each task and model, the first row of the table on top.

    Parameters
    ----------
    results : DataFrame
        ``Report.results``, or some of its rows.
    check : str, optional
        The check to draw, needed where the table has several.

    Returns
    -------
    Axes
        Points with the gid "effects" and their intervals: full where the test rejects, in a
        report after Holm's correction. Where there is no estimate, that is said.

    Raises
    ------
    InputError
        The table has no such check, several of which none was named, or several units of
        measurement.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=60, n_reps=2, rng=1)
    >>> report = coherence.analyze(runs, checks=["iterated_expectation"], rng=1)
    >>> ax = coherence.plots.plot_forest(report.results, check="iterated_expectation")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['simulated · leaky']
    """
    needed = CheckResult("", "", 0.0, "", None, None, 0, 0).to_row()
    require_columns(results, [*needed], "results must have the columns of Report.results")
    rows = _rows_of(results, check)
    with canvas(ax, size=(5.4, height_of_forest(len(rows)) + 0.4)) as axes:
        _draw(rows, axes)
        set_title(axes, title, title_of_forest(rows["check"].iloc[0]))
        return axes


def _rows_of(table: pd.DataFrame, check: str | None) -> pd.DataFrame:
    """Return the rows of one check, which share a unit of measurement."""
    known = list(dict.fromkeys(table["check"]))
    wanted = known[0] if check is None and len(known) == 1 else check
    if wanted not in known:
        raise InputError(
            f"check must name one check of results; received {check!r}. It has: "
            f"{', '.join(map(str, known)) or 'none'}."
        )
    rows = table[table["check"] == wanted].reset_index(drop=True)
    measures = list(dict.fromkeys(rows["unit"]))
    require(
        len(measures) == 1,
        f"results of {wanted} must have one unit of measurement; received "
        f"{' and '.join(map(str, measures))}. Draw them apart: "
        f"results[results['unit'] == {measures[0]!r}].",
    )
    return rows


def _draw(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw effects below each other."""
    frame_axes(ax)
    heights = np.arange(len(rows))
    fit_effects(ax, "x", span_of(*(rows[name] for name in ("estimate", "low", "high"))))
    inside = np.where(rows["outcome"] == str(Outcome.REJECTED), INK, "white").tolist()
    how: Style = {"color": inside, "edgecolor": INK, "gid": "effects"}
    rows = rows.assign(height=heights)
    points_with_intervals(ax, rows, place="height", value="estimate", sideways=True, points=how)
    blank = pd.Series("", index=rows.index)
    named = zip(rows.get("task", blank), rows.get("model", blank), strict=True)
    # The first on top; text of the user is no mathematics.
    names = [clean(evaluation_name(*names), limit=_LABEL) for names in named]
    ax.set_yticks(heights, names, parse_math=False, fontsize=_LETTERS)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    missing: Style = {"xycoords": ("axes fraction", "data"), "va": "center", "color": FAINT}
    for height in heights[rows["estimate"].isna()]:
        ax.annotate("not estimated", (0.02, height), fontsize=_LETTERS, **missing)
    ax.set_xlabel(f"effect ({clean(rows['unit'].iloc[0])})", parse_math=False)


# Power


@described
def plot_power(table: pd.DataFrame, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of simulated tables that reject against the number of cases.

    Parameters
    ----------
    table : DataFrame
        What `coherence.power` returned, or several such tables below each other.

    Returns
    -------
    Axes
        A line for each result, signal and number of repetitions with exact 95% intervals, cases
        on a logarithmic axis; dashed lines at the level, .05, and at a power of .8.

    Raises
    ------
    InputError
        The table lacks a column.

    Examples
    --------
    >>> import coherence
    >>> shares = coherence.power("shaded", [20, 40], 1, 0.4, n_simulations=10, rng=1)
    >>> coherence.plots.plot_power(shares).get_title(loc="left")
    'sufficiency: power by number of cases'
    """
    require_columns(table, _OF_POWER, "table must be what power returned")
    with canvas(ax, size=(6.4, 3.3)) as axes:
        frame_axes(axes)
        several = [name for name in _LINES if table[name].nunique() > 1] or ["signal"]
        for number, (_, rows) in enumerate(table.groupby(list(_LINES), sort=False)):
            line = rows.sort_values("n_cases")
            share, low, high = (line[name].to_numpy(float) for name in ("power", "low", "high"))
            label = ", ".join(f"{name} {clean(line[name].iloc[0], limit=44)}" for name in several)
            colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
            style: Style = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 1.2}
            reach = np.array([share - low, high - share])
            axes.errorbar(line["n_cases"], share, yerr=reach, elinewidth=0.8, label=label, **style)
        sizes = sorted(table["n_cases"].unique())
        shown = sizes if len(sizes) <= 6 else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
        axes.set_xscale("log")
        axes.set_xticks(shown, [f"{size:g}" for size in shown])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("cases", color=INK)
        probability_scales(axes, x=False)
        for height, label in ((LEVEL, "level .05 and power .8"), (0.8, "_")):
            axes.axhline(height, color=FAINT, linestyle=DASHES, linewidth=0.8, label=label)
        axes.set_ylabel("share rejected", color=INK)
        # Beside the axes: lines may be anywhere inside.
        beside: Style = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(frameon=False, fontsize="small", **beside)
        names = table["check"].unique()
        one = clean(names[0] if len(names) == 1 else str(names[0]).partition(":")[0])
        set_title(axes, title, f"{one}: power by number of cases")
        return axes
