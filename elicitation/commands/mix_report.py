"""What ``coherence mix`` writes and prints: tables, figures and lines for the terminal."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import new_files

if TYPE_CHECKING:
    import pandas as pd

    from coherence.batteries.mixing.scores import MixingScores

_NONE = "–"
# All that the command may write, but for the store of answers.
WRITTEN = (
    r"(scores|measures|curves|dependence|leaderboard)\.csv|scores\.json|(answers|runs)\.parquet"
    r"|(rates(-[1-9][0-9]*)?|flips)\.png"
)


def write_mix_results(
    out: Path, answers: "pd.DataFrame", scores: "MixingScores", *, inputs: list[str] | None
) -> list[str]:
    """Write tables and figures, in place of those of an earlier call."""
    from coherence.batteries.mixing.answers import mixing_runs
    from coherence.batteries.mixing.figures import compare_figure, mixing_figure, save_panels
    from coherence.table.storage import write_runs

    tables = {
        "scores.csv": scores.experiments,
        "measures.csv": scores.measures,
        "curves.csv": scores.curves,
        "dependence.csv": scores.dependence,
    }
    board = scores.leaderboard()
    if len(board) > 1:
        tables["leaderboard.csv"] = board
    if inputs is None:
        # Not as CSV: raw texts may hold any character, and a lone carriage return would part a row
        # in two.
        tables["answers.parquet"] = answers
    runs = mixing_runs(answers)
    if len(runs):
        tables["runs.parquet"] = runs
    # Names of models are text from outside and never become part of a path.
    rates = (
        ["rates.png"]
        if len(board) == 1
        else [f"rates-{number}.png" for number in range(1, len(board) + 1)]
    )
    side_by_side = (
        ["flips.png"] if len(board) > 1 and (scores.curves["part"] == "flip").any() else []
    )
    written = [*tables, "scores.json", *rates, *side_by_side]
    with new_files(out, WRITTEN, inputs or ()) as new:
        for name, table in tables.items():
            write_runs(table, new / name)
        _write_json(new / "scores.json", scores)
        for name, model in zip(rates, board["model"], strict=True):
            curves = scores.curves[scores.curves["model"] == model]
            save_panels(mixing_figure(curves, title=model or "rates"), new / name)
        for name in side_by_side:
            save_panels(compare_figure(scores.curves, list(board["model"])), new / name)
    return written


def _write_json(path: Path, scores: "MixingScores") -> None:
    import json

    tables = {
        "experiments": scores.experiments,
        "measures": scores.measures,
        "dependence": scores.dependence,
    }
    # NaN is no JSON: what is undefined is null.
    records = {
        name: table.astype(object).where(table.notna(), None).to_dict("records")
        for name, table in tables.items()
    }
    text = json.dumps(
        records, indent=2, ensure_ascii=False, allow_nan=False, default=lambda value: value.item()
    )
    path.write_text(text + "\n", encoding="utf-8")


def mix_report(scores: "MixingScores") -> str:
    """Return the tables for the terminal."""
    from coherence.report.columns import aligned
    from coherence.report.wording import clean

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
        body = [_row(row) for row in rows.to_dict("records")]
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


def _row(row: "dict[Any, Any]") -> list[str]:
    from coherence.batteries.mixing.design import EXPERIMENTS

    number = int(row["experiment"])
    interval = _NONE if math.isnan(row["low"]) else f"[{row['low']:.1f}, {row['high']:.1f}]"
    bounds = _NONE if math.isnan(row["worst"]) else f"[{row['worst']:.1f}, {row['best']:.1f}]"
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
    return _NONE if math.isnan(value) else f"{value:.{decimals}f}"


def _unread(rows: "pd.DataFrame") -> list[str]:
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


def _notes(scores: "MixingScores", model: str) -> list[str]:
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
