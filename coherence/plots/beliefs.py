"""The figures of beliefs: by action, and against what is true.

Outcomes are drawn against beliefs in bins or by isotonic regression. The outcome is the exact
posterior where it is known, and else a truth coded 0/1. Drawn are the rows that checks take: parsed
beliefs under the reference prompt.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import (
    as_actions,
    as_belief,
    as_codes,
    as_contexts,
    require,
    require_aligned,
    whole_number,
)
from coherence.plots.style import (
    ACTION_COLOURS,
    DASHES,
    FAINT,
    INK,
    OTHER_ACTIONS,
    PALE,
    Style,
    belief_axes,
    canvas,
    fit_probabilities,
    is_narrow,
    points_with_intervals,
    set_title,
    span_of,
)
from coherence.printable import clean
from coherence.public_names import described
from coherence.result import CheckResult
from coherence.runs.columns import ACTION_PREFIX, holds_exact
from coherence.runs.runs import STATED, Runs
from coherence.runs.states import STATE_NAMES, named_states, unknown_pair, zero_or_one
from coherence.statistics.figure_tables import (
    EXACT,
    bars_of,
    belief_bars,
    calibration_bins,
    over_contexts,
    spaced,
)

UNIT = ("task", "model")
LABELS = "labels"
"""Attribute of a table of choices: what the table calls the states 0 and 1."""
RELIABILITY = "Reliability"
_BAR = 0.68  # of a row of the small multiples; the label takes the rest
_POINT: Style = {"s": 38, "color": INK, "edgecolor": "white", "linewidth": 1.0, "zorder": 5}
_DIAGONAL: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES, "gid": "diagonal"}


# Rows


def choices_of(
    data: ArrayLike | pd.DataFrame,
    action: ArrayLike | pd.DataFrame | None = None,
    truth: ArrayLike | None = None,
    *,
    context: ArrayLike | None = None,
    exact: ArrayLike | None = None,
    positive: Any = None,
) -> pd.DataFrame:
    """Gather what a figure of beliefs draws."""
    if not isinstance(data, pd.DataFrame):
        return _of_arrays(data, action, truth, context, exact, positive)
    beside = {"action": action, "truth": truth, "context": context, "exact": exact}
    twice = [name for name, values in beside.items() if values is not None]
    require(
        not twice,
        f"{' and '.join(twice)} must be left out beside a table, which has its own columns; pass "
        "the beliefs as an array instead.",
    )
    # A runs table may have a column of that name beside its own.
    gathered = "belief" in data.columns and "p" not in data.columns
    return data if gathered else _of_runs(data, positive)


def _of_runs(runs: pd.DataFrame, positive: Any) -> pd.DataFrame:
    require(
        "p" in runs.columns,
        "runs must have a column p with the beliefs; received the columns "
        f"{', '.join(map(str, runs.columns[:12]))}. Of beliefs in columns of several states, pass "
        "arrays: the belief in one of them, action, truth and context.",
    )
    for name in UNIT:
        seen = list(runs[name].unique()) if name in runs.columns else []  # none is a name as well
        if len(seen) > 1:
            raise InputError(
                f"runs must hold one task and one model; received {len(seen)} values of {name!r}. "
                f"Draw one at a time: runs[runs[{name!r}] == {str(seen[0])!r}]."
            )
    told = Runs(runs)
    stated = told.with_prompt(told.reference()) & told.believed
    rows = runs[stated].reset_index(drop=True)
    require(len(rows) > 0, "runs must hold at least one parsed belief; received none.")
    context = rows["context"] if "context" in rows.columns else pd.Series(rows.index)
    columns: dict[str, Any] = {"belief": as_belief(rows["p"]), "context": context.astype(str)}
    acted = told.acted[stated].reset_index(drop=True)
    policies = [name for name in told.policies if rows[name].notna().any()]
    if acted.any():
        columns |= {name: rows[name].where(acted) for name in policies or ["action"]}
    labels: list[Any] = []
    if "theta" in rows.columns and rows["theta"].notna().any():
        columns["truth"], labels = _coded(rows["theta"], positive, "theta")
    if "p_true" in rows.columns and holds_exact(rows.columns) and rows["p_true"].notna().any():
        columns["p_true"] = rows["p_true"]
    if "group" in rows.columns and rows["group"].notna().all():
        columns["group"] = rows["group"]
    if "person" in rows.columns and (rows.groupby("context")["person"].nunique() > 1).any():
        columns["person"] = rows["person"]
    table = pd.DataFrame(columns)
    table.attrs[LABELS] = labels
    return table


def _of_arrays(
    belief: ArrayLike,
    action: ArrayLike | pd.DataFrame | None,
    truth: ArrayLike | None,
    context: ArrayLike | None,
    exact: ArrayLike | None,
    positive: Any,
) -> pd.DataFrame:
    require_aligned(belief=belief, action=action, truth=truth, context=context, exact=exact)
    beliefs = as_belief(belief)
    require(
        beliefs.ndim == 1 or beliefs.shape[1] == 2,
        "belief must be in one of two states to be drawn; received beliefs over "
        f"{beliefs.shape[-1]} states. Pass the belief in one state against the rest.",
    )
    n_rows = len(beliefs)
    table = pd.DataFrame({"belief": beliefs if beliefs.ndim == 1 else beliefs[:, 1]})
    table["context"] = as_contexts(context, n_rows)[0]
    if action is not None:
        chosen = as_actions(action, n_rows)
        if chosen.probabilities is not None:
            names = [f"{ACTION_PREFIX}{label}" for label in chosen.labels]
            table[names] = chosen.probabilities
        elif isinstance(action, pd.Series):  # the order of a categorical is the user's
            table["action"] = action.array
        else:
            table["action"] = np.array(chosen.labels, dtype=object)[chosen.codes]
    if truth is not None:
        codes, labels = as_codes(truth, "truth", n_rows)
        states, named = _coded(pd.Series(list(labels), dtype=object)[codes], positive)
        table["truth"], table.attrs[LABELS] = states.to_numpy(), named
    if exact is not None:
        posterior = as_belief(exact, "exact")
        require(
            posterior.shape == (n_rows,),
            f"exact must have one value per row of belief; received shape {posterior.shape} for "
            f"{n_rows} rows.",
        )
        table["p_true"] = posterior
    return table


def _coded(
    truth: pd.Series, positive: Any, name: str = "truth"
) -> tuple["pd.Series[float]", list[Any]]:
    """Write states as 0 and 1, 1 being the one that beliefs are in; return their labels too."""
    states = truth.astype(object)
    labels = list(states.dropna().unique())
    codes = zero_or_one(labels, positive, name=name)
    if codes is None and len(labels) == 2:
        raise InputError(unknown_pair(labels, name))
    if codes is None:
        raise InputError(
            f"{name} must have two states, or positive name the one that beliefs are in; received "
            f"{len(labels)}: {', '.join(map(repr, labels[:6]))}."
        )
    of_label = dict(zip(labels, codes, strict=True))
    ordered = sorted(labels, key=lambda label: of_label[label])
    return states.map(of_label).astype(np.float64), ordered


# Beliefs by action


def _spoken(count: float) -> str:
    # Sums of probabilities are no whole numbers.
    return f"{count:.0f}" if count % 1 == 0 else f"{count:.1f}"


@described
def plot_beliefs(
    data: ArrayLike | pd.DataFrame,
    action: ArrayLike | pd.DataFrame | None = None,
    *,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one histogram of the belief per action, stacked as small multiples on a common scale.

    Parameters
    ----------
    data : DataFrame or array-like, shape (n,)
        A runs table of one task and model, or beliefs in [0, 1].
    action : array-like, shape (n,) or (n, n_actions), optional
        Beside an array of beliefs: labels, or the probability of each action, with which a belief
        then counts. Without actions there is one histogram.

    Returns
    -------
    Axes
        The histogram of an action has the gid "action-<number>", counted from 0 at the top.

    Raises
    ------
    InputError
        No belief is there to draw, or an array breaks its rule.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=60, n_reps=2, rng=1)
    >>> [text.get_text() for text in coherence.plots.plot_beliefs(runs).texts]
    ['defer (n = 59)', 'no (n = 26)', 'yes (n = 35)']
    """
    table = belief_bars(choices_of(data, action))
    with canvas(ax, size=(5.0, height_for(table))) as axes:
        draw_beliefs(table, ax=axes, noun=noun)
        set_title(axes, title, title_of(table, noun))
        return axes


def title_of(table: pd.DataFrame, noun: str) -> str:
    """Say what the figure of a table of `belief_bars` shows."""
    acted = (table["n_actions"] > 0).any()
    return "Beliefs by action" if acted else f"{noun[:1].upper()}{noun[1:]}s"


def height_for(table: pd.DataFrame) -> float:
    """Return the height in inches that as many histograms need; lower, a label would be cut."""
    return max(1.2 + 0.75 * table["action"].nunique(), 2.6)


def _labels(table: pd.DataFrame) -> list[str]:
    """Return the printable name of each histogram."""
    labels: list[str] = []
    for action, n_actions in table[["action", "n_actions"]].drop_duplicates().to_numpy().tolist():
        name = {0: "all answers", 1: clean(action, limit=40) or "(blank)"}.get(
            n_actions, f"{n_actions} other actions"
        )
        # Two labels may look alike once cleaned and cut; a number keeps them apart.
        labels.append(name if name not in labels else f"{name} ({len(labels) + 1})")
    return labels


def draw_beliefs(table: pd.DataFrame, *, ax: Axes, noun: str) -> Axes:
    """Draw a table of `belief_bars`, each action in its colour."""
    groups = [rows for _, rows in table.groupby(["action", "n_actions"], sort=False)]
    # By name, so that equal actions of two evaluations look alike.
    named = sorted({*table.loc[table["n_actions"] == 1, "action"]})
    colours = dict(zip(named, ACTION_COLOURS, strict=False))
    tallest = float(table["n"].max())
    edges = np.append(groups[0]["low"].to_numpy(), groups[0]["high"].iloc[-1])
    belief_axes(ax)
    # The rows have counts of their own, which one grid cannot mark.
    ax.grid(False)
    # The first action on top, as one reads.
    for number, (rows, label) in enumerate(zip(groups, _labels(table), strict=True)):
        action, n_actions = rows["action"].iloc[0], rows["n_actions"].iloc[0]
        colour = colours[action] if n_actions == 1 else OTHER_ACTIONS if n_actions else INK
        baseline = float(len(groups) - 1 - number)
        heights = baseline + _BAR * rows["n"].to_numpy(dtype=float) / (tallest or 1.0)
        bars: Style = {"baseline": baseline, "color": colour}
        ax.stairs(heights, edges, fill=True, alpha=0.55, zorder=2, **bars)
        ax.stairs(heights, edges, linewidth=1.3, gid=f"action-{number}", zorder=3, **bars)
        ax.axhline(baseline, color=FAINT, linewidth=0.8, zorder=1)
        # A label above its own row of bars, not beside the axis: long action names then take no
        # width from the plot.
        ax.text(
            edges[0],
            baseline + 0.94,
            f"{label} (n = {_spoken(rows['n'].sum())})",
            ha="left",
            va="top",
            color=INK,
            parse_math=False,
        )
    ax.set_ylim(-0.05, len(groups))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    if is_narrow(span_of(edges)):
        fit_probabilities(ax, "x", span_of(edges))
    else:
        ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel(noun)
    ax.set_ylabel(f"answers (tallest bar: {_spoken(tallest)})")
    return ax


# Against what is true


def is_exact(bins: pd.DataFrame) -> bool:
    """Tell whether beliefs are compared with exact posteriors."""
    return bool((bins["compared_with"] == EXACT).all())


def calibration_title(bins: pd.DataFrame) -> str:
    """Say what the figure of a table of calibration shows."""
    return "Belief and exact posterior" if is_exact(bins) else "Calibration"


@described
def plot_calibration(
    data: ArrayLike | pd.DataFrame,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    n_bins: int = 10,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the exact posterior, or else the share of true cases, against the stated belief.

    Parameters
    ----------
    data : DataFrame or array-like, shape (n,)
        A runs table of one task and model, or beliefs in [0, 1].
    n_bins : int
        Largest number of bins, which hold about equally many answers.

    Returns
    -------
    Axes
        The binned means have the gid "calibration" and 95% intervals over contexts, single contexts
        (exact posterior only) the gid "contexts".

    Raises
    ------
    InputError
        There is neither an exact posterior nor a state that is 0 or 1, or an array breaks its rule.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("miscalibrated", n_contexts=60, n_reps=2, rng=1)
    >>> coherence.plots.plot_calibration(runs).get_ylabel()
    'exact posterior'
    """
    choices = choices_of(data, None, truth, exact=exact, context=context, positive=positive)
    require("belief" in choices, "data must hold beliefs in one of two states; received none.")
    bins = calibration_bins(choices, n_bins=whole_number(n_bins, "n_bins", 2))
    labels = choices.attrs.get(LABELS, ())
    state = named_states(labels)[1] if len(labels) == 2 else STATE_NAMES[1]
    with canvas(ax, size=(4.4, 4.5)) as axes:
        contexts = spaced(over_contexts(choices)[0].dropna())
        draw_calibration(bins, contexts, ax=axes, noun=noun, state=state)
        set_title(axes, title, calibration_title(bins))
        return axes


def draw_calibration(
    bins: pd.DataFrame, contexts: pd.DataFrame | None, *, ax: Axes, noun: str, state: str
) -> Axes:
    """Draw tables of `coherence.statistics.figure_tables`: bins, and contexts where exact."""
    shown = contexts if contexts is not None and is_exact(bins) else pd.DataFrame()
    belief_axes(ax)
    # The same on both axes, so that the diagonal is in sight wherever the points are.
    drawn = [bins[name] for name in ("belief", "outcome", "low", "high")]
    span = span_of(*drawn, *(shown[name] for name in ("belief", "truth") if name in shown))
    for axis in ("x", "y"):
        fit_probabilities(ax, axis, span)
    ax.plot([0, 1], [0, 1], zorder=1, **_DIAGONAL)
    if len(shown):
        points: Style = {"s": 11, "color": PALE, "alpha": 0.7, "linewidth": 0, "zorder": 2}
        ax.scatter(shown["belief"], shown["truth"], gid="contexts", **points)
    ax.plot(bins["belief"], bins["outcome"], color=INK, linewidth=1.6, zorder=4)
    how: Any = {"points": _POINT | {"gid": "calibration"}, "lines": {"zorder": 3}}
    points_with_intervals(ax, bins, place="belief", value="outcome", **how)
    ax.set_xlabel(noun)
    share = f"share of cases with {clean(state, limit=24)}"
    ax.set_ylabel(EXACT if is_exact(bins) else share, parse_math=False)
    # On a square the diagonal is the line of 45 degrees that readers expect.
    ax.set_aspect("equal")
    return ax


@described
def plot_reliability(
    result: CheckResult,
    *,
    forecasts: ArrayLike | None = None,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often outcomes happened against how often they were forecast to.

    Parameters
    ----------
    result : CheckResult
        From `coherence.calibration_test`, whose `details` are drawn.
    forecasts : array-like, shape (n,), optional
        All forecasts, for a histogram along the lower edge.

    Returns
    -------
    Axes
        The isotonic regression has the gid "reliability", the pointwise 95% consistency band, in
        which that of a calibrated forecaster lies, "band"; forecasts on the dashed line are right.

    Raises
    ------
    InputError
        The result has no reliability curve.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("miscalibrated", n_contexts=120, n_reps=1, rng=1)
    >>> result = coherence.calibration_test(runs["p"], runs["theta"], context=runs["context"])
    >>> coherence.plots.plot_reliability(result).get_ylabel()
    'share of cases in which it happened'
    """
    curve = result.details
    require(
        {"forecast", "recalibrated", "low", "high"} <= set(curve),
        f"result must be of calibration_test, with a reliability curve; received {result.check!r}"
        f"{f', {result.reason}' if result.reason else ''}.",
    )
    counted = None
    if forecasts is not None:
        counted = bars_of(pd.Series(as_belief(forecasts).ravel()))
    with canvas(ax, size=(4.4, 4.5)) as axes:
        draw_reliability(curve, counted, ax=axes, noun=noun)
        set_title(axes, title, RELIABILITY)
        return axes


def draw_reliability(
    curve: pd.DataFrame, forecasts: pd.DataFrame | None, *, ax: Axes, noun: str
) -> Axes:
    """Draw the curve of a result, above the histogram of all forecasts where there is one."""
    belief_axes(ax)
    x = curve["forecast"]
    band: Style = {"color": PALE, "alpha": 0.45, "linewidth": 0, "zorder": 1}
    ax.fill_between(x, curve["low"], curve["high"], gid="band", **band)
    ax.plot([0, 1], [0, 1], zorder=2, **_DIAGONAL)
    if forecasts is not None:
        heights = forecasts["n"] / forecasts["n"].max() * 0.12
        bars: Style = {"color": FAINT, "alpha": 0.6, "linewidth": 0, "zorder": 1}
        ax.bar((forecasts["low"] + forecasts["high"]) / 2, heights, 0.046, **bars)
    ax.plot(x, curve["recalibrated"], gid="reliability", color=INK, linewidth=1.6, zorder=4)
    ax.scatter(x, curve["recalibrated"], s=10, color=INK, linewidth=0, zorder=5)
    for axis in ("x", "y"):
        fit_probabilities(ax, axis, (0.0, 1.0))
    ax.set_xlabel(noun)
    ax.set_ylabel("share of cases in which it happened")
    ax.set_aspect("equal")
    return ax
