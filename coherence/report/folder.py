"""A report as files of a folder: pages with those that they link to, figures and tables.

Of many evaluations each has a page of its own. Texts of tables are rounded as on the page; CSV
files hold the numbers unrounded.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coherence.plots.style import save_plot
from coherence.printable import spreadsheet_safe
from coherence.report.answer_links import AnswerLinks
from coherence.report.answers import answer_pages, moves
from coherence.report.document import Table, build_table
from coherence.report.evaluation import EvaluationReport
from coherence.report.figures import all_figures
from coherence.report.files import render_all, render_page
from coherence.report.html import evaluation_page_name, render_evaluation_page, render_html
from coherence.report.pooling import FEW, evaluation_key
from coherence.report.scores import forecast_table, forecasts_alone
from coherence.report.view import CHECK, CONTEXTS, EFFECT, HOLM, PVALUE, ROWS, interval_column, view
from coherence.report.wording import clean

REPORT, FIGURES, TABLES = "report.html", "figures.csv", "tables.md"
"""What stands in every folder: the page, and the tables of contents of figures and tables."""
ENDINGS = ("svg", "pdf", "png")
MOST_LETTERS = 60  # of task and model in the name of a file
OURS = {
    FIGURES: r"(evaluation-[0-9]+-[a-z0-9-]+|forest-[0-9]+)\.(svg|pdf|png)",
    TABLES: r"(results|answers|scores)-[0-9]+\.(md|tex|csv)",
}
"""Table of contents -> names of all files that are written beside it."""
SUBFOLDERS = {
    "evaluations": r"evaluation-[0-9]+\.html",
    "answers": r"evaluation-[0-9]+(-page-[0-9]+)?\.html",
}
"""Folders that a report writes beside its page, and the names of all files that it writes there."""
_CAPTION = (
    "Effects with 95% intervals over cases, p-values of single tests, those of further tests also "
    "adjusted by Holm within model and task; without a p-value a line is an estimate."
)


def report_files(
    evaluations: Sequence[EvaluationReport],
    settings: Mapping[str, Any],
    *,
    most_answers: int,
) -> Iterator[tuple[str, str]]:
    """Render all files of a report, the page that links to the others last."""
    many = len(evaluations) > FEW
    split = many and not forecasts_alone(evaluations)
    links: dict[str, AnswerLinks] = {}
    for number, evaluation in enumerate(evaluations, start=1):
        key = evaluation_key(number)
        if most_answers and len(evaluation.rows) and split >= many:
            contexts = evaluation.rows.table["context"].drop_duplicates().tolist()
            base = "../answers/" if split else "answers/"
            links[key] = AnswerLinks(
                key, contexts, most=most_answers, moves=moves(evaluation), base=base
            )
        if split:
            # Drawing an evaluation's figures tells which groups are linked to.
            yield evaluation_page_name(key), render_evaluation_page(evaluation, key, links.get(key))
    page = render_html(evaluations, settings, links=links, split=split)
    for number, evaluation in enumerate(evaluations, start=1):
        key = evaluation_key(number)
        back = f"../{evaluation_page_name(key)}" if split else f"../{REPORT}#{key}"
        if key in links:
            for name, text in answer_pages(evaluation, links[key], back=back):
                yield f"answers/{name}", text
    yield REPORT, page


def write_figures(evaluations: Sequence[EvaluationReport], folder: Path) -> list[str]:
    """Write every figure in every format, and a table that says what each shows."""
    written, text = [], io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "task", "model", "title", "caption"])
    for evaluation, figure in all_figures(evaluations):
        stem = figure.key
        if evaluation is not None and len(evaluations) > 1:
            stem = _named_key(figure.key, evaluation)
        for ending in ENDINGS:
            name = f"{stem}.{ending}"
            save_plot(figure.draw, folder / name, size=figure.size, salt=figure.key)
            written.append(name)
        of_evaluation = (
            ("", "") if evaluation is None else (clean(evaluation.task), clean(evaluation.model))
        )
        cells = [stem, *of_evaluation, figure.title, figure.caption]
        table.writerow(map(spreadsheet_safe, cells))
    (folder / FIGURES).write_text(text.getvalue(), encoding="utf-8")
    return [*written, FIGURES]


def _named_key(key: str, evaluation: EvaluationReport) -> str:
    """Put task and model into the name of a figure's files, as far as any file system has them."""
    of, number, what = key.split("-", 2)
    plain = re.sub(r"[^a-z0-9]+", "-", f"{evaluation.task} {evaluation.model}".lower())
    return "-".join(filter(None, [of, number, plain.strip("-")[:MOST_LETTERS].strip("-"), what]))


def table_files(evaluations: Sequence[EvaluationReport]) -> dict[str, str]:
    """Render every table of a report in every form, and one page that shows them all."""
    scores = forecast_table(evaluations)
    tables = [*([] if scores is None else [scores]), *result_tables(evaluations)]
    return render_all(tables) | {TABLES: render_page(tables)}


def result_tables(evaluations: Sequence[EvaluationReport]) -> list[Table]:
    """Lay out the tables of a report."""
    tables = []
    for number, evaluation in enumerate(evaluations, start=1):
        said = view(evaluation)
        columns = [CHECK, EFFECT, interval_column(said.interval), PVALUE, HOLM, CONTEXTS, ROWS]
        results = build_table(said.rows, columns, caption=_CAPTION)
        about = [
            ("results", f"Table {number}", f"Results of {said.heading}", results),
            (
                "answers",
                f"Table {number}b",
                f"What became of the answers of {said.heading}",
                replace(said.answers, caption="Unparsed answers are counted and enter no result."),
            ),
        ]
        tables += [
            replace(table, name=f"{name}-{number}", label=label, title=title)
            for name, label, title, table in about
            if table.rows or name == "results"
        ]
    return tables
