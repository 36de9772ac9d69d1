"""What a job of GitHub Actions shows of a command: Markdown behind `$GITHUB_STEP_SUMMARY`.

Names and labels come from files and model output: every text is escaped.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coherence.analysis.comparison.result import Comparison
    from coherence.report.report import Report

FILE = "GITHUB_STEP_SUMMARY"
"""Variable of the environment that names the file to append to."""


def append_summary(write: Callable[[], str]) -> None:
    """Append what is written to the file that the environment names, if it names one."""
    name = os.environ.get(FILE)
    if not name:
        return
    try:
        with open(name, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{write()}\n\n")
    except OSError as error:
        print(f"warning: {FILE} was not written ({error.strerror}: {name})", file=sys.stderr)


def of_report(report: "Report") -> str:
    """Return the verdict of every model on a task in a sentence, and the short table."""
    from coherence.report.document import table_of_texts
    from coherence.report.files import escape_markdown, render_cells
    from coherence.report.screen import headline, short_table
    from coherence.report.view import view

    said, names = [], []
    for evaluation in report.evaluations:
        about = headline(evaluation, view(evaluation))
        name, text = (escape_markdown(t) for t in (about.heading, f"{about.mark} {about.verdict}"))
        said.append(f"- **{name}** {text}")
        said += [f"  - {escape_markdown(alert)}" for alert in about.alerts]
        names.append(about.heading)
    parts = ["### Coherence", "\n".join(said)]
    if rows := short_table(report.evaluations).rows:
        # A model a row, however many there are.
        headings, *texts = zip(*([cell.text for cell in row] for row in rows), strict=True)
        lines = [[name, *cells] for name, cells in zip(names, texts, strict=True)]
        parts.append(render_cells(table_of_texts(["", *headings], lines)))
    return "\n\n".join(parts)


def of_comparison(result: "Comparison") -> str:
    """Return how many models can be told apart, their estimates with ranks, and the notes."""
    from coherence.analysis.comparison.result import TITLE
    from coherence.report.files import escape_markdown, render_cells

    tables = [
        part
        for table in result.tables()
        for part in (f"**{escape_markdown(table.title)}**", render_cells(table))
    ]
    notes = "\n".join(f"- {escape_markdown(note)}" for note in result.notes)
    return "\n\n".join([f"### {TITLE}", escape_markdown(result.summary), *tables, notes])
