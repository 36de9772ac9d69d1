"""Lines of text laid out by rich: wrapped in terminal cells, in columns, styled on request.

Cells are handed over as ``Text``, never as ``str``: "[red]" in a name is then a name, not markup.
"""

import io
import re
from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

GAP = 2
# Blanks at the end of a line, with the codes among them: rich fills every cell of the last column.
_TRAILING = re.compile(r"(?: |\x1b\[[\d;]*m)+$", re.MULTILINE)
# Where sentences and names are best cut, and where else: never inside a word.
_SENTENCE_CUTS = (r" ", r":", r"[/_,;|·.-]")
_NAME_CUTS = (r":", r" ", r"[/_,;|·.-]")
_UNLIMITED = 1_000_000  # cells; a table without a limit keeps its natural width


def render_lines(
    parts: Sequence[RenderableType], *, width: int = _UNLIMITED, color: bool = False
) -> list[str]:
    """Lay out texts and tables below each other.

    Parameters
    ----------
    parts : sequence of renderables
        Texts that are safe to print, and tables of such texts.
    width : int
        Terminal cells that a line may take.
    color : bool
        Whether styles become terminal codes; what the environment says of colours is the caller's.

    Returns
    -------
    list of str
        Lines without blanks at their ends.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        legacy_windows=False,
    )
    # Captured, since the caller may want a string, a file or a stream that cannot encode it all.
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    text = _TRAILING.sub(lambda blanks: blanks[0].replace(" ", ""), capture.get())
    return text.removesuffix("\n").split("\n")


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
    grid = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    for position in range(len(rows[0])):
        grid.add_column(justify="right" if position in right else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*map(Text, row))
    return render_lines([grid])


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
    while cell_len(text) > (room := width - (indent if lines else 0)):
        end = _cut(text, room, _NAME_CUTS if indent else _SENTENCE_CUTS)
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return ("\n" + " " * indent).join([*lines, text])


def _cut(text: str, room: int, cuts: Sequence[str]) -> int:
    """Return where a line ends: behind the first of `cuts` that it has, else anywhere."""
    fits = min(len(text), 2 * room)  # some characters have no width
    while fits > 1 and cell_len(text[:fits]) > room:
        fits -= 1
    for marks in cuts:
        # A blank may stand one cell beyond the line, which ends before it.
        reach = text[: fits + 1] if marks == " " else text[:fits]
        ends = [found.end() for found in re.finditer(marks, reach)]
        if ends and text[: ends[-1]].strip():
            return ends[-1]
    return fits
