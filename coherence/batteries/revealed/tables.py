"""The scores of revealed beliefs as tables: those of the paper, and lines for the terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from coherence.batteries.revealed.scores import ALL
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
MOST_ROWS = 28
"""Rows of a table, which a page holds; longer ones go on in another."""
_LITTLE = 0.5  # of the probability: below it a model would rather say something else
_NOT_READ = "No belief was read: the outcomes had no probability, or one of them was not given."
_NOT_ASKED = "No stated answer was asked for, or read, in this group."
_MISSES = (
    label("source"),
    label("group", "setting"),
    count("n_settings", "settings"),
    Column("revealed_miss", "revealed", ends=("revealed_low", "revealed_high")),
    Column("stated_miss", "stated", exact={"least": "stated_least", "most": "stated_most"}),
    Column("difference", "revealed - stated", ends=("low", "high")),
    Column("revealed_uniform", "outcomes alike"),
    Column("stated_guess", "letter at random"),
)
_MEAN = Column(
    "mean",
    exact={"sd": "sd_wordings"}
    | {name: name for name in ("low", "high", "n_settings", "n_wordings")},
    why=_NOT_READ,
)
_ERROR = Column("error", exact={"answer_mass": "mass", "n_settings": "n"}, why=_NOT_ASKED)
_MISSES_CAPTION = (
    "Mean distance from the truth of the probability of the outcome that the stated "
    "question asks about, over settings read both ways: in the revealed belief, in the "
    "stated answer (expected over the four options), and their difference, below 0 where "
    "the revealed belief is nearer. Brackets: 95% t intervals with the wordings of the "
    "revealed belief as a sample. The last columns are those of who knows nothing."
)


def revealed_tables(
    summary: pd.DataFrame | None,
    errors: pd.DataFrame | None = None,
    misses: pd.DataFrame | None = None,
) -> list[Table]:
    """Lay out distances from the truth, a table per scenario, and both ways of asking beside."""
    shown = None if summary is None else summary[summary["metric"].isin(METRICS)]
    present = [table for table in (shown, errors) if table is not None]
    scenarios = dict.fromkeys(name for table in present for name in table["scenario"])
    tables = []
    for scenario in scenarios:
        parts = [table[table["scenario"] == scenario] for table in present]
        groups = list(dict.fromkeys(name for part in parts for name in part["group"]))
        starts = range(0, len(groups), MOST_ROWS)
        for part, start in enumerate(starts, start=1):
            suffix = f"-{part}" if len(starts) > 1 else ""
            of_part = groups[start : start + MOST_ROWS]
            tables.append(_distances(f"{scenario}{suffix}", of_part, shown, errors))
    if misses is not None and len(misses):
        tables.append(
            build_table(
                misses.to_dict("records"),
                _MISSES,
                name="misses",
                title="Revealed belief beside stated answer, on one scale",
                caption=_MISSES_CAPTION,
                n_last=0 if (misses["group"] == ALL).sum() > 1 else 1,
            )
        )
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
        title=f"Revealed belief and the truth, {name.partition('-')[0]}",
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


def render_misses(misses: pd.DataFrame) -> str:
    """Say for every source which of the two is nearer to the truth."""
    lines = []
    for row in misses[misses["group"] == ALL].to_dict("records"):
        nearer = "revealed belief" if row["difference"] < 0 else "stated answer"
        said = f"the {nearer} is nearer to the truth"
        if math.isnan(row["low"]):
            said += ", in one wording, so that no interval is known"
        elif row["low"] <= 0 <= row["high"]:
            said = f"which is nearer to the truth is not settled; on average the {nearer} is"
        lines.append(f"{clean(row['source'], limit=40)}: {said}.")
    return "\n".join(lines)
