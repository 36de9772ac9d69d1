"""The figures of actions against beliefs: pairwise choice shares, and beliefs by action.

Every plot takes a table and an ``ax`` and returns the ``ax``. Text that comes from data is never
read as mathematics. Palette and frame are shared with the other figures.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from coherence.report.answering import STATED
from coherence.report.figures import (
    ACTION_COLOURS,
    BLUE,
    FAINT,
    INK,
    VERMILION,
    frame_axes,
    probability_scales,
)
from coherence.report.wording import clean

_LABEL, _LONG_LABEL = 24, 40
_BAR = 0.68  # of a row of the small multiples; the label takes the rest


def belief_axes(ax: Axes) -> None:
    """Give the axes the look of all figures, with beliefs from 0 to 1 along the bottom."""
    frame_axes(ax)
    probability_scales(ax, y=False)
    ax.grid(True, axis="y", color="#e6e6e6", linewidth=0.8)


def choice_bins(details: pd.DataFrame) -> pd.DataFrame:
    """Collect the belief bins out of a table of bin pairs.

    Parameters
    ----------
    details : DataFrame
        Bin pairs of a monotone-choice result: ``bin_j``, ``belief_j``, ``share_j``, ``n_j`` and the
        same for k.

    Returns
    -------
    DataFrame
        Columns ``bin``, ``belief``, ``share``, ``n``, and the interval ``low`` and ``high`` where
        the details have one; ordered by belief; bins without a choice are left out.
    """
    names = ["bin", "belief", "share", "n"] + (["low", "high"] if "low_j" in details else [])
    sides = [
        details[[f"{name}_{side}" for name in names]].set_axis(names, axis=1) for side in ("j", "k")
    ]
    # Every bin but the first and the last stands on both sides of some pair.
    bins = pd.concat(sides).drop_duplicates("bin")
    return bins[(bins["n"] > 0) & bins["share"].notna() & bins["belief"].notna()].sort_values(
        "belief", ignore_index=True
    )


def plot_pairwise_choice(
    details: pd.DataFrame,
    pair: Sequence[object],
    ax: Axes,
    *,
    noun: str = STATED,
    urls: Mapping[int, str] | None = None,
) -> Axes:
    """Draw the share of the first action of a pair against the mean belief of each bin.

    Parameters
    ----------
    details : DataFrame
        Bin pairs of a monotone-choice result, with ``violation`` and ``significant``.
    pair : sequence of two labels
        The actions; the share is that of the first among the two.
    ax : Axes
        Where to draw.
    noun : str
        What the axis calls the belief.
    urls : mapping, optional
        Bin -> where its point leads.

    Returns
    -------
    Axes
        `ax`. Significant reversals are dashed lines with the gid "reversal", other neighbours are
        joined by solid ones.
    """
    bins = choice_bins(details)
    first, second = (clean(label, limit=_LABEL) for label in pair)
    belief_axes(ax)
    probability_scales(ax, x=False)
    has_reversals = _join_bins(details, bins, ax)
    if len(bins):
        if "low" in bins:
            ends = bins["low"], bins["high"]
            ax.vlines(bins["belief"], *ends, color=INK, linewidth=1.0, zorder=4)
        # Area in proportion to the count, so that a bin with four times the choices looks four
        # times as heavy.
        areas = np.maximum(130 * bins["n"] / bins["n"].max(), 10)
        points = ax.scatter(
            bins["belief"],
            bins["share"],
            s=areas,
            color=BLUE,
            edgecolor="white",
            gid="bins",
            zorder=5,
        )
        if urls:
            points.set_urls([urls.get(position) for position in bins["bin"]])
    if has_reversals:
        # Above the axes: every corner inside may hold points.
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.0,
            frameon=False,
            handlelength=3,
        )
    ax.set_xlabel(f"mean {noun} of the bin")
    ax.set_ylabel(f"share of {first}\nrather than {second}", parse_math=False)
    return ax


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
            ax.plot(ends["belief"], ends["share"], color=BLUE, linewidth=1.6, gid="step", zorder=2)
    for number, reversal in enumerate(reversals):
        ends = by_bin.loc[list(reversal)]
        label = "significant reversal" if number == 0 else None
        # Reversals over several bins are drawn as well, but lightly: in a choice that falls all the
        # way there are many.
        weight = 2.2 if reversal in neighbours else 1.1
        ax.plot(
            ends["belief"],
            ends["share"],
            color=VERMILION,
            linewidth=weight,
            linestyle=(0, (4, 2)),
            gid="reversal",
            label=label,
            zorder=3,
        )
    return bool(reversals)


def action_labels(choices: pd.DataFrame, *, most: int = 6) -> pd.Series:
    """Return the printable action of each row, with rare actions gathered beyond `most` labels.

    Parameters
    ----------
    choices : DataFrame
        With a column ``action``.
    most : int
        Largest number of different labels.

    Returns
    -------
    Series of str
        Ordered categorical; the order of a categorical ``action`` is kept, otherwise labels are
        sorted.
    """
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
        name = clean(level, limit=_LONG_LABEL) or "(blank)"
        names[level] = name if name not in names.values() else f"{name} ({len(names) + 1})"
    rest = f"{len(present) - len(kept)} other actions"
    labelled = actions.astype(object).map(lambda action: names.get(action, rest))
    order = [*names.values(), *([rest] if len(kept) < len(present) else [])]
    return labelled.astype(pd.CategoricalDtype(order, ordered=True))


def _histogram_edges(belief: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return bin edges of width .05, between the round numbers where most beliefs are round."""
    # A belief of .35 on an edge would fall to either side, as its last binary digit has it.
    scaled = belief * 20
    mostly_round = np.mean(np.abs(scaled - np.rint(scaled)) < 1e-6) >= 0.5
    return (np.arange(-0.5, 21) if mostly_round else np.arange(21)) / 20


def _counted(
    rows: pd.DataFrame, edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Count beliefs between edges, each with its weight where rows have one."""
    weights = rows["weight"].to_numpy(dtype=float) if "weight" in rows else None
    return np.histogram(rows["belief"].to_numpy(dtype=float), edges, weights=weights)[0]


def _spoken(count: float) -> str:
    # Sums of probabilities are no whole numbers.
    return f"{count:.0f}" if count % 1 == 0 else f"{count:.1f}"


def plot_belief_histogram(choices: pd.DataFrame, ax: Axes, *, noun: str = STATED) -> Axes:
    """Draw one histogram of the belief per action, stacked as small multiples on a common scale.

    Parameters
    ----------
    choices : DataFrame
        With ``belief`` in [0, 1] and ``action``; a column ``weight``, if there is one, says how
        much each row counts.
    ax : Axes
        Where to draw.
    noun : str
        What the axis calls the belief.

    Returns
    -------
    Axes
        `ax`; the histogram of an action has the gid "action-<number>", counted from 0 at the top.
    """
    rows = choices[choices["belief"].notna() & choices["action"].notna()]
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
    ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel(noun)
    ax.set_ylabel(f"answers (tallest bar: {_spoken(tallest)})")
    return ax
