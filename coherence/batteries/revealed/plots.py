"""Plots of revealed beliefs: over the truth, after each earlier result, and in both orders.

As in figures 2, 5 and 7 of the paper named in `coherence.batteries.revealed.distances`. Every plot
takes a belief table (`coherence.batteries.revealed.belief_scores.BELIEFS`) and an ``ax`` and
returns the ``ax``; bars are means over the wordings, and small marks the single wordings. Text from
data is never read as mathematics.
"""

import math
from collections.abc import Sequence
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import Floats, require
from coherence.plots.style import ACTION_COLOURS, FAINT, INK, Style, frame_axes
from coherence.report.wording import clean

_TRUTH: Style = {"width": 0.94, "color": "#cfcfcf", "label": "truth", "zorder": 1}
_ROOM = 0.82  # of the distance between two outcomes, shared by the bars of the sources
_MOST_LABELS = 16
_LABEL = 14  # letters of a label in a line
_MOST_MARKED = 40  # bars; on more of them the marks of the wordings would be a blur
_MOST_PREVIOUS = 4
_LEGEND: Style = {"frameon": False, "fontsize": 8, "loc": "upper left"}
_BESIDE: Style = {"bbox_to_anchor": (1.0, 1.0)}


def wording_beliefs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the beliefs of one source in one setting, renormalised."""
    in_text = rows.assign(outcome=rows["outcome"].astype(str)).sort_values(
        "position", kind="stable"
    )
    masses = in_text.pivot(index="wording", columns="outcome", values="mass")
    # Columns of a pivot come sorted, and "10" would stand before "2".
    masses = masses[list(in_text["outcome"].drop_duplicates())]
    total = masses.sum(axis=1)
    return masses[total > 0].div(total[total > 0], axis=0)


def rows_of_setting(beliefs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Return the rows of a setting; raise where there is none."""
    rows = beliefs[beliefs["setting"] == setting]
    require(len(rows) > 0, f"setting must be one of the table; received {setting!r}.")
    return rows


def _truth_of(rows: pd.DataFrame) -> Floats:
    in_text = rows.sort_values("position", kind="stable").drop_duplicates("outcome")
    return in_text["truth"].to_numpy(dtype=np.float64)


def _frame(ax: Axes, outcomes: Sequence[str]) -> None:
    """Draw the axes around bars at the outcomes; with many outcomes only some have a label."""
    frame_axes(ax)
    positions = range(0, len(outcomes), math.ceil(len(outcomes) / _MOST_LABELS))
    lines = 1 if len(outcomes) > 4 else 2
    labels = [
        fill(clean(outcomes[position], limit=40), _LABEL, max_lines=lines, placeholder="…")
        for position in positions
    ]
    ax.set_xticks(list(positions), labels)
    ax.grid(True, axis="y", color="#ececec", linewidth=0.8)
    ax.set_ylabel("probability")


def _note_unread(ax: Axes, names: Sequence[str]) -> None:
    """Say above the bars of whom no belief was read."""
    if names:
        ax.set_ylim(0, ax.get_ylim()[1] * (1.1 + 0.12 * len(names)))
        lines = "\n".join(f"no belief read of {name}" for name in names)
        corner: Style = {"transform": ax.transAxes, "ha": "left", "va": "top"}
        ax.text(0.02, 0.97, lines, **corner, fontsize=7.5, color=INK, parse_math=False, zorder=6)


def _plain_labels(ax: Axes) -> None:
    """Let no label be read as mathematics: one from data may hold a dollar sign."""
    texts = [*ax.get_xticklabels(), ax.title, ax.xaxis.label]
    if legend := ax.get_legend():
        texts += legend.get_texts()
    for text in texts:
        text.set_parse_math(False)


def plot_outcomes(beliefs: pd.DataFrame, setting: str, ax: Axes) -> Axes:
    """Draw the revealed belief of every source over the truth."""
    rows = rows_of_setting(beliefs, setting)
    sources = list(dict.fromkeys(rows["source"]))
    truth = _truth_of(rows)
    positions = np.arange(len(truth))
    ax.bar(positions, truth, **_TRUTH)
    width = _ROOM / len(sources)
    outcomes: list[str] = []
    unread = []
    for number, source in enumerate(sources):
        belief = wording_beliefs(rows[rows["source"] == source])
        outcomes = list(belief.columns)
        if belief.empty:
            unread.append(clean(source, limit=20))
            continue
        # The bars of the sources stand side by side, around the position of their outcome.
        centres = positions + (number - (len(sources) - 1) / 2) * width
        bars: Style = {
            "color": ACTION_COLOURS[number % len(ACTION_COLOURS)],
            "alpha": 0.85,
            "zorder": 2,
        }
        means = belief.mean().to_numpy()
        ax.bar(centres, means, width=width * 0.86, label=clean(source, limit=30), **bars)
        if len(belief) > 1 and len(truth) * len(sources) <= _MOST_MARKED:
            for _, wording in belief.iterrows():
                ax.scatter(centres, wording.to_numpy(), s=7, color=INK, linewidth=0, zorder=3)
    _frame(ax, outcomes)
    _note_unread(ax, unread)
    row: Style = {"ncols": 4, "handlelength": 1.2, "columnspacing": 1.0, "borderaxespad": 0.4}
    ax.legend(**_LEGEND, bbox_to_anchor=(0.0, -0.12), **row)
    _plain_labels(ax)
    return ax


def plot_previous(
    beliefs: pd.DataFrame, baseline: str, variant: str, ax: Axes, *, source: str
) -> Axes:
    """Draw the belief without an earlier result, and over it the beliefs after some."""
    of_source = beliefs[beliefs["source"] == source]
    alone = rows_of_setting(of_source, baseline)
    later = of_source[(of_source["baseline"] == baseline) & (of_source["variant"] == variant)]
    require(
        len(later) > 0, f"beliefs must hold {variant} settings after {baseline!r}; they hold none."
    )
    belief = wording_beliefs(alone)
    outcomes = list(belief.columns)
    positions = np.arange(len(outcomes))
    ax.bar(positions, _truth_of(alone), **_TRUTH)
    line: Style = {"color": INK, "linewidth": 2.0, "marker": "s", "markersize": 4}
    ax.plot(positions, belief.mean().to_numpy(), **line, label="no earlier result", zorder=3)
    for number, setting in enumerate(_spread_out(list(dict.fromkeys(later["setting"])))):
        rows = later[later["setting"] == setting]
        previous = str(rows["previous"].iloc[0])
        after = wording_beliefs(rows).mean().to_numpy()
        colour = ACTION_COLOURS[number % len(ACTION_COLOURS)]
        line = {"color": colour, "linewidth": 1.5, "marker": "o", "markersize": 3}
        line |= {"linestyle": ("-", "--", "-.", ":")[number % 4], "zorder": 4}
        ax.plot(positions, after, **line, label=f"after {clean(previous, limit=12)}")
        if previous in outcomes:
            repeated = outcomes.index(previous)
            ring: Style = {"s": 80, "facecolor": "none", "edgecolor": colour, "linewidth": 1.4}
            ax.scatter([repeated], [after[repeated]], **ring, zorder=5)
    _frame(ax, outcomes)
    if variant == "dependent":
        ax.set_xlabel("outcome less the earlier result")
    ax.legend(**_LEGEND, **_BESIDE)
    _plain_labels(ax)
    return ax


def _spread_out(settings: list[str]) -> list[str]:
    """Return a few of the settings, evenly spread, with the first and the last."""
    count = min(len(settings), _MOST_PREVIOUS)
    numbers = np.linspace(0, len(settings) - 1, count).round().astype(int)
    return [settings[number] for number in np.unique(numbers)]


def plot_orders(beliefs: pd.DataFrame, pair: str, ax: Axes, *, source: str) -> Axes:
    """Draw the probability of two options, where the text names each first and second."""
    rows = beliefs[(beliefs["source"] == source) & (beliefs["pair"] == pair)]
    settings = list(dict.fromkeys(rows["setting"]))
    require(
        len(settings) == 2, f"pair must be two settings of the table; {pair!r} has {len(settings)}."
    )
    options = list(dict.fromkeys(rows["outcome"].astype(str)))
    truth = rows.drop_duplicates("outcome").set_index("outcome")["truth"]
    for setting in settings:
        belief = wording_beliefs(rows[rows["setting"] == setting])
        for position, option in enumerate(belief.columns):
            centre = options.index(option) + (position - 0.5) * 0.4
            bar: Style = {"color": ACTION_COLOURS[position], "hatch": ("", "////")[position]}
            # One entry per order in the legend, from the bars of one option.
            if option == options[0]:
                bar["label"] = f"named {('first', 'second')[position]}"
            edge: Style = {"alpha": 0.85, "edgecolor": "white", "zorder": 2}
            ax.bar(centre, belief[option].mean(), width=0.36, **bar, **edge)
            marks: Style = {"s": 9, "color": INK, "linewidth": 0, "zorder": 3}
            ax.scatter([centre] * len(belief), belief[option], **marks)
    line: Style = {"color": FAINT, "linewidth": 2, "linestyle": (0, (3, 1.5)), "zorder": 4}
    for number, option in enumerate(options):
        label = "truth" if number == 0 else None
        ax.plot([number - 0.45, number + 0.45], [truth[option]] * 2, **line, label=label)
    _frame(ax, options)
    ax.set_ylim(0, 1.0)
    ax.set_xlim(-0.6, len(options) - 0.4)
    ax.legend(**_LEGEND, **_BESIDE)
    _plain_labels(ax)
    return ax
