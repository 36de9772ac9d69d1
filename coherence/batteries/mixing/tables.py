"""The scores of the battery as tables: those of the paper, and lines for the terminal."""

import math
from typing import Any

import pandas as pd

from coherence.batteries.mixing.design import EXPERIMENTS
from coherence.batteries.mixing.scores import MixingScores
from coherence.report.columns import aligned
from coherence.report.tables import Cell, Column, PaperTable, number_cell, text_cell
from coherence.report.wording import NOT_GIVEN, clean

_UNDEFINED = "Undefined: a part was not asked, or some condition has no readable answer."
_COLUMNS = (
    Column("model", "model", number=False),
    Column("experiment", "experiment", number=False),
    Column("points", "of"),
    Column("published", "published"),
    Column("ceiling", "ceiling"),
    Column("equilibrium", "at the equilibria"),
    Column("corrected", "corrected"),
    Column("bounds", "published, if all were read"),
    Column("unread", "unreadable"),
    Column("refused", "refused"),
)


def mixing_table(experiments: pd.DataFrame) -> PaperTable:
    """Lay out the scores of every model and experiment."""
    return PaperTable(
        name="mixing",
        label="Table",
        title="Points by experiment and the attainable ceiling",
        caption=(
            "Published is the score of the paper. Ceiling is what a faultless sampler with as many "
            "draws gets on average, playing p for the rate everywhere, and the next column what it "
            "gets playing the games at their equilibria. Corrected is the score at the true rates, "
            "without the noise of drawing, with its 95% interval in brackets. The bounds are the "
            "published score over all that unreadable answers might have been. "
            f"{_answers(experiments)}"
        ),
        columns=_COLUMNS,
        rows=tuple(_row(row) for row in experiments.to_dict("records")),
    )


def _answers(experiments: pd.DataFrame) -> str:
    total = experiments.loc[experiments["experiment"] == 0, "answers"]
    if total.isna().any():
        return "Rates are exact probabilities and not shares of answers, or models differ in that."
    return f"Scored are {', '.join(f'{n:.0f}' for n in total)} answers, in the order of the models."


def _row(row: dict[object, object]) -> tuple[Cell, ...]:
    number = int(str(row["experiment"]))
    name = f"{number} {EXPERIMENTS[number]}" if number else "total"
    value = {key: float(str(row[key])) for key in row if key not in ("model", "experiment")}
    bounds = value["worst"], value["best"]
    interval = value["low"], value["high"]
    known = bounds[0] == bounds[0]
    return (
        text_cell(str(row["model"]) or "–"),
        Cell(name, {"": number}),
        *(
            number_cell(value[key], {}, why=_UNDEFINED)
            for key in ("points", "published", "ceiling", "equilibrium")
        ),
        number_cell(
            value["corrected"],
            {"low": interval[0], "high": interval[1]},
            ends=interval,
            why=_UNDEFINED,
        ),
        Cell(
            f"{bounds[0]:.1f} to {bounds[1]:.1f}" if known else "–",
            {"worst": bounds[0], "best": bounds[1]},
            "" if known else _UNDEFINED,
        ),
        *(number_cell(value[key], {}, percent=True) for key in ("unread", "refused")),
    )


def mix_report(scores: MixingScores) -> str:
    """Return the tables for the terminal."""
    blocks = []
    for model, rows in scores.experiments.groupby("model", sort=False):
        head = [
            "experiment",
            "of",
            "published",
            "ceiling",
            "corrected",
            "95% interval",
            "unreadable",
            "refused",
            "published, if all were read",
        ]
        body = [_line(row) for row in rows.to_dict("records")]
        # The bounds say what unread answers could change; without any they are the score.
        if not (rows["unread"] > 0).any():
            head, body = head[:-1], [row[:-1] for row in body]
        lines = [clean(model)] if model else []
        lines += [*aligned([head, *body], right=range(1, len(head))), ""]
        lines += [*_unread(rows), *_notes(scores, str(model))]
        blocks.append("\n".join(lines))
    board = scores.leaderboard()
    if len(board) > 1:
        columns = ("corrected", "published", "ceiling")
        ranked = [["rank", "model", *columns]]
        for row in board.to_dict("records"):
            numbers = [_number(row[name]) for name in columns]
            ranked.append([_number(row["rank"], 0), clean(row["model"], limit=40), *numbers])
        blocks.append("\n".join(aligned(ranked, right=(0, 2, 3, 4))))
    if scores.notes:
        blocks.append("\n".join(clean(note) for note in scores.notes))
    return "\n\n\n".join(blocks)


def _line(row: dict[Any, Any]) -> list[str]:
    number = int(row["experiment"])
    interval = NOT_GIVEN if math.isnan(row["low"]) else f"[{row['low']:.1f}, {row['high']:.1f}]"
    bounds = NOT_GIVEN if math.isnan(row["worst"]) else f"[{row['worst']:.1f}, {row['best']:.1f}]"
    name = f"{number} {EXPERIMENTS[number]}" if number else "total"
    numbers = [_number(row[column]) for column in ("published", "ceiling", "corrected")]
    return [
        name,
        _number(row["points"], 0),
        *numbers,
        interval,
        f"{row['unread']:.1%}",
        f"{row['refused']:.1%}",
        bounds,
    ]


def _number(value: float, decimals: int = 1) -> str:
    return NOT_GIVEN if math.isnan(value) else f"{value:.{decimals}f}"


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
            f"{empty} of {len(curves)} conditions have no readable answer; scores that need them "
            "are undefined."
        )
    flips = measures[measures["part"] == "flip"].dropna(subset="published_loss")
    for flip in flips.to_dict("records"):
        loss = "undefined without noise"
        if not math.isnan(flip["corrected_loss"]):
            loss = (
                f"{flip['corrected_loss']:.3f} without noise, 95% interval "
                f"[{flip['loss_low']:.3f}, {flip['loss_high']:.3f}]"
            )
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
