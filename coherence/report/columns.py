"""Text tables: columns as wide as their widest cell, in terminal cells."""

import unicodedata
from collections.abc import Collection, Sequence

GAP = 2


def cells(text: str) -> int:
    """Count terminal cells: East Asian wide characters take two, combining marks none."""
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def pad(text: str, width: int, right: bool = False) -> str:
    """Fill a text with blanks up to a width, on its left if `right`."""
    fill = " " * max(0, width - cells(text))
    return fill + text if right else text + fill


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    r"""Return the lines of a table.

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
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        (" " * GAP).join(pad(cell, widths[at], at in right) for at, cell in enumerate(row)).rstrip()
        for row in rows
    ]
