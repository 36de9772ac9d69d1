"""What a table of a paper is made of: cells with a rounded text, unrounded values, and a footnote.

Texts are as they came, untrusted names included: `coherence.report.tables.markup` escapes them.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from coherence.report.wording import format_numbers


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


@dataclass(frozen=True)
class Column:
    """A column."""

    key: str  # its name in the CSV file; a column without one is not written there
    # heading, group: what stands above it, and above it and its neighbours of the same group
    heading: str
    group: str = ""
    number: bool = True  # whether it is set flush right


@dataclass(frozen=True)
class PaperTable:
    """A table."""

    name: str  # of its files, and what refers to it
    label: str  # its number in the paper, such as "Table 1"; LaTeX counts by itself
    # title, caption: what it shows, and what each number is
    title: str
    caption: str
    columns: tuple[Column, ...]  # from left to right
    rows: tuple[tuple[Cell, ...], ...]  # from top to bottom, each as long as `columns`
    n_last: int = 0  # rows at the bottom that a rule parts from the others, such as means

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
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans


def _mark(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    letter = chr(ord("a") + number % 26)
    return letter if number < 26 else _mark(number // 26 - 1) + letter


def text_cell(text: str) -> Cell:
    """Return a cell of a name, which its column writes as it is."""
    return Cell(text, {"": text})


def number_cell(
    value: float,
    exact: Mapping[str, object],
    *,
    ends: tuple[float, float] = (math.nan, math.nan),
    percent: bool = False,
    why: str = "",
) -> Cell:
    """Return a cell of a number with its interval in brackets."""
    values = {"": value, **exact}
    if math.isnan(value):
        return Cell("–", values, why)
    shown = [value] if math.isnan(ends[0]) else [value, *ends]
    if percent:
        texts = [f"{100 * number:.1f}" for number in shown]
        texts[0] += "%"
    else:
        texts = ["infinite" if math.isinf(n) else text for n, text in _numbered(shown)]
    return Cell(f"{texts[0]} [{texts[1]}, {texts[2]}]" if len(texts) > 1 else texts[0], values)


def _numbered(shown: Sequence[float]) -> list[tuple[float, str]]:
    return list(zip(shown, format_numbers(shown), strict=True))


def spoken_range(counts: Collection[int]) -> str:
    """Return "40 to 80", or "80" where all counts are the same."""
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"
