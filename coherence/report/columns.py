"""Lines of text laid out by rich: wrapped in terminal cells, in columns, styled on request.

Cells are handed over as ``Text``, never as ``str``: "[red]" in a name is then a name, not markup.
"""

import io
import re
from collections.abc import Collection, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

GAP = 2
# Blanks at the end of a line, with the codes among them: rich fills every cell of the last column.
_TRAILING = re.compile(r"(?: |\x1b\[[\d;]*m)+$", re.MULTILINE)
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
