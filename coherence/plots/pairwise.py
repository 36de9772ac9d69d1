"""The figure of monotone choice: the share of one action of a pair against the belief."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.inputs import require
from coherence.plots.style import (
    ABOVE,
    INK,
    Span,
    Style,
    belief_axes,
    canvas,
    fit_probabilities,
    points_with_intervals,
    set_title,
    span_of,
)
from coherence.printable import clean
from coherence.public_names import described
from coherence.result import CheckResult
from coherence.runs.audit import STATED

_LABEL, _TITLE_LABEL = 24, 40  # letters


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


@runtime_checkable
class Paired(Protocol):
    """A result of `coherence.monotone_choice_test`."""

    details: pd.DataFrame
    reason: str
    pair: Sequence[object]


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
    details, pair = _of_pair(result)
    bins = choice_bins(details)
    with canvas(ax) as axes:
        has_reversals = _draw(details, bins, pair, scale, axes)
        axes.set_xlabel(f"mean {noun} of the bin")
        set_title(axes, title, title_of(pair), lift=24 if has_reversals else 6)
        return axes


def shown_shares(bins: pd.DataFrame) -> Span:
    """Return the least and the largest share that is drawn of the bins of `choice_bins`."""
    return span_of(*(bins[name] for name in ("share", "low", "high")))


def title_of(pair: Sequence[object]) -> str:
    """Say what the figure of a pair shows."""
    first, second = (clean(label, limit=_TITLE_LABEL) for label in pair)
    return f"Share of {first} among {first} and {second}"


def _of_pair(result: object) -> tuple[pd.DataFrame, Sequence[object]]:
    if not isinstance(result, Paired):
        raise InputError(
            "result must be what coherence.monotone_choice_test returns; received "
            f"{getattr(result, 'check', type(result).__name__)}."
        )
    require(
        not result.details.empty,
        f"result must have bins to draw; {result.reason or 'it has none'}.",
    )
    return result.details, result.pair


def _draw(
    details: pd.DataFrame,
    bins: pd.DataFrame,
    pair: Sequence[object],
    scale: Span | None,
    ax: Axes,
) -> bool:
    """Draw bins, lines and reversals; tell whether there are reversals."""
    first, second = (clean(label, limit=_LABEL) for label in pair)
    belief_axes(ax)
    fit_probabilities(ax, "x", span_of(bins["belief"]))
    fit_probabilities(ax, "y", shown_shares(bins) if scale is None else scale)
    has_reversals = _join_bins(details, bins, ax)
    if len(bins):
        # Area in proportion to the count, so that a bin with four times the choices looks four
        # times as heavy.
        areas = np.maximum(130 * bins["n"] / bins["n"].max(), 10)
        dots: Style = {"s": areas, "color": INK, "edgecolor": "white", "gid": "bins", "zorder": 5}
        bars: Style = {"lines": {"zorder": 4}, "points": dots | {"linewidth": 1.0}}
        points_with_intervals(ax, bins, place="belief", value="share", **bars)
    if has_reversals:
        # Above the axes: every corner inside may hold points.
        ax.legend(**ABOVE, frameon=False, handlelength=3)
    ax.set_ylabel(f"share of {first}\nrather than {second}", parse_math=False)
    return has_reversals


def _join_bins(details: pd.DataFrame, bins: pd.DataFrame, ax: Axes) -> bool:
    """Join neighbouring bins, mark the significant reversals, and tell whether there are any."""
    by_bin = bins.set_index("bin")
    marked = details[details["violation"].astype(bool) & details["significant"].astype(bool)]
    # A bin in which neither action was chosen has no share, and no line can end there.
    drawn = set(by_bin.index.tolist())
    reversals = sorted(
        {
            ends
            for ends in zip(marked["bin_j"].tolist(), marked["bin_k"].tolist(), strict=True)
            if drawn.issuperset(ends)
        }
    )
    neighbours = list(zip(bins["bin"][:-1].tolist(), bins["bin"][1:].tolist(), strict=True))
    for neighbour in neighbours:
        # A reversal between neighbours gets its own line below, not two.
        if neighbour not in reversals:
            ends = by_bin.loc[list(neighbour)]
            ax.plot(ends["belief"], ends["share"], color=INK, linewidth=1.6, gid="step", zorder=2)
    for number, reversal in enumerate(reversals):
        ends = by_bin.loc[list(reversal)]
        label = "significant reversal" if number == 0 else None
        # Reversals over several bins are drawn as well, but lightly: in a choice that falls all the
        # way there are many.
        weight = 2.2 if reversal in neighbours else 1.1
        ax.plot(
            ends["belief"],
            ends["share"],
            color=INK,
            linewidth=weight,
            linestyle=(0, (4, 2)),
            gid="reversal",
            label=label,
            zorder=3,
        )
    return bool(reversals)
