"""The figure of beliefs by action: small histograms below each other, on one scale."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.plots.choices import choices_of
from coherence.plots.scales import fit_probabilities, is_narrow, span_of
from coherence.plots.style import ACTION_COLOURS, FAINT, INK, belief_axes, canvas, set_title
from coherence.table.audit import STATED
from coherence.table.printable import clean
from coherence.table.runs import Runs

MOST_BANDS = 6
"""Histograms in one figure; rarer actions are gathered in the last."""
ALL = "all answers"
_LABEL = 40
_PER_UNIT = tuple(n * 10**power for power in range(1, 6) for n in (2, 5, 10))
_FEWEST_BARS = 10  # from the least belief to the largest
_BAR = 0.68  # of a row of the small multiples; the label takes the rest


def action_labels(choices: pd.DataFrame, *, most: int = MOST_BANDS) -> pd.Series:
    """Return the printable action of each row, with rare actions gathered beyond `most` labels."""
    # The order of a categorical is the user's: wait, treat, refer.
    actions = choices["action"]
    levels = (
        list(actions.cat.categories)
        if isinstance(actions.dtype, pd.CategoricalDtype)
        else sorted(actions.unique(), key=str)
    )
    counts = actions.value_counts()
    present = [level for level in levels if counts.get(level, 0) > 0]
    kept = present
    if len(present) > most:
        # The most frequent are kept, in the order of the levels and not of their counts.
        frequent = set(sorted(present, key=lambda level: -counts[level])[: most - 1])
        kept = [level for level in present if level in frequent]
    # Two labels may look alike once cleaned and cut; a number keeps them apart.
    names: dict[object, str] = {}
    for level in kept:
        name = clean(level, limit=_LABEL) or "(blank)"
        names[level] = name if name not in names.values() else f"{name} ({len(names) + 1})"
    rest = f"{len(present) - len(kept)} other actions"
    labelled = actions.astype(object).map(lambda action: names.get(action, rest))
    order = [*names.values(), *([rest] if len(kept) < len(present) else [])]
    return labelled.astype(pd.CategoricalDtype(order, ordered=True))


def _histogram_edges(belief: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return bin edges of width .05, between the round numbers where most beliefs are round.

    Beliefs that take up less than half of [0, 1] have finer ones, from the least to the largest.
    """
    low, high = span_of(belief)
    per_unit, first, last = 20, 0.0, 20.0
    if high > low and is_narrow((low, high)):
        per_unit = next((n for n in _PER_UNIT if n * (high - low) >= _FEWEST_BARS), _PER_UNIT[-1])
        first, last = np.floor(low * per_unit + 1e-6), np.ceil(high * per_unit - 1e-6)
    # A belief of .35 on an edge would fall to either side, as its last binary digit has it.
    scaled = belief * per_unit
    mostly_round = np.mean(np.abs(scaled - np.rint(scaled)) < 1e-6) >= 0.5
    return np.arange(first - 0.5 if mostly_round else first, last + 1) / per_unit


def _counted(
    rows: pd.DataFrame, edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Count beliefs between edges, each with its weight where rows have one."""
    weights = rows["weight"].to_numpy(dtype=float) if "weight" in rows else None
    return np.histogram(rows["belief"].to_numpy(dtype=float), edges, weights=weights)[0]


def _spoken(count: float) -> str:
    # Sums of probabilities are no whole numbers.
    return f"{count:.0f}" if count % 1 == 0 else f"{count:.1f}"


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
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

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
    >>> ax = coherence.plots.plot_beliefs(runs)
    >>> [text.get_text() for text in ax.texts]
    ['defer (n = 59)', 'no (n = 26)', 'yes (n = 35)']
    """
    rows = by_action(choices_of(data, action))
    with canvas(ax, size=(5.0, height_for(rows))) as axes:
        _draw(rows, axes, noun=noun)
        set_title(axes, title, title_of(rows, noun))
        return axes


def by_action(choices: pd.DataFrame) -> pd.DataFrame:
    """Return a row for every action of an answer that may be counted."""
    named = Runs(choices).action_names
    if not named:
        rows = choices if "action" in choices else choices.assign(action=None)
        acted = rows["action"].notna()
        # Without actions there is nothing to part the beliefs by.
        rows = rows[acted] if acted.any() else rows.assign(action=ALL)
        return rows[rows["belief"].notna()]
    of_actions = [
        choices[["belief"]].assign(action=action, weight=choices[name])
        for name, action in named.items()
    ]
    rows = pd.concat(of_actions, ignore_index=True)
    return rows[(rows["weight"] > 0) & rows["belief"].notna()]


def title_of(rows: pd.DataFrame, noun: str) -> str:
    """Say what the figure of rows of `by_action` shows."""
    return f"{noun[:1].upper()}{noun[1:]}s" if set(rows["action"]) == {ALL} else "Beliefs by action"


def height_for(rows: pd.DataFrame) -> float:
    """Return the height in inches that as many histograms need; lower, a label would be cut."""
    return max(1.2 + 0.75 * min(rows["action"].nunique(), MOST_BANDS), 2.6)


def _draw(rows: pd.DataFrame, ax: Axes, *, noun: str) -> None:
    belief = rows["belief"].to_numpy(dtype=float)
    labels = action_labels(rows)
    edges = _histogram_edges(belief)
    counts = {
        str(label): _counted(rows[(labels == label).to_numpy()], edges)
        for label in labels.cat.categories
    }
    tallest = max((float(count.max()) for count in counts.values()), default=0.0)
    belief_axes(ax)
    # The rows have counts of their own, which one grid cannot mark.
    ax.grid(False)
    # The first action on top, as one reads.
    baselines = np.arange(len(counts))[::-1].astype(float)
    for number, (count, baseline, colour) in enumerate(
        zip(counts.values(), baselines, ACTION_COLOURS, strict=False)
    ):
        heights = baseline + _BAR * count / (tallest or 1.0)
        ax.stairs(heights, edges, baseline=baseline, fill=True, color=colour, alpha=0.55, zorder=2)
        ax.stairs(
            heights,
            edges,
            baseline=baseline,
            color=colour,
            linewidth=1.3,
            gid=f"action-{number}",
            zorder=3,
        )
        ax.axhline(baseline, color=FAINT, linewidth=0.8, zorder=1)
    # A label above its own row of bars, not beside the axis: long action names then take no width
    # from the plot.
    for (label, count), baseline in zip(counts.items(), baselines, strict=True):
        ax.text(
            edges[0],
            baseline + 0.94,
            f"{label} (n = {_spoken(count.sum())})",
            ha="left",
            va="top",
            color=INK,
            parse_math=False,
        )
    ax.set_ylim(-0.05, max(len(counts), 1))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    if is_narrow(span_of(edges)):
        fit_probabilities(ax, "x", span_of(edges))
    else:
        ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel(noun)
    ax.set_ylabel(f"answers (tallest bar: {_spoken(tallest)})")
