"""Tables and figures in a folder: a file of each kind for every table, and two indexes of them all.

``paper.md`` shows tables and figures with their captions, ``paper.tex`` is a document that LaTeX
sets as it stands.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coherence.report.tables.cells import PaperTable
from coherence.report.tables.markup import (
    escape_latex,
    escape_markdown,
    render_csv,
    render_latex,
    render_markdown,
)
from coherence.table.files import replace_text

INDEX, DOCUMENT = "paper.md", "paper.tex"
_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[landscape,margin=2cm]{geometry}
\usepackage{textcomp,booktabs,graphicx}
\begin{document}
"""


@dataclass(frozen=True)
class PaperFigure:
    """A figure that was written, or a sentence on why it was not."""

    name: str  # of its files, without their ending; empty where there is none
    label: str  # its number in the paper, such as "Figure 1"
    # title, caption: what it shows, and what each mark is
    title: str
    caption: str


def write_document(
    folder: str | os.PathLike[str],
    title: str,
    tables: Sequence[PaperTable],
    figures: Sequence[PaperFigure] = (),
) -> list[Path]:
    """Write tables as Markdown, LaTeX and CSV, and the indexes of tables and figures."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    texts = {INDEX: _index(title, tables, figures), DOCUMENT: _document(title, tables, figures)}
    for table in tables:
        texts |= {
            f"{table.name}.md": render_markdown(table),
            f"{table.name}.tex": render_latex(table),
            f"{table.name}.csv": render_csv(table),
        }
    drawn = [f"{figure.name}.{ending}" for figure in figures if figure.name for ending in _DRAWN]
    for name, text in texts.items():
        replace_text(home / name, text)
    return [home / name for name in (*texts, *drawn)]


_DRAWN = ("svg", "pdf")


def _index(title: str, tables: Sequence[PaperTable], figures: Sequence[PaperFigure]) -> str:
    parts = [f"# {escape_markdown(title)}\n"]
    for table in tables:
        files = ", ".join(f"[{table.name}.{end}]({table.name}.{end})" for end in ("tex", "csv"))
        parts.append(f"{render_markdown(table)}\n{files}\n")
    for figure in figures:
        shown, heading = "", f"{figure.label}: {figure.title}"
        if figure.name:
            # The picture's own text for those who do not see it is its title; the caption follows.
            shown = f"![{escape_markdown(heading)}]({figure.name}.svg)\n\n"
        parts.append(
            f"**{escape_markdown(heading)}**\n\n{shown}{escape_markdown(figure.caption)}\n"
        )
    return "\n".join(parts)


def _document(title: str, tables: Sequence[PaperTable], figures: Sequence[PaperFigure]) -> str:
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
