r"""Tables as Markdown, LaTeX and CSV, with every special character of untrusted text escaped.

LaTeX needs the packages booktabs and graphicx. Engines differ in the letters that they know: beyond
Latin ones a character is written as its number, such as [U+4E2D], and the CSV file has it itself.
"""

import csv
import io
import math
import re
import unicodedata

from coherence.report.tables.cells import PaperTable
from coherence.report.wording import clean

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
    r"""Return text that Markdown shows as it is, in a cell of a table too.

    Parameters
    ----------
    text : object
        Untrusted; line breaks, terminal commands and direction overrides are taken out.

    Returns
    -------
    str
        On one line.

    Examples
    --------
    >>> print(escape_markdown("a|b <i>*x*</i>"))
    a\|b &lt;i&gt;\*x\*&lt;/i&gt;
    """
    safe = _MARKDOWN.sub(r"\\\1", clean(text))
    return _LINK.sub("&#93;", re.sub("[&<>]", lambda mark: _HTML[mark[0]], safe))


def escape_latex(text: object) -> str:
    r"""Return text that LaTeX sets as it is.

    Parameters
    ----------
    text : object
        Untrusted; line breaks, terminal commands and direction overrides are taken out.

    Returns
    -------
    str
        On one line, in ASCII and Latin letters.

    Examples
    --------
    >>> print(escape_latex("50% of $x_1$ & \\input{y}"))
    50\% of \$x\_1\$ \& \textbackslash{}input\{y\}
    """
    plain = _MINUS.sub("−", unicodedata.normalize("NFC", clean(text)))
    return "".join(map(_latex_mark, plain))


def _latex_mark(mark: str) -> str:
    if mark in _LATEX:
        return _LATEX[mark]
    if mark.isascii() or (ord(mark) in _LATIN and mark.isalpha()):
        return mark
    return f"[U+{ord(mark):04X}]"


def render_markdown(table: PaperTable) -> str:
    """Return a table as Markdown: heading, cells, caption, footnotes.

    Parameters
    ----------
    table : PaperTable
        Any table.

    Returns
    -------
    str
        Lines, with a line break at the end.
    """
    notes = table.notes
    headings = [
        ": ".join(filter(None, (escape_markdown(column.group), escape_markdown(column.heading))))
        for column in table.columns
    ]
    lines = [
        f"**{escape_markdown(table.heading)}**",
        "",
        f"| {' | '.join(headings)} |",
        f"|{'|'.join('---:' if column.number else '---' for column in table.columns)}|",
    ]
    for row in table.rows:
        cells = [
            escape_markdown(cell.text) + (f"<sup>{notes[cell.note]}</sup>" if cell.note else "")
            for cell in row
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", escape_markdown(table.caption)]
    for text, mark in notes.items():
        lines += ["", f"<sup>{mark}</sup> {escape_markdown(text)}"]
    return "\n".join(lines) + "\n"


def render_latex(table: PaperTable) -> str:
    r"""Return a table as a LaTeX float with the rules of booktabs, no wider than the text.

    Parameters
    ----------
    table : PaperTable
        Any table.

    Returns
    -------
    str
        From ``\begin{table}`` to ``\end{table}``, with a line break at the end.
    """
    notes = table.notes
    body = [r"    \toprule", *_heading(table)]
    for number, row in enumerate(table.rows):
        if table.n_last and number == len(table.rows) - table.n_last:
            body.append(r"    \midrule")
        cells = [
            escape_latex(cell.text)
            + (rf"\textsuperscript{{{notes[cell.note]}}}" if cell.note else "")
            for cell in row
        ]
        # A bracket at the start of a row would be read as an argument of the line break above it.
        body.append(f"    {{}}{' & '.join(cells)} \\\\")
    alignment = "".join("r" if column.number else "l" for column in table.columns)
    lines = [
        r"% Needs \usepackage{booktabs,graphicx}; \usepackage[T1]{fontenc}, \usepackage{textcomp}.",
        r"\begin{table}[htbp]",
        r"  \centering",
        rf"  \caption{{\textbf{{{escape_latex(table.title)}.}} {escape_latex(table.caption)}}}",
        rf"  \label{{tab:{table.name}}}",
        r"  \par\medskip",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{alignment}}}",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}}",
    ]
    for text, mark in notes.items():
        footnote = rf"\textsuperscript{{{mark}}} {escape_latex(text)}"
        lines.append(rf"  \par\smallskip{{\footnotesize\raggedright {footnote}\par}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _heading(table: PaperTable) -> list[str]:
    """Return the lines above the cells: groups with rules under them, headings, a rule."""
    lines, first = [], 1
    if any(group for group, _ in table.groups):
        spans, rules = [], []
        for group, width in table.groups:
            spans.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(group)}}}")
            if group:
                rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
            first += width
        lines += [f"    {' & '.join(spans)} \\\\", f"    {' '.join(rules)}"]
    headings = " & ".join(escape_latex(column.heading) for column in table.columns)
    return [*lines, f"    {{}}{headings} \\\\", r"    \midrule"]


def render_csv(table: PaperTable) -> str:
    """Return a table as CSV, unrounded, names and reasons as they came.

    Parameters
    ----------
    table : PaperTable
        Any table.

    Returns
    -------
    str
        Lines; what is undefined or was not run is empty, and a column ``<key>.why`` says why.
    """
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
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(names)
    writer.writerows([_exact(record.get(name)) for name in names] for record in records)
    return stream.getvalue()


def _exact(value: object) -> object:
    # The csv module writes a float with all its digits.
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return value
