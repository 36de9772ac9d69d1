r"""A report as files: pages with those that they link to, figures, and tables for documents.

Of many evaluations each has a page of its own. Texts of tables are rounded as on the page; CSV
files hold the numbers unrounded.

Rendering escapes every special character of untrusted texts. LaTeX needs the packages booktabs and
graphicx. Engines differ in the letters that they know: beyond Latin ones a character is written as
its number, such as [U+4E2D], and the CSV file has it itself.
"""

import csv
import html
import io
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.printable import spreadsheet_safe
from coherence.report.document import FigureFile, Table
from coherence.report.effects import verdict_table
from coherence.report.evaluation import FEW, EvaluationReport, evaluation_key
from coherence.report.findings import answers_table, results_table, screen_table
from coherence.report.scores import forecast_table, forecasts_alone
from coherence.report.wording import clean, evaluation_heading
from coherence.runs.files import replace_text

INDEX, DOCUMENT = "paper.md", "paper.tex"
_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[landscape,margin=2cm]{geometry}
\usepackage{textcomp,booktabs,graphicx}
\begin{document}
"""
# Brackets are left alone but where they would make a link: escaped, some renderers take them for
# formulas.
_MARKDOWN = re.compile(r"([\\`*_|~$])")
_LINK = re.compile(r"\](?=[(\[:])")
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")  # of a number, which is longer than a hyphen
_LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": r"{-}",  # two of them would become a dash, and "?`" another letter
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "✗": r"$\times$",
    "●": r"$\bullet$",
    "○": r"$\circ$",
    "✓": r"$\surd$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "θ": r"$\theta$",
    "²": r"$^2$",
}
_LATIN = range(0xA1, 0x180)


def escape_markdown(text: object) -> str:
    r"""Return text that Markdown shows as it is, in a cell of a table too."""
    safe = _MARKDOWN.sub(r"\\\1", clean(text))
    return _LINK.sub("&#93;", html.escape(safe, quote=False))


def escape_latex(text: object) -> str:
    r"""Return text that LaTeX sets as it is."""
    plain = _MINUS.sub("−", unicodedata.normalize("NFC", clean(text)))
    marks = plain.translate(str.maketrans(_LATEX))
    known = [mark.isascii() or (ord(mark) in _LATIN and mark.isalpha()) for mark in marks]
    return "".join(m if of else f"[U+{ord(m):04X}]" for m, of in zip(marks, known, strict=True))


def render_markdown(table: Table) -> str:
    """Return a table as Markdown: heading, cells, caption, footnotes."""
    heading = f"**{escape_markdown(table.heading)}**"
    return f"{heading}\n\n{render_cells(table)}"


def render_cells(table: Table) -> str:
    """Return a table as Markdown without its heading: cells, caption, footnotes."""
    shown = _shown(table, escape_markdown, "<sup>{}</sup>", "**{}**")
    shown.columns = pd.Index([": ".join(filter(None, names)) for names in shown.columns])
    sides = ["right" if column.is_number else "left" for column in table.columns]
    cells = shown.to_markdown(index=False, tablefmt="pipe", colalign=sides, disable_numparse=True)
    notes = [f"<sup>{mark}</sup> {escape_markdown(text)}" for text, mark in table.notes.items()]
    return "\n\n".join(filter(None, [cells, escape_markdown(table.caption), *notes])) + "\n"


def render_latex(table: Table) -> str:
    r"""Return a table as a LaTeX float with the rules of booktabs, no wider than the text."""
    shown = _shown(table, escape_latex, r"\textsuperscript{{{}}}", r"\textbf{{{}}}")
    groups, headings = zip(*shown.columns, strict=True)
    headings = (f"{{}}{headings[0]}", *headings[1:])
    grouped = any(groups)
    shown.columns = pd.MultiIndex.from_arrays([groups, headings]) if grouped else pd.Index(headings)
    # A bracket at the start of a row would be read as an argument of what ends the line above it.
    shown.iloc[:, 0] = "{}" + shown.iloc[:, 0]
    sides = "".join("r" if column.is_number else "l" for column in table.columns)
    tabular = shown.style.hide(axis="index").to_latex(
        hrules=True, column_format=sides, multicol_align="c"
    )
    lines = tabular.rstrip().splitlines()
    if table.n_last:
        lines.insert(-2 - table.n_last, r"\midrule")
    if grouped:
        ends = [*accumulate(width for _, width in table.groups)]
        rules = [
            rf"\cmidrule(lr){{{end - width + 1}-{end}}}"
            for (group, width), end in zip(table.groups, ends, strict=True)
            if group
        ]
        lines.insert(3, " ".join(rules))
    notes = [
        rf"\par\smallskip{{\footnotesize\raggedright \textsuperscript{{{mark}}} "
        rf"{escape_latex(text)}\par}}"
        for text, mark in table.notes.items()
    ]
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs,graphicx}; \usepackage[T1]{fontenc}, "
            r"\usepackage{textcomp}.",
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{\textbf{{{escape_latex(table.title)}.}} {escape_latex(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\par\medskip",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            *lines[:-1],
            f"{lines[-1]}}}",
            *notes,
            r"\end{table}",
            "",
        ]
    )


def _shown(table: Table, escape: Callable[[object], str], mark: str, bold: str) -> pd.DataFrame:
    """Return the escaped texts of all cells under their groups and headings."""
    notes, cells = table.notes, []
    for number, row in enumerate(table.rows):
        if part := table.parts.get(number):
            cells.append([bold.format(escape(part)), *[""] * (len(row) - 1)])
        marks = [mark.format(notes[cell.note]) if cell.note else "" for cell in row]
        cells.append([escape(cell.text) + of for cell, of in zip(row, marks, strict=True)])
    names = [(escape(column.group), escape(column.title)) for column in table.columns]
    return pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(names), dtype=object)


def render_csv(table: Table) -> str:
    """Return a table as unrounded CSV; texts that a spreadsheet would run follow a quote."""
    names: dict[str, None] = {}
    records: list[dict[str, object]] = [{} for _ in table.rows]
    for at, column in enumerate(table.columns):
        if not column.name:  # it shows anew what others hold
            continue
        for record, row in zip(records, table.rows, strict=True):
            cell = row[at]
            values = dict(cell.values)
            if cell.note and cell.is_reason:
                values["why"] = cell.note
            named = {".".join(filter(None, [column.name, name])): values[name] for name in values}
            named.pop("", None)
            record |= named
            names |= dict.fromkeys(named)
    frame = pd.DataFrame(records, columns=list(names), dtype=object).map(spreadsheet_safe)
    return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def write_document(
    folder: str | os.PathLike[str],
    title: str,
    tables: Sequence[Table],
    figures: Sequence[FigureFile] = (),
) -> list[Path]:
    """Write tables as Markdown, LaTeX and CSV, and the indexes of tables and figures."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    texts = {INDEX: _index(title, tables, figures), DOCUMENT: _document(title, tables, figures)}
    texts |= render_all(tables)
    drawn = [
        f"{figure.name}.{ending}" for figure in figures if figure.name for ending in ("svg", "pdf")
    ]
    for name, text in texts.items():
        replace_text(home / name, text)
    return [home / name for name in (*texts, *drawn)]


def render_all(tables: Iterable[Table]) -> dict[str, str]:
    """Return the files of tables, each as Markdown, LaTeX and CSV: name -> text."""
    renderers = {"md": render_markdown, "tex": render_latex, "csv": render_csv}
    return {
        f"{table.name}.{ending}": render(table)
        for table in tables
        for ending, render in renderers.items()
    }


def render_page(tables: Iterable[Table]) -> str:
    """Return one page of Markdown that shows tables and links to their files."""
    links = "[{0}.tex]({0}.tex), [{0}.csv]({0}.csv)"
    return "\n".join(f"{render_markdown(table)}\n{links.format(table.name)}\n" for table in tables)


def _index(title: str, tables: Sequence[Table], figures: Sequence[FigureFile]) -> str:
    parts = [f"# {escape_markdown(title)}\n", *([render_page(tables)] if tables else [])]
    for figure in figures:
        shown, heading = "", f"{figure.label}: {figure.title}"
        if figure.name:
            # The picture's own text for those who do not see it is its title; the caption follows.
            shown = f"![{escape_markdown(heading)}]({figure.name}.svg)\n\n"
        parts.append(
            f"**{escape_markdown(heading)}**\n\n{shown}{escape_markdown(figure.caption)}\n"
        )
    return "\n".join(parts)


def _document(title: str, tables: Sequence[Table], figures: Sequence[FigureFile]) -> str:
    parts = [_PREAMBLE, rf"\section*{{{escape_latex(title)}}}"]
    # A float beyond those that TeX holds back at a time is an error.
    parts += [rf"\input{{{table.name}}}\clearpage" for table in tables]
    for figure in figures:
        caption = rf"\textbf{{{escape_latex(figure.title)}.}} {escape_latex(figure.caption)}"
        if figure.name:
            fit = r"width=\linewidth,height=.8\textheight,keepaspectratio"
            parts.append(
                "\\begin{figure}[htbp]\n  \\centering\n"
                f"  \\includegraphics[{fit}]{{{figure.name}.pdf}}\n"
                f"  \\caption{{{caption}}}\n\\end{{figure}}\\clearpage"
            )
        else:
            parts.append(rf"\par {caption}")
    return "\n".join([*parts, r"\end{document}", ""])


REPORT, FIGURES, TABLES = "report.html", "figures.csv", "tables.md"
"""What stands in every folder: the page, and the tables of contents of figures and tables."""
ENDINGS = ("svg", "pdf", "png")
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
    from coherence.report.answers import answer_pages
    from coherence.report.page import render_html

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
    from coherence.plots.style import save_plot  # draws, which tables do not
    from coherence.report.figures import all_figures

    written, text = [], io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "task", "model", "title", "caption"])
    for evaluation, figure in all_figures(evaluations):
        for ending in ENDINGS:
            name = f"{figure.key}.{ending}"
            save_plot(figure.draw, folder / name, size=figure.size, salt=figure.key)
            written.append(name)
        of_evaluation = (
            ("", "") if evaluation is None else (clean(evaluation.task), clean(evaluation.model))
        )
        cells = [figure.key, *of_evaluation, figure.title, figure.caption]
        table.writerow(map(spreadsheet_safe, cells))
    (folder / FIGURES).write_text(text.getvalue(), encoding="utf-8")
    return [*written, FIGURES]


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
