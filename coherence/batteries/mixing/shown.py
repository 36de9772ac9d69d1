"""The scores of the battery as a table, lines for the terminal, and a figure of the rates.

Text that comes from data is never read as mathematics.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.batteries.mixing.design import EXPERIMENTS, GAMES, PARTS
from coherence.batteries.mixing.scores import MixingScores
from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
    Style,
    figure_style,
    frame_axes,
    panels,
    probability_scales,
)
from coherence.report.document import (
    MISSING,
    Cell,
    Column,
    Kind,
    Row,
    Table,
    build_table,
    label,
)
from coherence.report.screen import render_parts
from coherence.report.wording import clean
from coherence.statistics.shares import wilson_interval

_UNDEFINED = "Undefined: a part was not asked, or some condition has no parsed answer."


def _experiment(row: Row) -> Cell:
    at = row["experiment"]
    return Cell(f"{at} {EXPERIMENTS[at]}" if at else "total", {"": at})


def _bounds(row: Row) -> Cell:
    known = not math.isnan(row["worst"])
    said = f"{row['worst']:.1f} to {row['best']:.1f}" if known else MISSING
    return Cell(said, {key: row[key] for key in ("worst", "best")}, "" if known else _UNDEFINED)


_BOUNDS = Column("bounds", "published, if all were read", make=_bounds)
_COLUMNS = (
    Column("experiment", kind=Kind.LABEL, make=_experiment),
    Column("points", "of", why=_UNDEFINED),
    Column("published", why=_UNDEFINED),
    Column("ceiling", why=_UNDEFINED),
    Column("equilibrium", "at the equilibria", why=_UNDEFINED),
    Column("corrected", ends=("low", "high"), why=_UNDEFINED),
    _BOUNDS,
    Column("unread", "unparsed", Kind.SHARE),
    Column("refused", kind=Kind.SHARE),
)


def mixing_table(experiments: pd.DataFrame) -> Table:
    """Lay out the scores of every model and experiment."""
    total = experiments.loc[experiments["experiment"] == 0, "answers"]
    answers = (
        "Rates are exact probabilities and not shares of answers, or models differ in that."
        if total.isna().any()
        else f"Scored are {', '.join(f'{n:.0f}' for n in total)} answers, in the order of the "
        "models."
    )
    return build_table(
        experiments.to_dict("records"),
        (label("model"), *_COLUMNS),
        name="mixing",
        title="Points by experiment and the attainable ceiling",
        caption=(
            "Published is the score of the paper. Ceiling is what a faultless sampler with as many "
            "draws gets on average, playing p for the rate everywhere, and the next column what it "
            "gets playing the games at their equilibria. Corrected is the score at the true rates, "
            "without the noise of drawing, with its 95% interval in brackets. The bounds are the "
            "published score over all that unparsed answers might have been. "
            f"{answers}"
        ),
    )


def mix_report(scores: MixingScores) -> str:
    """Return the tables for the terminal."""
    parts: list[Table | str] = []
    for model, rows in scores.experiments.groupby("model", sort=False):
        # The bounds say what unread answers could change; without any they are the score.
        columns = [each for each in _COLUMNS if each != _BOUNDS or (rows["unread"] > 0).any()]
        parts += [build_table(rows.to_dict("records"), columns, title=str(model)), ""]
        parts += [*_unread(rows), *_notes(scores, str(model)), "", ""]
    return render_parts([*parts, *scores.notes]).rstrip()


def _unread(rows: pd.DataFrame) -> list[str]:
    """Warn of experiments most of whose answers cannot be read.

    Of exact rates that is the probability of all that is no outcome.
    """
    lost = rows[(rows["experiment"] != 0) & (rows["unread"] > 0.5)]
    if lost.empty:
        return []
    where = ", ".join(
        f"{row['experiment']} ({row['unread']:.1%})" for row in lost.to_dict("records")
    )
    return [
        f"More than half of the answers cannot be read in experiment {where}: "
        "what is scored are shares of the little that can."
    ]


def _notes(scores: MixingScores, model: str) -> list[str]:
    """Say which S, and whether the flips look independent."""
    measures, curves, tests, rows = (
        table[table["model"] == model]
        for table in (scores.measures, scores.curves, scores.dependence, scores.experiments)
    )
    lines = []
    # Without games nothing is said of their equilibria.
    rows = rows.dropna(subset="equilibrium")
    # The total where there is one, which stands last.
    for row in rows[rows["experiment"].isin([0, 4])].tail(1).to_dict("records"):
        where = "" if row["experiment"] == 0 else " of experiment 4"
        lines.append(
            "The published scoring rewards p in the games, where 1 - p is best: a faultless player "
            f"of the equilibria gets {row['equilibrium']:.1f} on average, under the ceiling{where} "
            f"of {row['ceiling']:.1f}."
        )
    # A condition has a row for every outcome.
    curves = curves.drop_duplicates(["part", "p", "item", "order"])
    if empty := int(curves["rate"].isna().sum()):
        lines.append(
            f"{empty} of {len(curves)} conditions have no parsed answer; scores that need them "
            "are undefined."
        )
    flips = measures[measures["part"] == "flip"].dropna(subset="published_loss")
    for flip in flips.to_dict("records"):
        loss = "undefined without noise"
        if not math.isnan(flip["corrected_loss"]):
            loss = f"{flip['corrected_loss']:.3f} without noise"
            if not math.isnan(flip["loss_low"]):
                loss += f", 95% interval [{flip['loss_low']:.3f}, {flip['loss_high']:.3f}]"
        lines.append(
            f"S of one flip: {flip['published_loss']:.3f} as published, {loss}; "
            "0 is perfect, 1 a step."
        )
    for row in tests.dropna(subset="observed").to_dict("records"):
        pvalue = "no test possible"
        if not math.isnan(row["pvalue"]):
            pvalue = "p < .001" if row["pvalue"] < 0.001 else f"p = {row['pvalue']:.3f}"
        lines.append(
            f"{row['test']}: {row['observed']:.1%} of pairs equal, "
            f"{row['expected']:.1%} if independent, {pvalue}."
        )
    return lines


# Of the two flips of an answer, and of three outcomes; a single rate is drawn as that of 0.
_FLIPS = {
    "first": (ORANGE, "^", "first flip"),
    "second": (GREEN, "v", "second flip"),
    "mean": (BLUE, "o", "mean of both"),
}
_OUTCOMES = {"0": (BLUE, "o"), "1": (ORANGE, "s"), "2": (GREEN, "D")}
_SIZES = {"axes.titlesize": 10.5, "legend.fontsize": 8.5}
_GRID: Style = {"across": 4, "size": (3.6, 3.3), "room": (0, 0.4)}
_MOST_LABEL = 26
_MOST_PANELS = 12


def plot_rates(curves: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the rates of one part against the instructed probability, with the step."""
    part = str(curves["part"].iloc[0])
    three = part == "three_outcomes"
    frame_axes(ax)
    probability_scales(ax)
    ax.set_ylabel("rate in the answers")
    for quantity, rows in curves.groupby("quantity", sort=False):
        usual = (*_OUTCOMES[str(quantity) if three else "0"], f"rate of {quantity}")
        line = _FLIPS.get(str(quantity), usual)
        ordered = rows.sort_values("p")
        if three:
            target: Style = {"color": line[0], "linewidth": 1.2, "linestyle": DASHES}
            ax.plot(ordered["p"], ordered["target"], **target, gid="target", zorder=1)
        elif not ax.get_lines():
            _references(part, ax)
        _rate_line(ordered, str(quantity), line, ax)
    asked = curves.drop_duplicates("p").sort_values("p")
    if (asked["refused"] > 0).any():
        crosses: Style = {"color": VERMILION, "linewidth": 1.0, "marker": "x", "markersize": 4}
        ax.plot(asked["p"], asked["refused"], **crosses, label="refused", gid="refused", zorder=3)
    if three:
        ax.set_xlim(-0.02, 0.62)
        ax.set_xticks([0, 0.2, 0.4, 0.6], ["0", ".2", ".4", ".6"])
        ax.plot([], [], color=INK, linewidth=1.2, linestyle=DASHES, label="asked for")
        ax.set_xlabel("probability of 0 (that of 1 is .4)")
    else:
        ax.set_xlabel("parameter of the game" if part in GAMES else "probability asked for")
    # Below: no place inside is free in every battery.
    below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
    ax.legend(**below, frameon=False, handlelength=2.2, labelspacing=0.3, columnspacing=1.0)
    return ax


def _rate_line(rows: pd.DataFrame, quantity: str, line: tuple[str, str, str], ax: Axes) -> None:
    """Draw the rates of one quantity, with intervals and the band of unparsed answers."""
    colour, marker, label = line
    marks: Style = {"marker": marker, "markersize": 4.5, "markeredgecolor": "white"}
    style: Style = {"color": colour, "linewidth": 1.6, "markeredgewidth": 0.6} | marks
    ax.plot(rows["p"], rows["rate"], **style, label=label, gid=f"rate-{quantity}", zorder=4)
    # Three bands over each other would say less than one.
    one_band = rows["part"].iloc[0] != "two_flips" or quantity == "mean"
    if (rows["unread"] > 0).any() and one_band:
        name = "if all were read"
        known = any(collection.get_label() == name for collection in ax.collections)
        band: Style = {
            "color": colour,
            "alpha": 0.16,
            "linewidth": 0,
            "label": None if known else name,
        }
        ends = rows["rate_least"], rows["rate_most"]
        ax.fill_between(rows["p"], *ends, **band, gid=f"band-{quantity}", zorder=1.5)
    drawn = rows[np.isfinite(rows["draws"]) & rows["rate"].notna()]
    # The mean of the two flips of an answer is no proportion of answers: it has no such interval.
    if len(drawn) and quantity != "mean":
        low, high = wilson_interval(drawn["rate"], drawn["draws"])
        ax.vlines(drawn["p"], low, high, color=colour, linewidth=0.9, alpha=0.6, zorder=3)


def _references(part: str, ax: Axes) -> None:
    """Draw what the rates should be, and what a published scoring compares them with."""
    game = part in GAMES
    ends = np.array([0.0, 1.0])
    target: Style = {
        "color": INK,
        "linewidth": 1.3,
        "linestyle": DASHES,
        "gid": "target",
        "zorder": 1,
    }
    other: Style = {"color": FAINT, "linewidth": 1.0, "zorder": 1}
    if game:
        # Both games have their equilibrium at one minus the parameter (`design.GAMES`).
        ax.plot(ends, 1 - ends, **target, label="equilibrium")
        other |= {"linestyle": (0, (6, 2, 1, 2)), "label": "rewarded as published"}
        ax.plot(ends, ends, **other, gid="published")
    else:
        ax.plot(ends, ends, **target, label="asked for")
        ax.plot([0, 0.5, 0.5, 1], [0, 0, 1, 1], **other, label="step (S = 1)", gid="step")


def plot_words(curves: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how often the first word of each pair was chosen, in either order."""
    wide = curves.pivot(index="item", columns="order", values="rate").iloc[::-1]
    wide = wide.reindex(columns=["forward", "reverse"])
    heights = dict(zip(wide.index, range(len(wide)), strict=True))
    ax.axvline(0.5, color=INK, linewidth=1.3, linestyle=DASHES, zorder=1)
    ax.hlines(
        list(heights.values()),
        wide["forward"],
        wide["reverse"],
        color=FAINT,
        linewidth=1.4,
        zorder=2,
    )
    for order, colour, marker, said, shift in (
        ("forward", VERMILION, ">", "listed first", 0.16),
        ("reverse", PURPLE, "<", "listed second", -0.16),
    ):
        lost = curves[(curves["order"] == order) & (curves["unread"] > 0)]
        # The bands of both orders lie side by side: over each other neither could be read.
        sides = [heights[item] + shift for item in lost["item"]]
        band: Style = {"color": colour, "linewidth": 4, "alpha": 0.25, "zorder": 1.5}
        ax.hlines(sides, lost["rate_least"], lost["rate_most"], **band, gid=f"band-{order}")
        marks: Style = {"color": colour, "marker": marker, "s": 34, "zorder": 3, "clip_on": False}
        ax.scatter(wide[order], list(heights.values()), **marks, label=said, gid=order)
    ax.spines[["top", "right", "left"]].set_visible(False)
    probability_scales(ax, y=False)
    ax.set_ylim(-0.6, len(wide) + 1.4)
    words = [clean(item.replace("/", " / "), limit=_MOST_LABEL) for item in wide.index]
    ax.set_yticks(list(heights.values()), words, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    unread = float(curves["unread"].mean())
    refused = f"\n(bands: if all were read; {curves['refused'].mean():.0%} refused)"
    ax.set_xlabel(f"rate of the pair's first word, when it is ...{refused if unread > 0 else ''}")
    ax.legend(loc="upper center", ncols=2, frameon=False, handletextpad=0.1, columnspacing=1.0)
    return ax


def mixing_figure(curves: pd.DataFrame, *, title: str) -> Figure:
    """Return a figure with one panel per part of the battery that was asked."""
    present = [name for name in PARTS if (curves["part"] == name).any()]
    with figure_style(_SIZES):
        figure, axes = panels(len(present), title=title, **_GRID)
        for name, ax in zip(present, axes, strict=True):
            (plot_words if name == "words" else plot_rates)(curves[curves["part"] == name], ax)
            heading = f"{PARTS[name].number}  {PARTS[name].title}"
            ax.set_title(heading, loc="left", fontweight="bold")
    return figure
