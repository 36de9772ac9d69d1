"""Tables as wide as their widest cells, and names that are broken between their parts."""

import re
from collections.abc import Collection, Sequence

from coherence.report.layout import Row, cell_width, render_lines

# Where sentences and names are best cut, and where else: never inside a word.
_SENTENCE_CUTS = (r" ", r":", r"[/_,;|·.-]")
_NAME_CUTS = (r":", r" ", r"[/_,;|·.-]")


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    r"""Return the lines of a table whose columns are as wide as their widest cell.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells without line breaks; every row as long as the first.
    right : collection of int
        Columns that are set flush right, such as numbers.

    Returns
    -------
    list of str
        One line per row.

    Examples
    --------
    >>> print("\n".join(aligned([["status", "answers"], ["ok", "997"]], right=(1,))))
    status  answers
    ok          997
    """
    if not rows:
        return []
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    return render_lines([Row(row, widths, right=right) for row in rows])


def folded(text: str, width: int, *, indent: int = 0) -> str:
    """Break a text into lines between its words and the parts of its names.

    Parameters
    ----------
    text : str
        Names such as "monotone_choice:yes/no", or several with blanks between them.
    width : int
        Terminal cells that a line may take, more than `indent`.
    indent : int
        Blanks at the start of every line but the first: a name, cut behind its colon first.

    Returns
    -------
    str
        Lines; a word is cut only where it is longer than a line.

    Examples
    --------
    >>> print(folded("monotone_choice:yes/no", 20, indent=2))
    monotone_choice:
      yes/no
    """
    lines: list[str] = []
    while cell_width(text) > (room := width - (indent if lines else 0)):
        end = _cut(text, room, _NAME_CUTS if indent else _SENTENCE_CUTS)
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return ("\n" + " " * indent).join([*lines, text])


def _cut(text: str, room: int, cuts: Sequence[str]) -> int:
    """Return where a line ends: behind the first of `cuts` that it has, else anywhere."""
    fits = min(len(text), 2 * room)  # some characters have no width
    while fits > 1 and cell_width(text[:fits]) > room:
        fits -= 1
    for marks in cuts:
        # A blank may stand one cell beyond the line, which ends before it.
        reach = text[: fits + 1] if marks == " " else text[:fits]
        ends = [found.end() for found in re.finditer(marks, reach)]
        if ends and text[: ends[-1]].strip():
            return ends[-1]
    return fits
