"""The scores of revealed beliefs as tables and lines for the terminal, and figures of the beliefs.

As figures 2 to 7 of the paper: beliefs over the truth, after earlier results, and in both orders.
Every plot takes a belief table (`coherence.batteries.revealed.scores.BELIEFS`) and an ``ax`` and
returns the ``ax``; bars are means over the wordings, and small marks the single wordings. Text from
data is never read as mathematics.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import Floats, require
from coherence.plots.style import (
    FAINT,
    INK,
    SERIES_COLOURS,
    Style,
    figure_style,
    frame_axes,
    panels,
    save_figure,
    share_legend,
)
from coherence.report.document import (
    MISSING,
    Cell,
    Column,
    Kind,
    Row,
    Table,
    build_table,
    count,
    label,
    spoken_range,
)
from coherence.report.screen import render_parts
from coherence.report.wording import clean

METRICS = {"chebyshev": "Chebyshev", "l1": "L1", "symmetric_kl": "symmetric KL, nats"}
_LITTLE = 0.5  # of the probability: below it a model would rather say something else
_NOT_READ = "No belief was read: the outcomes had no probability, or one of them was not given."
_NOT_ASKED = "No stated answer was asked for, or read, in this group."
_MEAN = Column(
    "mean",
    exact={"sd": "sd_wordings"}
    | {name: name for name in ("low", "high", "n_settings", "n_wordings")},
    why=_NOT_READ,
)
_ERROR = Column("error", exact={"answer_mass": "mass", "n_settings": "n"}, why=_NOT_ASKED)


def revealed_tables(
    summary: pd.DataFrame | None, errors: pd.DataFrame | None = None
) -> list[Table]:
    """Lay out distances from the truth, a table per scenario, with stated answers beside them."""
    shown = None if summary is None else summary[summary["metric"].isin(METRICS)]
    present = [table for table in (shown, errors) if table is not None]
    scenarios = dict.fromkeys(name for table in present for name in table["scenario"])
    tables = []
    for scenario in scenarios:
        parts = [table[table["scenario"] == scenario] for table in present]
        groups = list(dict.fromkeys(name for part in parts for name in part["group"]))
        tables.append(_distances(scenario, groups, shown, errors))
    return tables


def _distances(
    name: str, groups: list[str], shown: pd.DataFrame | None, errors: pd.DataFrame | None
) -> Table:
    """Lay out some groups of a scenario, a line each."""
    lines: dict[Any, dict[Any, Any]] = {
        group: {"group": group, "n_settings": 0} for group in groups
    }
    columns = [label("group", "setting"), count("n_settings", "settings")]
    captions: list[str] = []
    if errors is not None:
        sources = dict.fromkeys(errors["source"])
        errors = errors[errors["group"].isin(groups)]
        for (source, group), answers in errors.groupby(["source", "group"], sort=False):
            lines[group] |= {
                "n_settings": answers["setting"].nunique(),
                ("stated", source): answers,
            }
    if shown is not None:
        shown = shown[shown["group"].isin(groups)]
        for group, rows in shown.groupby("group", sort=False):
            lines[group]["n_settings"] = rows["n_settings"].max()
        for row in shown.to_dict("records"):
            lines[row["group"]][row["metric"], row["source"]] = row
        columns += [
            _distance(metric, source, heading)
            for metric, heading in METRICS.items()
            for source in dict.fromkeys(shown["source"])
        ]
        n_wordings = spoken_range([int(n) for n in shown["n_wordings"]])
        captions.append(
            "Mean distance of the revealed belief, renormalised over the outcomes, from the true "
            "distribution over the settings of a row, then over wordings; in brackets the standard "
            f"deviation over wordings ({n_wordings} were read). Chebyshev is "
            "the largest difference of a probability, L1 the sum of all (0 to 2), symmetric KL the "
            "sum of both divergences. The CSV file has 95% t intervals with the wordings as a "
            "sample."
        )
    if errors is not None:
        columns += [_stated(source) for source in sources]
        unread = int(errors["stated_error"].isna().sum())
        captions.append(
            "Stated error is the probability of a wrong option out of four, .75 for who knows "
            f"nothing; of {len(errors)} stated answers {unread} could not be read, and the "
            f"probability that one is an option at all is {errors['answer_mass'].mean():.2g} "
            "on average."
        )
    return build_table(
        lines.values(),
        columns,
        name=f"revealed-{name}",
        title=f"Revealed belief and the truth, {name}",
        caption=" ".join(captions),
    )


def _distance(metric: str, source: str, heading: str) -> Column:
    """Return the column of a metric: the mean, and its standard deviation over wordings."""

    def cell(line: Row) -> Cell:
        row = line.get((metric, source))
        if row is None:
            return Cell(MISSING, note=_NOT_READ)
        mean = _MEAN.cell(row)
        if math.isnan(row["mean"]) or math.isnan(row["sd_wordings"]):
            return mean
        # The spread has the decimals of the mean, as in the paper.
        decimals = len(mean.text.partition(".")[2])
        return Cell(f"{mean.text} ({row['sd_wordings']:.{decimals}f})", mean.values)

    return Column(f"{metric}.{source}", source, group=heading, make=cell)


def _stated(source: str) -> Column:
    """Return the column of the errors of the stated answers."""

    def cell(line: Row) -> Cell:
        answers = line.get(("stated", source))
        if answers is None:
            return Cell(MISSING, note=_NOT_ASKED)
        known = answers.dropna(subset="stated_error")["stated_error"]
        return _ERROR.cell(
            {"error": known.mean(), "mass": answers["answer_mass"].mean(), "n": len(known)}
        )

    return Column(f"stated.{source}", source, group="stated error", make=cell)


# What is said of a source: name, heading, the table and its column that it is made of, and how.
_SOURCES = (
    ("mass", "on the outcomes", "scores", "answer_mass", "mean"),
    ("leaked", "on impossible ones", "scores", "leaked_mass", "mean"),
    ("first", "face 1 of a die, excess", "die", "first_excess", "mean"),
    # "1" is how "10" to "12" begin: what it gets besides shows whether a love of face 1 is only an
    # artefact of reading beginnings.
    ("beginning", "if 10 to 12 counted as 1", "die", "first_excess_beginning", "mean"),
    ("distance", "after a result: distance", "influence", "distance", "mean"),
    ("pull", "pull", "influence", "pull", "mean"),
    ("position", "order: position", "orders", "position", "mean"),
    ("label", "label", "orders", "label", "mean"),
    ("stated", "on letters, stated", "stated_errors", "answer_mass", "mean"),
    ("bets", "bets", "bets", "share", "size"),
    ("unread", "unread", "bets", "unread", "sum"),
    ("taken", "taken", "bets", "share", "mean"),
    ("loss", "points lost a bet", "bets", "loss", "mean"),
    ("bet", "on letters, bets", "bets", "answer_mass", "mean"),
)
_KINDS = {"bets": Kind.COUNT, "unread": Kind.COUNT, "taken": Kind.SHARE}
_WHAT = {
    "mass": ("an outcome follows", "most texts would rather go on in another way"),
    "stated": ("a stated answer is a letter at all", "no belief"),
    "bet": ("an answer to a bet is a letter at all", "hardly decisions"),
}


def render_sources(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return a line for each source on what its beliefs, answers and bets are worth.

    `tables` are those that there are of scores, influence, orders, stated_errors and bets.
    """
    known = dict(tables)
    if (scores := known.get("scores")) is not None:
        known["die"] = scores[scores["group"] == "1 die, single"]
    if (bets := known.get("bets")) is not None:
        known["bets"] = bets.assign(unread=bets["share"].isna())
    lines: dict[Any, dict[str, Any]] = {}
    for name, _, table, column, how in _SOURCES:
        if table in known:
            by_source = known[table].groupby("source", sort=False)[column]
            for source, value in by_source.agg(how).items():
                lines.setdefault(source, {"source": source})[name] = value
    shown = pd.DataFrame(lines.values()).dropna(axis=1, how="all")
    columns = [label("source")] + [
        Column(name, heading, _KINDS.get(name, Kind.NUMBER))
        for name, heading, *_ in _SOURCES
        if name in shown
    ]
    warnings = [
        f"{clean(row['source'], limit=40)}: the probability that {event} is {row[name]:.2g} "
        f"on average, and what is shown are shares of that little: {worth}."
        for row in shown.to_dict("records")
        for name, (event, worth) in _WHAT.items()
        if row.get(name, 1.0) < _LITTLE
    ]
    return render_parts([build_table(shown.to_dict("records"), columns), *warnings])


def render_tables(tables: Sequence[Table]) -> str:
    """Return the tables for the terminal, if there are any."""
    spread = (
        "Distances are means over settings, in brackets their standard deviation over wordings; a "
        "stated error of .75 is that of who knows nothing."
    )
    parts = [part for table in tables for part in (table, "")]
    return render_parts([*parts, spread]) if parts else ""


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


def _frame(ax: Axes, outcomes: Sequence[str], **legend: Any) -> Axes:
    """Draw the axes around bars at the outcomes; with many outcomes only some have a label.

    No label is read as mathematics: one from data may hold a dollar sign.
    """
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
    ax.yaxis.set_major_formatter(lambda at, _: f"{at:g}".lstrip("0") or "0")
    shown = ax.legend(**_LEGEND, **legend)
    for text in (*ax.get_xticklabels(), ax.title, ax.xaxis.label, *shown.get_texts()):
        text.set_parse_math(False)
    return ax


def plot_outcomes(beliefs: pd.DataFrame, setting: str, ax: Axes) -> Axes:
    """Draw the revealed belief of every source over the truth."""
    rows = rows_of_setting(beliefs, setting)
    sources = list(dict.fromkeys(rows["source"]))
    truth = _truth_of(rows)
    positions = np.arange(len(truth))
    ax.bar(positions, truth, **_TRUTH)
    width = _ROOM / len(sources)
    outcomes: list[str] = []
    for number, source in enumerate(sources):
        belief = wording_beliefs(rows[rows["source"] == source])
        outcomes = list(belief.columns)
        if belief.empty:
            continue
        # The bars of the sources stand side by side, around the position of their outcome.
        centres = positions + (number - (len(sources) - 1) / 2) * width
        bars: Style = {
            "color": SERIES_COLOURS[number % len(SERIES_COLOURS)],
            "alpha": 0.85,
            "zorder": 2,
        }
        means = belief.mean().to_numpy()
        ax.bar(centres, means, width=width * 0.86, label=clean(source, limit=30), **bars)
        if len(belief) > 1 and len(truth) * len(sources) <= _MOST_MARKED:
            for _, wording in belief.iterrows():
                ax.scatter(centres, wording.to_numpy(), s=7, color=INK, linewidth=0, zorder=3)
    row: Style = {"ncols": 4, "handlelength": 1.2, "columnspacing": 1.0, "borderaxespad": 0.4}
    return _frame(ax, outcomes, bbox_to_anchor=(0.0, -0.12), **row)


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
    settings = list(dict.fromkeys(later["setting"]))
    for number, position in enumerate(_spread_out(len(settings), _MOST_PREVIOUS)):
        rows = later[later["setting"] == settings[position]]
        previous = str(rows["previous"].iloc[0])
        after = wording_beliefs(rows).mean().to_numpy()
        colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
        line = {"color": colour, "linewidth": 1.5, "marker": "o", "markersize": 3}
        line |= {"linestyle": ("-", "--", "-.", ":")[number % 4], "zorder": 4}
        ax.plot(positions, after, **line, label=f"after {clean(previous, limit=12)}")
        if previous in outcomes:
            repeated = outcomes.index(previous)
            ring: Style = {"s": 80, "facecolor": "none", "edgecolor": colour, "linewidth": 1.4}
            ax.scatter([repeated], [after[repeated]], **ring, zorder=5)
    if variant == "dependent":
        ax.set_xlabel("outcome less the earlier result")
    return _frame(ax, outcomes, **_BESIDE)


def _spread_out(n: int, most: int) -> list[int]:
    """Return at most so many of n positions, evenly spread, with the first and the last."""
    return list(map(int, np.unique(np.linspace(0, n - 1, min(n, most)).round())))


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
            bar: Style = {"color": SERIES_COLOURS[position], "hatch": ("", "////")[position]}
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
    ax.set_ylim(0, 1.0)
    ax.set_xlim(-0.6, len(options) - 0.4)
    return _frame(ax, options, **_BESIDE)


_TITLE = 38  # letters of a title
_MOST_SOURCES = 4  # in figures that have panels of their own for each
_EXAMPLES = {"dice": 2, "coins": 1, "choice": 1, "preference": 2}
"""Scenario -> groups of it of which a single experiment is shown."""

Panel = tuple[str, Callable[[Axes], Axes]]
"""A title, and what draws the panel."""


def write_figures(beliefs: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the figures that a belief table allows, of beliefs that were read."""
    written = []
    for name, drawn, size in (
        ("outcomes", _outcome_panels(beliefs), (3.5, 2.5)),
        ("previous", _previous_panels(beliefs), (5.4, 2.6)),
        ("orders", _order_panels(beliefs), (3.3, 2.4)),
    ):
        if not drawn:
            continue
        with figure_style({"font.size": 9.0}):
            across = 2 if name == "previous" else 3
            figure, axes = panels(len(drawn), across=across, size=size)
            for number, (ax, (title, draw)) in enumerate(zip(axes, drawn, strict=True)):
                draw(ax)
                ax.set_title(title, fontsize=9.5, color=INK, loc="left", parse_math=False)
                if number % across:
                    ax.set_ylabel("")
            if name != "previous":  # each history has earlier results of its own
                share_legend(figure, columns=5)
            written.append(Path(folder) / f"{name}.png")
            save_figure(figure, written[-1])
    return written


def _outcome_panels(beliefs: pd.DataFrame) -> list[Panel]:
    """Return single experiments: the first and the middle groups of a scenario."""
    single, names = beliefs[beliefs["variant"] == "single"], list[str]()
    for scenario, n in _EXAMPLES.items():
        rows = single[single["scenario"] == scenario]
        groups = list(dict.fromkeys(rows["group"]))
        middle = groups[len(groups) // 2 :][:1]
        for group in dict.fromkeys([*groups[: n - 1], *middle]):
            of_group = list(dict.fromkeys(rows.loc[rows["group"] == group, "setting"]))
            # The second of the dice is the one with six faces in the standard grid.
            names.append(of_group[min(1, len(of_group) - 1)] if scenario == "dice" else of_group[0])
    return [(_setting_title(name), partial(plot_outcomes, beliefs, name)) for name in names]


def _previous_panels(beliefs: pd.DataFrame) -> list[Panel]:
    """Return baselines with settings after earlier results: one of each scenario, and variants."""
    asked_alone = beliefs["baseline"].isin(set(beliefs["setting"]))
    later = beliefs[asked_alone & beliefs["variant"].isin(["independent", "dependent"])]
    drawn: list[Panel] = []
    for scenario, number in {"dice": 1, "coins": 0, "choice": 1}.items():
        baselines = list(dict.fromkeys(later.loc[later["scenario"] == scenario, "baseline"]))
        for baseline in baselines[min(number, len(baselines) - 1) :][:1]:
            alone, after = beliefs["setting"] == baseline, later[later["baseline"] == baseline]
            for variant, rows in after.groupby("variant", sort=False):
                title = f"{_setting_title(baseline)}, {variant}"
                draw = partial(plot_previous, beliefs, baseline, str(variant))
                drawn += _of_each(title, draw, beliefs[alone], rows)
    return drawn


def _order_panels(beliefs: pd.DataFrame) -> list[Panel]:
    """Return both orders of every pair."""
    single = beliefs[(beliefs["variant"] == "single") & (beliefs["pair"] != "")]
    drawn: list[Panel] = []
    for pair, rows in single.groupby("pair", sort=False):
        both = [of_setting for _, of_setting in rows.groupby("setting", sort=False)]
        if len(both) == 2:
            title = _clipped(str(pair).rpartition("/")[2])
            drawn += _of_each(title, partial(plot_orders, single, str(pair)), *both)
    return drawn


def _of_each(title: str, draw: Callable[..., Axes], *needed: pd.DataFrame) -> list[Panel]:
    """Return a panel of each source that has a belief with any probability in all that it needs."""
    read = [dict.fromkeys(rows.loc[rows["mass"] > 0, "source"]) for rows in needed]
    sources = [source for source in read[0] if all(source in of for of in read)]
    return [
        (f"{title}\n{clean(source, limit=30)}", partial(draw, source=source))
        for source in sources[:_MOST_SOURCES]
    ]


def _setting_title(setting: str) -> str:
    return _clipped(setting.split("/", 2)[-1].replace("/", ", "))


def _clipped(name: str) -> str:
    """Shorten a long name in its middle: what it ends with tells it from others."""
    text = clean(name, limit=200)
    return text if len(text) <= _TITLE else f"{text[: _TITLE // 2]}…{text[-_TITLE // 2 :]}"
