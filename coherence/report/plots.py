"""The figures of a report: pairwise choice shares, beliefs by action, and calibration.

The only module that imports matplotlib. Every plot takes a table and an ``ax`` and returns the
``ax``; no figure is registered anywhere and nothing stays changed afterwards. Text that comes from
data is never read as mathematics.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.errors import InputError
from coherence.report.wording import clean
from coherence.statistics.bins import belief_bins
from coherence.statistics.shares import wilson_interval

# Okabe and Ito's palette, told apart by readers with any common colour deficiency; the roles also
# differ in line style and marker.
BLUE, VERMILION, ORANGE, GREEN, SKY, PURPLE = (
    "#0072B2",
    "#D55E00",
    "#E69F00",
    "#009E73",
    "#56B4E9",
    "#CC79A7",
)
INK, FAINT = "#333333", "#8a8a8a"
ACTION_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)

_LABEL, _LONG_LABEL = 24, 40
_BAR = 0.68  # of a row of the small multiples; the label takes the rest
_MOST_POINTS = (
    400  # one mark per context up to here; beyond, evenly spaced contexts keep the page small
)
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "coherence",
    "text.usetex": False,
}
_STYLE |= {"path.simplify": True, "axes.unicode_minus": True}


def _frame_axes(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, length=3)
    ax.set_xlim(-0.03, 1.03)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    ax.grid(True, axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)


def _unit_scale(ax: Axes) -> None:
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


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
        Columns ``bin``, ``belief``, ``share``, ``n``; ordered by belief; bins without a choice are
        left out.
    """
    sides = [
        details[[f"bin_{side}", f"belief_{side}", f"share_{side}", f"n_{side}"]].set_axis(
            ["bin", "belief", "share", "n"], axis=1
        )
        for side in ("j", "k")
    ]
    bins = pd.concat(sides).drop_duplicates("bin")
    return bins[(bins["n"] > 0) & bins["share"].notna() & bins["belief"].notna()].sort_values(
        "belief", ignore_index=True
    )


def plot_pairwise_choice(details: pd.DataFrame, pair: Sequence[object], ax: Axes) -> Axes:
    """Draw the share of the first action of a pair against the mean belief of each bin.

    Parameters
    ----------
    details : DataFrame
        Bin pairs of a monotone-choice result, with ``violation`` and ``significant``.
    pair : sequence of two labels
        The actions; the share is that of the first among the two.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`. Significant reversals are dashed lines with the gid "reversal", other neighbours are
        joined by solid ones.
    """
    bins = choice_bins(details)
    first, second = (clean(label, limit=_LABEL) for label in pair)
    _frame_axes(ax)
    _unit_scale(ax)
    place = bins.set_index("bin")
    marked = details[details["violation"].astype(bool) & details["significant"].astype(bool)]
    drawn = set(place.index.tolist())
    reversals = sorted(
        {
            ends
            for ends in zip(marked["bin_j"].tolist(), marked["bin_k"].tolist(), strict=True)
            if drawn.issuperset(ends)
        }
    )
    neighbours = list(zip(bins["bin"][:-1].tolist(), bins["bin"][1:].tolist(), strict=True))
    for neighbour in neighbours:
        if neighbour not in reversals:
            ends = place.loc[list(neighbour)]
            ax.plot(ends["belief"], ends["share"], color=BLUE, linewidth=1.6, gid="step", zorder=2)
    for number, reversal in enumerate(reversals):
        ends = place.loc[list(reversal)]
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
    if len(bins):
        low, high = wilson_interval(bins["share"], bins["n"])
        ax.vlines(bins["belief"], low, high, color=INK, linewidth=1.0, zorder=4)
        # Area in proportion to the count, so that a bin with four times the choices looks four
        # times as heavy.
        areas = np.maximum(130 * bins["n"] / bins["n"].max(), 10)
        ax.scatter(
            bins["belief"],
            bins["share"],
            s=areas,
            color=BLUE,
            edgecolor="white",
            gid="bins",
            zorder=5,
        )
    if reversals:
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.0,
            frameon=False,
            handlelength=3,
        )
    ax.set_xlabel("mean stated belief of the bin")
    ax.set_ylabel(f"share of {first}\nrather than {second}", parse_math=False)
    return ax


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
    """Return bin edges of width .05; between the round numbers where most beliefs are round, which would else fall on an edge."""
    scaled = belief * 20
    mostly_round = np.mean(np.abs(scaled - np.rint(scaled)) < 1e-6) >= 0.5
    return (np.arange(-0.5, 21) if mostly_round else np.arange(21)) / 20


def plot_belief_histogram(choices: pd.DataFrame, ax: Axes) -> Axes:
    """Draw one histogram of the belief per action, stacked as small multiples on a common scale.

    Parameters
    ----------
    choices : DataFrame
        With ``belief`` in [0, 1] and ``action``.
    ax : Axes
        Where to draw.

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
        str(label): np.histogram(belief[(labels == label).to_numpy()], edges)[0]
        for label in labels.cat.categories
    }
    tallest = max((int(count.max()) for count in counts.values()), default=0)
    _frame_axes(ax)
    ax.grid(False)
    baselines = np.arange(len(counts))[::-1].astype(float)
    for number, (count, baseline, colour) in enumerate(
        zip(counts.values(), baselines, ACTION_COLOURS, strict=False)
    ):
        heights = baseline + _BAR * count / max(tallest, 1)
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
            f"{label} (n = {int(count.sum())})",
            ha="left",
            va="top",
            color=INK,
            parse_math=False,
        )
    ax.set_ylim(-0.05, max(len(counts), 1))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel("stated belief")
    ax.set_ylabel(f"answers (tallest bar: {tallest})")
    return ax


def calibration_outcome(choices: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """Return what beliefs are compared with: the exact posterior where known, else a 0/1 truth.

    Parameters
    ----------
    choices : DataFrame
        With ``truth`` or ``p_true``.

    Returns
    -------
    (Series, str) or None
        The numbers and their column; None where the truth is no 0/1 column, so that no share can be
        formed.
    """
    if "p_true" in choices and choices["p_true"].notna().any():
        return choices["p_true"].astype(float), "p_true"
    if "truth" not in choices:
        return None
    # A categorical or text column may hold 0/1 as text, "1.0" among them.
    numbers = pd.to_numeric(choices["truth"].astype(object), errors="coerce").astype(float)
    known = choices["truth"].notna()
    return (numbers, "truth") if known.any() and numbers[known].isin([0.0, 1.0]).all() else None


def calibration_table(choices: pd.DataFrame, *, n_bins: int = 10) -> pd.DataFrame:
    """Compare mean belief and mean outcome in bins with about equally many answers.

    Parameters
    ----------
    choices : DataFrame
        With ``belief``, ``context`` and ``truth`` or ``p_true``.
    n_bins : int
        Largest number of bins; ties give fewer.

    Returns
    -------
    DataFrame
        ``belief``, ``outcome``, ``low``, ``high`` (95%), ``n_contexts``, ``n_rows`` per bin. A
        truth is shared by the rows of a context, so the contexts are counted as the trials of
        Wilson's interval; exact posteriors carry no interval (NaN).
    """
    found = calibration_outcome(choices)
    if found is None:
        raise InputError(
            "truth must be 0 or 1, or p_true be known, to compare beliefs with it. Recode the truth column."
        )
    outcome, source = found
    table = pd.DataFrame(
        {
            "belief": choices["belief"].astype(float),
            "outcome": outcome,
            "context": choices["context"].astype(object),
        }
    ).dropna()
    table["bin"] = belief_bins(table["belief"].to_numpy(), n_bins)
    grouped = table.groupby("bin").agg(
        belief=("belief", "mean"),
        outcome=("outcome", "mean"),
        n_contexts=("context", "nunique"),
        n_rows=("belief", "size"),
    )
    if source == "truth":
        grouped["low"], grouped["high"] = wilson_interval(grouped["outcome"], grouped["n_contexts"])
    else:
        grouped["low"] = grouped["high"] = math.nan
    return grouped.reset_index(drop=True)


def plot_calibration(choices: pd.DataFrame, ax: Axes, *, n_bins: int = 10) -> Axes:
    """Draw the exact posterior, or else the share of true cases, against the stated belief.

    Parameters
    ----------
    choices : DataFrame
        With ``belief``, ``context`` and ``truth`` or ``p_true``.
    ax : Axes
        Where to draw.
    n_bins : int
        Largest number of bins.

    Returns
    -------
    Axes
        `ax`; the binned means have the gid "calibration", single contexts (exact posterior only)
        the gid "contexts".

    Raises
    ------
    InputError
        There is neither an exact posterior nor a 0/1 truth.
    """
    bins = calibration_table(choices, n_bins=n_bins)
    found = calibration_outcome(choices)
    exact = found is not None and found[1] == "p_true"
    _frame_axes(ax)
    _unit_scale(ax)
    ax.plot(
        [0, 1], [0, 1], color=FAINT, linewidth=1.2, linestyle=(0, (2, 2)), gid="diagonal", zorder=1
    )
    if exact:
        means = (
            choices.groupby("context", sort=False, observed=True)
            .agg(belief=("belief", "mean"), p_true=("p_true", "mean"))
            .dropna()
        )
        shown = means.iloc[:: max(1, math.ceil(len(means) / _MOST_POINTS))]
        ax.scatter(
            shown["belief"],
            shown["p_true"],
            s=11,
            color=SKY,
            alpha=0.5,
            linewidth=0,
            gid="contexts",
            zorder=2,
        )
    else:
        ax.vlines(bins["belief"], bins["low"], bins["high"], color=INK, linewidth=1.0, zorder=3)
    ax.plot(bins["belief"], bins["outcome"], color=BLUE, linewidth=1.6, zorder=4)
    ax.scatter(
        bins["belief"],
        bins["outcome"],
        s=38,
        color=BLUE,
        edgecolor="white",
        gid="calibration",
        zorder=5,
    )
    ax.set_xlabel("stated belief")
    ax.set_ylabel("exact posterior" if exact else "share of cases with theta = 1")
    ax.set_aspect("equal")
    return ax


def render_svg(
    draw: Callable[[Axes], Axes], *, key: str, title: str, size: tuple[float, float] = (5.0, 3.5)
) -> str:
    """Draw one figure and return it as an SVG element for use inside a page.

    Parameters
    ----------
    draw : callable
        Takes an ``ax``.
    key : str
        Prefix of all ids, unique in the page.
    title : str
        What the figure is, for readers who do not see it.
    size : (float, float)
        Width and height in inches; in a page the figure scales with its container.

    Returns
    -------
    str
        ``<svg role="img">...</svg>`` without scripts, style sheets or references to the outside;
        equal bytes for equal data.
    """
    buffer = io.BytesIO()
    # The SVG writer reads these from the global settings, so they are set for this call only.
    with rc_context(_STYLE), warnings.catch_warnings():
        # The page's reader brings the fonts; that this machine lacks a glyph for a label does not
        # matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _embeddable(ElementTree.fromstring(buffer.getvalue()), key, title)


def _embeddable(root: ElementTree.Element, key: str, title: str) -> str:
    """Make a parsed SVG fit to stand inside HTML: no namespaces, style sheets or metadata, ids of its own, scalable, with a title."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    # Only ids that something refers to are kept: the others repeat from figure to figure, and from
    # line to line.
    referred = set(
        re.findall(
            r"#([^\")\s]+)",
            " ".join(value for element in root.iter() for value in element.attrib.values()),
        )
    )
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        if attributes.get("id") not in referred:
            attributes.pop("id", None)
        for name, value in attributes.items():
            if name == "id":
                attributes[name] = f"{key}-{value}"
            elif name == "href":
                attributes[name] = value.replace("#", f"#{key}-", 1)
            elif "url(#" in value:
                attributes[name] = value.replace("url(#", f"url(#{key}-")
        element.attrib.clear()
        element.attrib.update(attributes)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update({"role": "img", "aria-labelledby": f"{key}-title"})
    label = ElementTree.Element("title", {"id": f"{key}-title"})
    label.text = clean(title)
    root.insert(0, label)
    return ElementTree.tostring(root, encoding="unicode")
