"""Lines for a terminal: texts are wrapped, cells set beside each other, lines styled on request.

A piece is plain data that knows its lines in a given width; widths are counted in the cells of a
terminal, of which some characters take two and others none.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import wcwidth

GAP = 2
"""Blanks between two columns."""
_UNLIMITED = 1_000_000  # cells; a table without a limit keeps its natural width
_WORD = re.compile(r"\s*\S+")
# Styles are the only codes that are written; a text has none, wherever it comes from.
_CONTROLS = {9: " "} | dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])
_CODES = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"

Style = Literal["", "bold", "dim"]


@dataclass(frozen=True)
class Paragraph:
    """A text, wrapped between its words.

    Parameters
    ----------
    text : str
        With a line break where a line must end.
    style : {"", "bold", "dim"}
        Of all lines.
    lead : str
        What stands before the first line, such as blanks or a point; the others are indented as
        far.
    """

    text: str = ""
    style: Style = ""
    lead: str = ""

    def lines(self, width: int) -> Iterator[str]:
        """Yield lines of at most `width` cells."""
        indent = cell_width(self.lead)
        for at, line in enumerate(wrapped(self.text, width - indent)):
            yield (" " * indent if at else self.lead) + line


@dataclass(frozen=True)
class Row:
    """Cells beside each other, each wrapped in its column.

    Parameters
    ----------
    cells : sequence of str
        Texts.
    widths : sequence of int
        Of the columns; as many as there are cells.
    style : {"", "bold", "dim"}
        Of all lines.
    right : collection of int
        Columns that are set flush right.
    """

    cells: Sequence[str]
    widths: Sequence[int]
    style: Style = ""
    right: Collection[int] = ()

    def lines(self, width: int) -> Iterator[str]:
        """Yield lines of at most `width` cells."""
        widths = _fitting(self.widths, width)
        columns = [wrapped(cell, room) for cell, room in zip(self.cells, widths, strict=True)]
        for beside in zip_longest(*columns, fillvalue=""):
            yield (" " * GAP).join(
                " " * free + text if at in self.right else text + " " * free
                for at, (text, room) in enumerate(zip(beside, widths, strict=True))
                for free in [room - cell_width(text)]
            )


@dataclass(frozen=True)
class Rule:
    """A line across.

    Parameters
    ----------
    style : {"", "bold", "dim"}
        Of the line.
    """

    style: Style = "dim"

    def lines(self, width: int) -> Iterator[str]:
        """Yield one line of `width` cells."""
        yield "─" * width


Part = Paragraph | Row | Rule


def render_lines(
    parts: Iterable[Part], *, width: int = _UNLIMITED, color: bool = False
) -> list[str]:
    """Lay out pieces below each other.

    Parameters
    ----------
    parts : iterable of Paragraph, Row or Rule
        Their texts are names and sentences, not markup.
    width : int
        Terminal cells that a line may take.
    color : bool
        Whether styles become terminal codes; what the environment says of colours is the caller's.

    Returns
    -------
    list of str
        Lines without blanks at their ends.
    """
    return [
        _styled(line.rstrip(" "), part.style if color else "")
        for part in parts
        for line in part.lines(width)
    ]


def _styled(line: str, style: Style) -> str:
    return f"{_CODES[style]}{line}{_RESET}" if line and style else line


def cell_width(text: str) -> int:
    """Return how many cells of a terminal a text takes.

    Examples
    --------
    >>> cell_width("cmi"), cell_width("決"), cell_width("e\u0301")
    (3, 2, 1)
    """
    return wcwidth.width(text.translate(_CONTROLS))


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines between its words.

    Parameters
    ----------
    text : str
        A line break in it ends a line.
    width : int
        Terminal cells that a line may take; at least one is taken.

    Returns
    -------
    list of str
        At least one. Blanks within a line, and at the start of the text, are kept. A word that is
        longer than a line begins on a line of its own and is cut between characters as they are
        seen, so that no accent leaves its letter.

    Examples
    --------
    >>> wrapped("no sign of a residual_covariance here", 12)
    ['no sign of a', 'residual_cov', 'ariance here']
    """
    lines = []
    for line in text.translate(_CONTROLS).split("\n"):
        lines += [line.rstrip()] if cell_width(line) <= width else _wrapped(line, max(width, 1))
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    lines, taken = [""], 0
    for word in _WORD.findall(text):
        size = cell_width(word)
        if lines[-1] and taken + size > width:
            word = word.lstrip()
            size = cell_width(word)
            lines.append("")
            taken = 0
        if size > width:
            *full, word = _pieces(word, width)
            lines[-1:] = [*full, ""]
            size = cell_width(word)
        lines[-1] += word
        taken += size
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """Cut a word that is longer than a line; a character wider than a line stands alone."""
    pieces, taken = [""], 0
    for character in wcwidth.iter_graphemes(word):
        size = cell_width(character)
        if pieces[-1] and taken + size > width:
            pieces.append("")
            taken = 0
        pieces[-1] += character
        taken += size
    return pieces


def _fitting(widths: Sequence[int], width: int) -> list[int]:
    """Return widths of columns that fit: where they do not, all give up the same."""
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    fitting = []
    for at, room in enumerate(widths):
        less = max(min(round(excess / (len(widths) - at)), room - 1), 0)
        fitting.append(room - less)
        excess -= less
    return fitting
