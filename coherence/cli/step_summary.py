"""What a job of GitHub Actions shows of a command: Markdown behind `$GITHUB_STEP_SUMMARY`.

Names and labels come from files and model output: every text is escaped.
"""

import os
import sys
from collections.abc import Callable, Sequence
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
    from coherence.report.screen import headline, short_table
    from coherence.report.tables import escape_markdown
    from coherence.report.view import view

    said = []
    for evaluation in report.evaluations:
        about = headline(evaluation, view(evaluation))
        name, text = (escape_markdown(t) for t in (about.heading, f"{about.mark} {about.verdict}"))
        said.append(f"- **{name}** {text}")
    names, rows = short_table(report.evaluations)
    # A model a row, however many there are.
    turned = [list(cells) for cells in zip(names, *(row[1:] for row in rows), strict=True)]
    table = _table(["", *(row[0] for row in rows)], turned if rows else [])
    return "\n\n".join(["### Coherence", "\n".join(said), *table])


def of_comparison(result: "Comparison") -> str:
    """Return how many models can be told apart, their estimates with ranks, and the notes."""
    from coherence.analysis.comparison.result import TITLE
    from coherence.report.tables import escape_markdown
    from coherence.report.wording import format_numbers
    from coherence.table.printable import span

    rows = []
    for row in result.estimates.to_dict("records"):
        value, low, high = format_numbers([row["estimate"], row["low"], row["high"]])
        interval = "" if row["low"] != row["low"] else f" [{low}, {high}]"
        ranked = row["rank_low"] is not None and row["rank_low"] == row["rank_low"]
        rank = f"{row['letters']} ({span(row['rank_low'], row['rank_high'])})"
        effect = f"{row['task']}: {row['effect']}" if row["task"] else row["effect"]
        cells = [effect, row["model"], f"{value}{interval}", rank if ranked else row["reason"]]
        rows.append(cells)
    parts = [f"### {TITLE}", escape_markdown(result.summary)]
    notes = "\n".join(f"- {escape_markdown(note)}" for note in result.notes)
    return "\n\n".join([*parts, *_table(["effect", "model", "estimate", "rank"], rows), notes])


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of escaped cells; nothing of no rows."""
    import pandas as pd

    from coherence.report.tables import escape_markdown

    if not rows:
        return []
    cells = [[escape_markdown(cell) for cell in row] for row in rows]
    table = pd.DataFrame(cells, columns=list(map(escape_markdown, headings)))
    return [table.to_markdown(index=False, tablefmt="pipe", disable_numparse=True)]
