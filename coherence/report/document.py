"""What is shown, once for every way of showing it: headings, paragraphs, tables, figures, commands.

A column says how its cells are made of a row. The same document goes to a terminal
(`coherence.report.screen`) and into a page (`coherence.report.page`), its tables also into files as
Markdown, LaTeX and unrounded CSV (`coherence.report.files`). Texts are as they came, untrusted
names included: whoever shows them cleans and escapes them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, TypeAlias

from coherence.report.wording import decimals_of, format_interval, format_pvalue

Row = Mapping[Any, Any]
"""A row of a table of numbers: name -> value."""
MISSING = "–"


class Kind(StrEnum):
    """What a column holds, which says how its cells are written and set."""

    LABEL = "label"
    """Words, flush left; all others are flush right."""
    COUNT = "count"
    NUMBER = "number"
    """With three significant digits, or as many decimals as the column says."""
    SHARE = "share"
    """Of 1, in percent."""
    PVALUE = "pvalue"
    INTERVAL = "interval"
    """Ends alone."""


@dataclass(frozen=True)
class Cell:
    """A cell."""

    text: str  # what a reader sees
    # what the CSV file holds, unrounded: name behind that of the column, "" for the number itself
    # -> value
    values: Mapping[str, object] = field(default_factory=dict)
    note: str = ""  # a footnote, such as why there is no number; empty for none
    # whether the footnote says why there is no number, which the CSV file then holds
    is_reason: bool = True
    link: str = ""  # where it leads on a page


@dataclass(frozen=True)
class Column:
    """A column, and how its cells are made of a row."""

    # of its value in a row, and in the CSV file, before the names of the further values of a cell
    name: str
    heading: str | None = None  # what stands above it; None for the name
    kind: Kind = Kind.NUMBER
    unit: str = ""  # of measurement, behind the heading
    digits: int | None = None  # decimals of a number; None for three digits of the largest of a row
    together: bool = False  # whether all rows have as many decimals, by the largest of them
    ends: tuple[str, str] | None = None  # names of the ends of its interval in a row
    adjusted: str = ""  # name of the adjusted p-value, which follows in brackets
    # what else the CSV file holds: name behind that of the column -> name in a row; None: the ends
    exact: Mapping[str, str] | None = None
    why: str = ""  # footnote where there is no number, or no interval
    reason: str = ""  # name of that footnote in a row
    behind: str = ""  # name of a text that follows the number
    group: str = ""  # what stands above it and its neighbours of the same group
    make: Callable[[Any], Cell] | None = None  # makes a cell that the kinds do not

    @property
    def title(self) -> str:
        """What stands above the column."""
        return ", ".join(
            filter(None, [self.name if self.heading is None else self.heading, self.unit])
        )

    @property
    def is_number(self) -> bool:
        """Whether it is set flush right."""
        return self.kind is not Kind.LABEL

    def cell(self, row: Any) -> Cell:
        """Return the cell of a row."""
        if self.make is not None:
            return self.make(row)
        if self.kind is Kind.LABEL:
            return Cell(str(row[self.name]) or MISSING, {"": row[self.name]})
        ends = self.ends or ()
        known = {"low": ends[0], "high": ends[1]} if ends else {}
        if self.adjusted:
            known = {"holm": self.adjusted}
        values = {
            name: row[at] for name, at in (known if self.exact is None else self.exact).items()
        }
        numbers = [row[end] for end in ends]
        if self.kind is not Kind.INTERVAL:
            values = {"": row[self.name]} | values
            numbers.insert(0, row[self.name])
        note = self.why or (row[self.reason] if self.reason else "")
        if math.isnan(numbers[0]):
            return Cell(MISSING, values, note)
        behind = row[self.behind] if self.behind else ""
        lacks_ends = len(numbers) > 1 and math.isnan(numbers[1])
        text = f"{self._text(numbers, row)}{behind}"
        return Cell(text, values, note if lacks_ends else "", is_reason=False)

    def _text(self, numbers: Sequence[float], row: Row) -> str:
        if self.kind is Kind.COUNT:
            return f"{numbers[0]:,.0f}"
        if self.kind is Kind.PVALUE:
            adjusted = row[self.adjusted] if self.adjusted else math.nan
            brackets = "" if math.isnan(adjusted) else f" ({format_pvalue(adjusted)})"
            return f"{format_pvalue(numbers[0])}{brackets}"
        if self.kind is Kind.INTERVAL:
            return with_ends([0.0, *numbers], digits=self.digits).partition(" ")[2]
        return with_ends(numbers, digits=self.digits, percent=self.kind is Kind.SHARE)


def with_ends(numbers: Sequence[float], *, digits: int | None = None, percent: bool = False) -> str:
    """Write a number, and the ends of its interval in brackets where they are known."""
    known = [number for number in numbers if not math.isnan(number)]
    if percent:
        texts = format_interval([100 * number for number in known], 1 if digits is None else digits)
        texts[0] += "%"
    else:
        texts = [
            "infinite" if math.isinf(number) else text
            for number, text in zip(known, format_interval(known, digits), strict=True)
        ]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]" if len(texts) > 2 else texts[0]


def label(name: str, heading: str | None = None) -> Column:
    """Return a column of words."""
    return Column(name, heading, Kind.LABEL)


def count(name: str, heading: str | None = None) -> Column:
    """Return a column of whole numbers."""
    return Column(name, heading, Kind.COUNT)


def pvalue(name: str, heading: str = "p", *, adjusted: str = "", reason: str = "") -> Column:
    """Return a column of p-values, perhaps with the adjusted ones in brackets."""
    return Column(name, heading, Kind.PVALUE, adjusted=adjusted, reason=reason)


@dataclass(frozen=True)
class Table:
    """A table of cells, with all that is said of it."""

    columns: tuple[Column, ...] = ()  # from left to right
    rows: tuple[tuple[Cell, ...], ...] = ()  # from top to bottom, each as long as `columns`
    # title, caption: what it shows, and what each number is
    title: str = ""
    caption: str = ""
    name: str = ""  # of its files, and what refers to it
    label: str = "Table"  # its number in the paper, such as "Table 1"; LaTeX counts by itself
    n_last: int = 0  # rows at the bottom that a rule parts from the others, such as means
    parts: Mapping[int, str] = field(default_factory=dict)  # row -> heading above it
    strong: Collection[int] = ()  # rows that stand out
    indent: int = 0  # blanks before its lines on a terminal, where columns then stand further apart

    @property
    def heading(self) -> str:
        """Number and title."""
        return f"{self.label}: {self.title}"

    @property
    def notes(self) -> dict[str, str]:
        """Footnote -> its mark, in the order of the rows."""
        texts = dict.fromkeys(cell.note for row in self.rows for cell in row if cell.note)
        return {text: _mark(number) for number, text in enumerate(texts)}

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Groups of neighbouring columns from left to right, with their numbers of columns."""
        spans = groupby(column.group for column in self.columns)
        return [(group, len(list(columns))) for group, columns in spans]


def _mark(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    letter = chr(ord("a") + number % 26)
    return letter if number < 26 else _mark(number // 26 - 1) + letter


def build_table(rows: Iterable[Any], columns: Sequence[Column], **about: Any) -> Table:
    """Return a table with a line for each row; `about` are further fields of `Table`."""
    rows = list(rows)
    columns = [_with_digits(column, rows) if column.together else column for column in columns]
    cells = tuple(tuple(column.cell(row) for column in columns) for row in rows)
    return Table(tuple(columns), cells, **about)


def _with_digits(column: Column, rows: Sequence[Row]) -> Column:
    names = [column.name, *(column.ends or ())]
    return replace(column, digits=decimals_of([row[name] for row in rows for name in names]))


def table_of_texts(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, n_labels: int = 1, **about: Any
) -> Table:
    """Return a table of texts, flush right but for the first columns."""
    kinds = [Kind.LABEL if at < n_labels else Kind.NUMBER for at in range(len(headings))]
    columns = tuple(Column("", each, kind) for each, kind in zip(headings, kinds, strict=True))
    return Table(columns, tuple(tuple(map(Cell, row)) for row in rows), **about)


@dataclass(frozen=True)
class FigureFile:
    """A figure that was written, or a sentence on why it was not."""

    name: str  # of its files, without their ending; empty where there is none
    label: str  # its number in the paper, such as "Figure 1"
    # title, caption: what it shows, and what each mark is
    title: str
    caption: str


@dataclass(frozen=True)
class Figure:
    """A figure of one (task, model), or of all."""

    # unique in the report, of letters, digits and hyphens: prefix of ids, and name of a file
    key: str
    title: str  # what it shows
    caption: str  # how to read it
    draw: Callable[..., Any]  # takes an ``ax``
    height: float = 3.6  # inches
    width: float = 5.4  # inches; equal for all, so that letters are of one size on a page
    further: bool = True  # whether it stands behind the numbers, and not with the answer

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return self.width, self.height


@dataclass(frozen=True)
class Heading:
    """A heading."""

    text: str
    aside: str = ""  # what stands on its right
    anchor: str = ""  # id on a page
    link: str = ""  # where it leads on a page
    minor: bool = False  # whether it stands among paragraphs


class Look(StrEnum):
    """How a paragraph stands out."""

    PLAIN = ""
    STRONG = "strong"
    SOFT = "soft"
    ALERT = "alert"
    COMMAND = "command"
    """Of the shell or of Python, on lines of its own, to be pasted."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str
    look: Look = Look.PLAIN
    # what stands before it, empty for text below a mark; None where it begins at the edge
    mark: str | None = None
    link: str = ""  # where it leads on a page


@dataclass(frozen=True)
class Notes:
    """Sentences below each other, each behind a point."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Fold:
    """Parts below a title, which a page unfolds."""

    title: str
    parts: "tuple[Part, ...]"


Part: TypeAlias = Heading | Paragraph | Notes | Table | Figure | Fold


def spoken_range(counts: Collection[int]) -> str:
    """Return "40 to 80", or "80" where all counts are the same."""
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"
