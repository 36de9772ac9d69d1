"""The scores of bets as tables: those of the paper, and lines for the terminal.

In the paper's tables (accuracy by model and kind of question, and transfer) every accuracy stands
with its interval, the exact test, and the z test of the paper against a guess.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from coherence.batteries.bets.accuracy import z_test
from coherence.batteries.bets.ladder import LadderFit
from coherence.batteries.bets.scores import BCA, STANDARD, STATED, THRESHOLD, BetScores
from coherence.report.columns import aligned
from coherence.report.tables import (
    Cell,
    Column,
    PaperTable,
    number_cell,
    spoken_range,
    text_cell,
)
from coherence.report.wording import NOT_GIVEN, clean, format_pvalue

_NOT_ASKED = "There are no answers for this cell; the notes of the command say why."
_NO_Z = "z has no size where all or none of the answers are right; p is its limit."
_ONE = "z needs two questions."
_EXACT = ("n", "n_right", "chance", "constant", "constant_rate", "low", "high", "p_exact")
_MORE = ("threshold", "dev_accuracy", "n_tied", "n_unread")
_HOW = (
    "Accuracy in percent with its 95% interval, things as crossed clusters; p exact is one-sided "
    "against the better of a random guess and the best constant answer, z and its one-sided p are "
    "the test of the paper, against a random guess with questions as independent."
)


def bet_tables(accuracy: pd.DataFrame) -> list[PaperTable]:
    """Lay out accuracies, tables 5, 6 and 14 of the paper: models x kinds of question."""
    tables = []
    for kind, title in (("value", "Which thing is worth more"), ("bet", "Bets")):
        for suffix, methods in (("", (STANDARD,)), ("-sets", (THRESHOLD, STATED))):
            rows = accuracy[(accuracy["kind"] == kind) & accuracy["method"].isin(methods)]
            if len(rows):
                how = _how(suffix, kind)
                of = f"{title}, {'sets of choices' if suffix else 'single choices'}"
                tables.append(_table(rows, f"{kind}s{suffix}", of, how, "model", "template"))
    return tables


def transfer_tables(scores: pd.DataFrame) -> list[PaperTable]:
    """Lay out what carries over: trained on x tested on, figures 2 and 3 of the paper."""
    tables = []
    for suffix, methods in (("", (STANDARD,)), ("-sets", (THRESHOLD, STATED))):
        rows = scores[scores["method"].isin(methods)]
        # Models of a transfer were asked for bets alone, so that they have no values of their own.
        rows = rows[rows["truth"] != BCA]
        if len(rows):
            of = "sets of choices" if suffix else "single choices"
            title = f"Trained on one kind of bet, tested on each, {of}"
            how = _how(suffix, "bet")
            tables.append(_table(rows, f"transfer{suffix}", title, how, "trained_on", "tested_on"))
    return tables


def _how(suffix: str, kind: str) -> str:
    if suffix:
        return (
            "A question is right where the set of all choices above a threshold, tuned on "
            "development questions, is the true set of that name; a guess takes any set."
        )
    own = " ACC counts the bet that is best, BCA the bet that is best by the model's own values."
    return f"The choice is that of the largest score.{own if kind == 'bet' else ''}"


def _spoken(truth: str, kinds: Sequence[str]) -> str:
    if truth == "correct":
        return "ACC" if BCA in kinds else "accuracy"
    return "BCA" if truth == BCA else truth


def _table(
    rows: pd.DataFrame, name: str, title: str, how: str, down: str, across: str
) -> PaperTable:
    kinds = list(dict.fromkeys(rows["truth"]))
    pairs = [
        (column, truth)
        for column in dict.fromkeys(rows[across])
        for truth in kinds
        if len(rows[(rows[across] == column) & (rows["truth"] == truth)])
    ]
    columns = [Column(down, down.replace("_", " "), number=False)]
    for column, truth in pairs:
        group, key = f"{column}, {_spoken(truth, kinds)}", f"{column}.{truth}"
        columns += [Column(key, "accuracy", group), Column("", "p exact", group)]
        columns.append(Column(f"{key}.z", "z (p)", group))
    found = {(row[down], row[across], row["truth"]): row for row in rows.to_dict("records")}
    lines = []
    for label in dict.fromkeys(rows[down]):
        cells = [text_cell(str(label))]
        for column, truth in pairs:
            cells += _cells(found.get((label, column, truth)))
        lines.append(tuple(cells))
    unread = int(rows["n_unread"].sum())
    n = spoken_range([int(n) for n in rows["n"]])
    counted = (
        f"A cell has {n} questions; {unread} answers of all cells could not be read and "
        "count as wrong."
    )
    return PaperTable(
        name=name,
        label="Table",
        title=title,
        caption=f"{how} {_HOW} {counted}",
        columns=tuple(columns),
        rows=tuple(lines),
    )


def _cells(row: dict[Any, Any] | None) -> list[Cell]:
    if row is None:
        return [Cell("–", note=_NOT_ASKED), Cell("–"), Cell("–")]
    exact = {key: row[key] for key in (*_EXACT, *_MORE)}
    ends = row["low"], row["high"]
    accuracy = number_cell(row["accuracy"], exact, ends=ends, percent=True, why=_NOT_ASKED)
    tested = Cell(format_pvalue(row["p_exact"]))
    # The variance of the paper takes n - 1, which one question does not allow.
    if row["n"] < 2:
        return [accuracy, tested, Cell("–", note=_ONE)]
    paper = z_test(int(row["n_right"]), int(row["n"]), float(row["chance"]))
    exact = {"": paper.z, "pvalue": paper.pvalue}
    if not math.isfinite(paper.z):
        return [accuracy, tested, Cell(f"– ({format_pvalue(paper.pvalue)})", exact, _NO_Z)]
    return [accuracy, tested, Cell(f"{paper.z:.2f} ({format_pvalue(paper.pvalue)})", exact)]


def bets_report(scores: BetScores, comparison: pd.DataFrame) -> str:
    """Return the accuracies of every model as lines, and several models beside each other."""
    lines: list[str] = []
    header = ["question", "truth", "method", "n", "right", "95% interval", "chance", "always"]
    header += ["p exact", "p z test"]
    for model, rows in scores.accuracy.groupby("model", sort=False):
        cells = [header]
        for row in rows.to_dict("records"):
            numbers = [
                str(row["n"]),
                percent(row["accuracy"]),
                between(row, ".0%"),
                percent(row["chance"]),
                always(row),
            ]
            numbers += [format_pvalue(row["p_exact"]), format_pvalue(row["p_z"])]
            # Names come from files of answers and may hold terminal commands.
            cells.append([clean(row["template"]), row["truth"], row["method"], *numbers])
        lines += [f"{clean(model)}", *aligned(cells, right=range(3, 10)), ""]
    for (model, modality), fit in scores.ladders.items():
        lines += [
            f"{clean(model)}, ladder of a {clean(modality)}: probabilities that choices act on"
        ]
        cells = [["stated", "bets taken", "implied", "95% interval", "status"]]
        for row in fit.table.to_dict("records"):
            implied = NOT_GIVEN if math.isnan(row["implied"]) else f"{row['implied']:.3f}"
            cells.append(
                [
                    f"{row['stated']:g}",
                    f"{row['share']:.0%}",
                    implied,
                    between(row, ".3f"),
                    row["status"],
                ]
            )
        lines += [*aligned(cells, right=range(4)), *_weighting(fit), ""]
    if "model" in comparison and comparison["model"].nunique() > 1:
        cells = [["all models", "model", "n", "right", "95% interval", "chance", "always"]]
        for row in comparison.to_dict("records"):
            cells.append(
                [
                    row["measure"],
                    clean(row["model"]),
                    str(row["n"]),
                    percent(row["accuracy"]),
                    between(row, ".0%"),
                    percent(row["chance"]),
                    always(row),
                ]
            )
        lines += [*aligned(cells, right=range(2, 7)), ""]
    return "\n".join([*lines, *(f"note: {clean(note)}" for note in scores.notes)]).rstrip()


def _weighting(fit: LadderFit) -> list[str]:
    """Return the line of implied on stated log odds, and what the intervals take as independent."""
    line, about = fit.weighting, f"intervals take {fit.unit} as independent"
    if math.isnan(line.sensitivity):
        return [about]
    ends = [
        (line.elevation, line.elevation_interval),
        (line.sensitivity, line.sensitivity_interval),
    ]
    elevation, sensitivity = (
        f"{_signed(value)} ({_signed(interval.low)} to {_signed(interval.high)})"
        for value, interval in ends
    )
    return [
        f"elevation {elevation}, sensitivity {sensitivity}; "
        f"implied = stated (0 and 1): p {format_pvalue(line.pvalue)}",
        about,
    ]


def _signed(value: float) -> str:
    """Return two decimals, without the sign of a negative number that rounds to 0."""
    # -0.0 + 0.0 is 0.0, which prints without a sign.
    return f"{round(value, 2) + 0.0:.2f}"


def percent(share: float) -> str:
    """Return a share as a cell."""
    return NOT_GIVEN if math.isnan(share) else f"{share:.1%}"


def always(row: Mapping[Any, Any]) -> str:
    """Return the constant answer that is right most often, and how often, as a cell."""
    return f"{row['constant']} {percent(row['constant_rate'])}" if row["constant"] else NOT_GIVEN


def between(row: "Mapping[Any, Any] | pd.Series[Any]", form: str) -> str:
    """Return an interval as a cell."""
    return NOT_GIVEN if math.isnan(row["low"]) else f"{row['low']:{form}} to {row['high']:{form}}"
