"""The results of a report as tables for papers: Markdown, LaTeX and CSV of each task and model.

The texts are rounded as on the page; CSV files hold the numbers unrounded.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coherence.report.tables import (
    Cell,
    Column,
    PaperTable,
    render_all,
    render_page,
    text_cell,
)
from coherence.report.unit import Unit
from coherence.report.wording import NOT_GIVEN, format_effect, format_pvalue, unit_heading
from coherence.result import CheckResult

CONTENTS = "tables.md"
NAMES = r"(results|answers)-[0-9]+\.(md|tex|csv)"
"""Names of all files that `table_files` gives, but for the table of contents."""
_RESULTS = (
    Column("check", "check", number=False),
    Column("effect", "effect"),
    Column("", "95% interval"),
    Column("p", "p"),
    Column("p_holm", "p by Holm"),
    Column("contexts", "contexts"),
    Column("rows", "rows"),
)
_ANSWERS = (
    Column("question", "question", number=False),
    Column("status", "status", number=False),
    Column("rows", "answers"),
)
_CAPTION = (
    "Effects with 95% intervals over contexts, p-values of single tests and adjusted by Holm over "
    "all tests of the report; without a p-value a line is an estimate."
)


def _result_row(result: CheckResult) -> tuple[Cell, ...]:
    row = result.to_row()
    effect, interval = format_effect(result)
    names = ("low", "high", "level", "unit")
    exact = {"": row["statistic"], **{name: row[name] for name in names}}
    # Of many differences of choice probabilities one is shown: a number alone does not say which.
    component = str(result.settings.get("component", ""))
    exact["component"] = component
    undefined = math.isnan(result.statistic)
    shown = f"The effect shown is {component}." if component else ""
    return (
        text_cell(result.check),
        Cell(effect, exact, result.reason if undefined else shown, is_reason=undefined),
        Cell(interval, {}),
        Cell(format_pvalue(result.pvalue), {"": row["pvalue"]}),
        Cell(format_pvalue(result.pvalue_holm), {"": row["pvalue_holm"]}),
        Cell(str(result.n_contexts), {"": result.n_contexts}),
        Cell(str(result.n_rows), {"": result.n_rows}),
    )


def _answer_row(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    count = int(row["rows"])
    names = (text_cell(str(row["question"] or NOT_GIVEN)), text_cell(str(row["status"])))
    return (*names, Cell(str(count), {"": count}))


def result_tables(units: Sequence[Unit]) -> list[PaperTable]:
    """Lay out the tables of a report."""
    tables = []
    for number, unit in enumerate(units, start=1):
        of_unit = unit_heading(unit)
        rows = tuple(_result_row(result) for result in unit.results)
        title, label = f"Results of {of_unit}", f"Table {number}"
        tables.append(PaperTable(f"results-{number}", label, title, _CAPTION, _RESULTS, rows))
        if unit.statuses.empty:
            continue
        rows = tuple(_answer_row(row) for row in unit.statuses.to_dict("records"))
        title, label = f"What became of the answers of {of_unit}", f"Table {number}b"
        caption = "Unreadable answers are counted and enter no result."
        tables.append(PaperTable(f"answers-{number}", label, title, caption, _ANSWERS, rows))
    return tables


def table_files(units: Sequence[Unit]) -> dict[str, str]:
    """Render every table of a report in every form, and one page that shows them all."""
    tables = result_tables(units)
    return render_all(tables) | {CONTENTS: render_page(tables)}
