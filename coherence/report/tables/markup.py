r"""Tables as Markdown, LaTeX and CSV, with every special character of untrusted text escaped.

LaTeX needs the packages booktabs and graphicx. Engines differ in the letters that they know: beyond
Latin ones a character is written as its number, such as [U+4E2D], and the CSV file has it itself.
"""

import csv
import re
import unicodedata
from collections.abc import Callable

import pandas as pd

from coherence.report.tables.cells import PaperTable
from coherence.report.wording import clean
from coherence.table.printable import spreadsheet_safe

# Brackets are left alone but where they would make a link: escaped, some renderers take them for
# formulas.
_MARKDOWN = re.compile(r"([\\`*_|~$])")
_LINK = re.compile(r"\](?=[(\[:])")
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")  # of a number, which is longer than a hyphen
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LATEX = {
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
    return _LINK.sub("&#93;", re.sub("[&<>]", lambda mark: _HTML[mark[0]], safe))


def escape_latex(text: object) -> str:
    r"""Return text that LaTeX sets as it is."""
    plain = _MINUS.sub("−", unicodedata.normalize("NFC", clean(text)))
    return "".join(map(_latex_mark, plain))


def _latex_mark(mark: str) -> str:
    if mark in _LATEX:
        return _LATEX[mark]
    if mark.isascii() or (ord(mark) in _LATIN and mark.isalpha()):
        return mark
    return f"[U+{ord(mark):04X}]"


def render_markdown(table: PaperTable) -> str:
    """Return a table as Markdown: heading, cells, caption, footnotes."""
    shown = _shown(table, escape_markdown, "<sup>{}</sup>")
    shown.columns = pd.Index([": ".join(filter(None, names)) for names in shown.columns])
    sides = ["right" if column.number else "left" for column in table.columns]
    cells = shown.to_markdown(index=False, tablefmt="pipe", colalign=sides, disable_numparse=True)
    notes = [f"<sup>{mark}</sup> {escape_markdown(text)}" for text, mark in table.notes.items()]
    heading = f"**{escape_markdown(table.heading)}**"
    return "\n\n".join([heading, cells, escape_markdown(table.caption), *notes]) + "\n"


def render_latex(table: PaperTable) -> str:
    r"""Return a table as a LaTeX float with the rules of booktabs, no wider than the text."""
    shown = _shown(table, escape_latex, r"\textsuperscript{{{}}}")
    groups, headings = zip(*shown.columns, strict=True)
    headings = (f"{{}}{headings[0]}", *headings[1:])
    grouped = any(groups)
    shown.columns = pd.MultiIndex.from_arrays([groups, headings]) if grouped else pd.Index(headings)
    # A bracket at the start of a row would be read as an argument of what ends the line above it.
    shown.iloc[:, 0] = "{}" + shown.iloc[:, 0]
    sides = "".join("r" if column.number else "l" for column in table.columns)
    tabular = shown.style.hide(axis="index").to_latex(
        hrules=True, column_format=sides, multicol_align="c"
    )
    lines = tabular.rstrip().splitlines()
    if table.n_last:
        lines.insert(-2 - table.n_last, r"\midrule")
    if grouped:
        lines.insert(3, " ".join(_rules(table)))
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


def _shown(table: PaperTable, escape: Callable[[object], str], mark: str) -> pd.DataFrame:
    """Return the escaped texts of all cells under their groups and headings."""
    notes = table.notes
    cells = [
        [escape(cell.text) + (mark.format(notes[cell.note]) if cell.note else "") for cell in row]
        for row in table.rows
    ]
    names = [(escape(column.group), escape(column.heading)) for column in table.columns]
    return pd.DataFrame(cells, columns=pd.MultiIndex.from_tuples(names), dtype=object)


def _rules(table: PaperTable) -> list[str]:
    """Return the rules under the groups of neighbouring columns."""
    rules, first = [], 1
    for group, width in table.groups:
        if group:
            rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    return rules


def render_csv(table: PaperTable) -> str:
    """Return a table as unrounded CSV; texts that a spreadsheet would run follow a quote."""
    names: dict[str, None] = {}
    records = []
    for row in table.rows:
        record = {}
        for column, cell in zip(table.columns, row, strict=True):
            for name, value in cell.values.items():
                record[column.key + (f".{name}" if name else "")] = value
            if cell.note and cell.is_reason and column.key:
                record[f"{column.key}.why"] = cell.note
        records.append(record)
    # In the order of the columns, whichever row has a value first.
    for column in filter(lambda column: column.key, table.columns):
        own = [name for record in records for name in record]
        names |= dict.fromkeys(
            name for name in own if name == column.key or name.startswith(f"{column.key}.")
        )
    frame = pd.DataFrame(records, columns=list(names), dtype=object).map(spreadsheet_safe)
    return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
