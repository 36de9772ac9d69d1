"""How text of a report is laid out by rich: lines, lists and tables as wide as the terminal.

Names of tasks, models and actions come from files and model output. Every cell is a `Text` of a
cleaned string, so that rich reads no markup, emoji or escape in it.
"""

import io
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from coherence.report.wording import clean
from coherence.table.printable import PLAIN

MIN_WIDTH, MAX_WIDTH, PIPE_WIDTH = 60, 120, 100
_WORD = re.compile(r"(?:'[^']*'|[^\s'])+")
_PART = re.compile(r"[^\s/_:·-]*(?:[/_:·-]+\s*|\s+|$)")
_LONGEST = 200  # characters of a name that a cell shows
RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
"""A rule below the headings, and blanks between columns."""


def rendered(
    parts: Sequence[RenderableType], width: int | None, color: bool, ascii_only: bool
) -> str:
    """Print parts below each other."""
    if width is None:
        width = min(shutil.get_terminal_size((PIPE_WIDTH, 24)).columns, MAX_WIDTH)
    width = max(MIN_WIDTH, width)
    text = _printed(parts, width, color)
    if not ascii_only:
        return text
    # "≤" takes two columns in ASCII: where a line overflows by that, lines are broken earlier.
    plain = text.translate(PLAIN)
    # A word of a command may be longer than the width anyway.
    lengths = zip(_lengths(text), _lengths(plain), strict=True)
    over = max((after for before, after in lengths if before <= width), default=0) - width
    return _printed(parts, width - over, color).translate(PLAIN) if over > 0 else plain


def _lengths(text: str) -> list[int]:
    return [line.cell_len for line in Text.from_ansi(text).split()]


def _printed(parts: Sequence[RenderableType], width: int, color: bool) -> str:
    # What the environment says of colours and widths was asked by the caller, of the real stream.
    console = Console(
        file=io.StringIO(),
        width=width,
        height=24,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    for part in parts:
        console.print(part, crop=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def as_text(text: str, style: str = "") -> Text:
    """Return safe text: no markup is read in a `Text`, and `clean` leaves no code in it."""
    return Text(clean(text), style=style, overflow="fold")


def as_cell(text: str, style: str = "") -> Text:
    """Return safe text of a cell, cut where it is very long."""
    return Text(clean(text, limit=_LONGEST), style=style, overflow="fold")


@dataclass(frozen=True)
class Command:
    """A command on lines of its own, to be pasted: a backslash ends a line that goes on."""

    text: str
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield lines no longer than the width, but for words that are."""
        words = _WORD.findall(clean(self.text))
        lines = [" " * self.indent + words[0]] if words else []
        for at, word in enumerate(words[1:], start=2):
            backslash = 2 * (at < len(words))
            if len(lines[-1]) + 1 + len(word) + backslash > options.max_width:
                lines[-1] += " \\"
                lines.append(f"{' ' * self.indent}  {word}")
            else:
                lines[-1] += f" {word}"
        yield from (Text(line, no_wrap=True, overflow="ignore") for line in lines)


@dataclass(frozen=True)
class Name:
    """A name in a cell, broken behind its blanks and signs and not within its words."""

    text: str
    style: str = ""

    @property
    def parts(self) -> list[str]:
        """What stands between two places where it may be broken."""
        return _PART.findall(clean(self.text, limit=_LONGEST))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths of the longest part and of the whole."""
        sizes = [cell_len(part) for part in self.parts] or [0]
        return Measurement(max(sizes), sum(sizes)).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield as few lines as hold the parts."""
        lines = [""]
        for part in self.parts:
            if lines[-1] and cell_len((lines[-1] + part).rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield from (Text(line.rstrip(), style=self.style, overflow="fold") for line in lines)


def listed(sentences: Sequence[str], lead: str = "·") -> Iterator[RenderableType]:
    """Set sentences below each other, each behind a point."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=len(lead))
    grid.add_column(ratio=1)
    for sentence in sentences:
        grid.add_row(Text(lead), as_text(sentence))
    if sentences:
        yield grid


def empty_table(headings: Sequence[str], right: Sequence[int] = ()) -> Table:
    """Return a table without rows; its first column gives way where the width does not do."""
    table = Table(box=RULED, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, heading in enumerate(headings):
        table.add_column(
            Text(heading, style="dim"),
            overflow="fold",
            justify="right" if at in right else "left",
            no_wrap=at > 1,
        )
    return table
