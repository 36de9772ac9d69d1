"""The paper's table of failures to mix: points of every experiment beside what can be attained."""

import pandas as pd

from coherence.batteries.mixing.design import EXPERIMENTS
from coherence.report.tables.cells import Cell, Column, PaperTable, number_cell, text_cell

EARLIER = r"mixing\.(md|tex|csv)"
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
