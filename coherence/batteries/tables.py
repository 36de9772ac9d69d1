"""Tables of scores: a column says once how its cells are made of a row, for every way of showing.

The same table is printed on a terminal and written as Markdown, LaTeX and unrounded CSV, see
`coherence.report.tables`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coherence.report.columns import aligned
from coherence.report.tables import Cell, Column, PaperTable, number_cell, text_cell
from coherence.report.wording import clean, format_pvalue

Row = Mapping[Any, Any]
MISSING = "–"


@dataclass(frozen=True)
class Shown:
    """A column, and how its cells are made."""

    heading: str
    cell: Callable[[Any], Cell]  # of a row
    key: str = ""  # name in the CSV file
    group: str = ""  # heading above several columns
    number: bool = True  # whether it is set flush right


def text(key: str, heading: str = "", *, form: Callable[[Any], str] = str) -> Shown:
    """Return a column of words."""
    return Shown(heading or key, lambda row: text_cell(form(row[key])), key, number=False)


def count(key: str, heading: str = "") -> Shown:
    """Return a column of whole numbers."""

    def cell(row: Row) -> Cell:
        return Cell(MISSING if math.isnan(row[key]) else str(int(row[key])), {"": row[key]})

    return Shown(heading or key, cell, key)


def number(
    key: str,
    heading: str = "",
    *,
    ends: tuple[str, str] | None = None,
    exact: Mapping[str, str] | None = None,
    percent: bool = False,
    why: str = "",
) -> Shown:
    """Return a column of numbers, perhaps with an interval; `exact`: name in the file -> column."""

    def cell(row: Row) -> Cell:
        low, high = (row[end] for end in ends) if ends else (math.nan, math.nan)
        values = {"low": low, "high": high} if ends and exact is None else {}
        values |= {name: row[column] for name, column in (exact or {}).items()}
        return number_cell(row[key], values, ends=(low, high), percent=percent, why=why)

    return Shown(heading or key, cell, key)


def pvalue(key: str, heading: str) -> Shown:
    """Return a column of p-values."""
    return Shown(heading, lambda row: Cell(format_pvalue(row[key]), {"": row[key]}), key)


def lay_out(
    rows: Iterable[Any],
    columns: Sequence[Shown],
    *,
    name: str = "",
    title: str = "",
    caption: str = "",
    n_last: int = 0,
) -> PaperTable:
    """Return a table with a line for each row."""
    return PaperTable(
        name=name,
        label="Table",
        title=title,
        caption=caption,
        columns=tuple(Column(each.key, each.heading, each.group, each.number) for each in columns),
        rows=tuple(tuple(column.cell(row) for column in columns) for row in rows),
        n_last=n_last,
    )


def print_table(table: PaperTable, *, most: int = 44) -> list[str]:
    """Return the lines of a table for a terminal; groups of columns stand below each other."""
    blocks = []
    for group in dict.fromkeys(column.group for column in table.columns if column.group) or [""]:
        shown = [at for at, each in enumerate(table.columns) if each.group in ("", group)]
        rows = [[table.columns[at].heading for at in shown]]
        rows += [[row[at].text for at in shown] for row in table.rows]
        # Names come from files of answers and may hold terminal commands.
        cells = [[clean(cell, limit=most) for cell in row] for row in rows]
        right = [at for at, column in enumerate(shown) if table.columns[column].number]
        title = ", ".join(filter(None, [table.title, group]))
        blocks.append([*filter(None, [title]), *aligned(cells, right=right)])
    return [line for block in blocks for line in ["", *block]][1:]
