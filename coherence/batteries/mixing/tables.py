"""The scores of the battery as tables: those of the paper, and lines for the terminal."""

import math

import pandas as pd

from coherence.batteries.mixing.design import EXPERIMENTS
from coherence.batteries.mixing.scores import MixingScores
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
_TOTALS = (
    label("model"),
    Column("corrected", ends=("low", "high")),
    Column("published"),
    Column("ceiling"),
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
    totals = scores.experiments[scores.experiments["experiment"] == 0]
    if len(totals) > 1:
        parts += [build_table(totals.to_dict("records"), _TOTALS), "", ""]
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
