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
from coherence.report.answers import answer_pages
from coherence.report.effects import verdict_table
from coherence.report.evaluation import FEW, EvaluationReport, evaluation_key
from coherence.report.figures import all_figures
from coherence.report.files import render_all, render_page
from coherence.report.findings import answers_table, results_table, screen_table
from coherence.report.page import render_html
from coherence.report.scores import forecast_table, forecasts_alone
from coherence.report.wording import clean, evaluation_heading

REPORT, FIGURES, TABLES = "report.html", "figures.csv", "tables.md"
"""What stands in every folder: the page, and the tables of contents of figures and tables."""
ENDINGS = ("svg", "pdf", "png")
MOST_LETTERS = 60  # of task and model in the name of a file
OURS = {
    FIGURES: r"(evaluation-[0-9]+-[a-z0-9-]+|forest-[0-9]+)\.(svg|pdf|png)",
    TABLES: r"(verdicts|(results|answers|scores)-[0-9]+)\.(md|tex|csv)",
}
"""Table of contents -> names of all files that are written beside it."""
SUBFOLDERS = {
    "evaluations": r"evaluation-[0-9]+\.html",
    "answers": r"evaluation-[0-9]+(-page-[0-9]+)?\.html",
}
"""Folders that a report writes beside its page, and the names of all files that it writes there."""


def report_files(
    evaluations: Sequence[EvaluationReport],
    settings: Mapping[str, Any],
    *,
    most_answers: int,
) -> Iterator[tuple[str, str]]:
    """Render all files of a report, the page that links to the others last."""
    many = len(evaluations) > FEW
    split = many and not forecasts_alone(evaluations)
    answers, pages = {}, {}
    for number, evaluation in enumerate(evaluations, start=1):
        key = evaluation_key(number)
        back = f"../{REPORT}#{key}"
        if split:
            pages[key] = f"evaluations/{key}.html"
            back = f"../{pages[key]}"
        if most_answers and len(evaluation.rows) and split >= many:
            answers[key] = f"answers/{key}.html"
            for name, text in answer_pages(evaluation, key, most=most_answers, back=back):
                yield f"answers/{name}", text
        if split:
            title = f"{evaluation_heading(evaluation)} – belief coherence report"
            places = {"answers": {evaluation_key(1): f"../{answers[key]}"} if answers else {}}
            back = f"../{REPORT}"
            yield pages[key], render_html([evaluation], None, title=title, back=back, **places)
    yield REPORT, render_html(evaluations, settings, answers=answers, pages=pages)


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
    tables = [] if scores is None else [scores]
    if (screen := screen_table(evaluations)).rows:
        tables.append(replace(screen, label="Table 0"))
    for number, evaluation in enumerate(evaluations, start=1):
        of = evaluation_heading(evaluation)
        results = results_table(evaluation)
        tables.append(replace(results, name=f"results-{number}", label=f"Table {number}"))
        if (answers := answers_table(evaluation)).rows:
            title = f"What became of the answers of {of}"
            answers = replace(answers, name=f"answers-{number}", title=title)
            tables.append(replace(answers, label=f"Table {number}b"))
    verdicts = verdict_table(evaluations).map(spreadsheet_safe).to_csv(index=False)
    of_screen = {"verdicts.csv": verdicts} if screen.rows else {}
    return render_all(tables) | of_screen | {TABLES: render_page(tables)}
