"""A document as text, laid out by rich: lines, lists and tables as wide as the terminal.

Names of tasks, models and actions come from files and model output. Every cell is a `Text` of a
cleaned string, so that rich reads no markup, emoji or escape in it.
"""

import io
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from textwrap import fill

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

from coherence.printable import PLAIN
from coherence.report.document import (
    Fold,
    Heading,
    Look,
    Notes,
    Paragraph,
    Part,
    Table,
)
from coherence.report.evaluation import EvaluationReport
from coherence.report.findings import document_of
from coherence.report.wording import ALERT, clean

MORE = "--full, or report.html with --out DIR"

MIN_WIDTH, MAX_WIDTH, PIPE_WIDTH = 60, 120, 100
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
GAP = 2  # blanks between columns
_LONGEST = 200  # characters of a name that a cell shows
_HEADING = "\ue000"  # stands for a heading among rows; `clean` leaves it in no text of others
_SHORT = 20  # characters of a name that is not broken
_STYLES = {Look.STRONG: "bold", Look.ALERT: "bold", Look.SOFT: "dim", Look.PLAIN: ""}
RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
"""A rule below the headings, and blanks between columns."""


def _lengths(text: str) -> list[int]:
    return [line.cell_len for line in Text.from_ansi(text).split()]


def _printed(parts: Sequence[Part | str], width: int, color: bool) -> str:
    # What the environment says of colours and widths was asked by the caller, of the real stream.
    console = Console(
        file=io.StringIO(),
        width=width,
        height=24,
        force_terminal=color,
        force_jupyter=False,  # else a notebook displays parts, and the text is empty
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    for each in chain.from_iterable(_shown(part, console) for part in parts):
        console.print(each, crop=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def as_text(text: str, style: str = "") -> Text:
    """Return safe text: no markup is read in a `Text`, and `clean` leaves no code in it."""
    return Text(clean(text), style=style, overflow="fold")


def as_cell(text: str, style: str = "") -> Text:
    """Return safe text of a cell, cut where it is very long."""
    return Text(clean(text, limit=_LONGEST), style=style, overflow="fold")


def render_parts(
    parts: Sequence[Part | str],
    *,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return parts below each other, for a terminal; figures are left out."""
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


def render_report(
    evaluations: Sequence[EvaluationReport],
    *,
    full: bool = False,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
    more: str = MORE,
) -> str:
    """Render a report as text: what stands in front of its document, or all of it."""
    front, details = document_of(evaluations, more="" if full else more)
    parts = [*front, *details]
    return render_parts(spaced(parts), width=width, color=color, ascii_only=ascii_only)


def spaced(parts: Sequence[Part]) -> list[Part | str]:
    """Put a blank line before tables, folds and headings that do not begin a list of verdicts."""
    lines: list[Part | str] = []
    for part in parts:
        starts = isinstance(part, Heading) and (part.minor or bool(part.anchor))
        if lines and (starts or isinstance(part, Table | Fold)):
            lines.append("")
        lines.append(part)
        if isinstance(part, Table) and part.caption:
            lines.append(Paragraph(part.caption, Look.SOFT))
        if isinstance(part, Fold):
            lines += spaced(part.parts)
    return lines


def _shown(part: Part | str, console: Console) -> Iterator[RenderableType]:
    """Yield what rich prints of a part; a fold is its title, which its parts follow."""
    if isinstance(part, str):
        yield as_text(part)
    elif isinstance(part, Table):
        yield from _fitted(part, console)
    elif isinstance(part, Fold):
        yield as_text(part.title, "bold")
    elif isinstance(part, Heading):
        grid = Grid.grid(expand=True, padding=(0, 2, 0, 0))
        grid.add_column(overflow="fold")
        grid.add_column(justify="right", overflow="fold")
        grid.add_row(as_cell(part.text, "bold"), as_text(part.aside, "dim"))
        yield grid if part.aside else as_cell(part.text, "bold")
    elif isinstance(part, Paragraph) and part.look is Look.COMMAND:
        yield from _typed(part.text, console.width)
    elif isinstance(part, Paragraph):
        alert = f"{ALERT}: " * (part.look is Look.ALERT)
        text = as_text(f"{alert}{part.text}", _STYLES[part.look])
        yield text if part.mark is None else _beside(part.mark, text, 3)
    elif isinstance(part, Notes):
        yield from (_beside("·", as_text(sentence), 1) for sentence in part.sentences)


def _beside(mark: str, text: Text, width: int) -> Grid:
    """Set a text behind a mark."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=width, justify="right")
    grid.add_column(ratio=1)
    grid.add_row(Text(mark), text)
    return grid


def _typed(command: str, width: int) -> Iterator[Segments]:
    """Yield lines no longer than the width, but for words that are; a backslash ends one."""
    words, indent = _WORD.findall(clean(command)), " " * 6
    lines = [indent + words[0]] if words else []
    for at, word in enumerate(words[1:], start=2):
        backslash = 2 * (at < len(words))
        if len(lines[-1]) + 1 + len(word) + backslash > width:
            lines[-1] += " \\"
            lines.append(f"{indent}  {word}")
        else:
            lines[-1] += f" {word}"
    yield from (Segments([Segment(line), Segment.line()]) for line in lines)


def _fitted(table: Table, console: Console) -> Iterator[RenderableType]:
    """Yield a table as wide as the terminal; columns that do not fit, and groups, follow below."""
    for number, (title, shown) in enumerate(_blocks(table, console.width)):
        if number:
            yield Text()
        if title:
            yield as_text(title)
        grid, headings = _grid(table, shown, console.width), iter(table.parts.values())
        for line in console.render_lines(grid, pad=False):
            if "".join(segment.text for segment in line).strip() == _HEADING:
                yield as_text(next(headings), "bold")
            else:
                yield Segments([*line, Segment.line()])
    for note, mark in table.notes.items():
        yield as_text(f"*{mark} {note}", "dim")


def _blocks(table: Table, width: int) -> Iterator[tuple[str, list[int]]]:
    """Yield a title and the columns that stand beside each other, the first ones every time."""
    least = [_least_width(table, at) + GAP for at in range(len(table.columns))]
    stub = list(takewhile(lambda at: not table.columns[at].is_number, range(len(least)))) or [0]
    if sum(least[at] for at in stub) > width / 2:
        stub = stub[:1]
    for group in dict.fromkeys(each.group for each in table.columns if each.group) or [""]:
        title = ", ".join(filter(None, [table.title, group]))
        here, free = [*stub], width - sum(least[at] for at in stub)
        for at, column in enumerate(table.columns):
            if at in stub or column.group not in ("", group):
                continue
            if free < least[at] - GAP and len(here) > len(stub):
                yield title, here
                title, here, free = "", [*stub], width - sum(least[at] for at in stub)
            here.append(at)
            free -= least[at]
        yield title, here


def _least_width(table: Table, at: int) -> int:
    """Return how narrow a column may be: numbers stay whole, words may be broken between them."""
    heading = table.columns[at].title.split()
    cells = [clean(row[at].text, limit=_LONGEST) for row in table.rows]
    if not table.columns[at].is_number:
        # Names are whole where they are short, and longer words may be broken.
        short = (at == 0 and len(cell) <= _SHORT for cell in cells)
        cells = [
            part[:_SHORT]
            for cell, whole in zip(cells, short, strict=True)
            for part in ([cell] if whole else cell.split())
        ]
    return max(map(cell_len, [*heading, *cells]), default=0)


def _grid(table: Table, shown: Sequence[int], width: int) -> Grid:
    """Return some columns of a table."""
    gap = GAP + bool(table.indent)
    grid = Grid(box=RULED, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    least = {at: _least_width(table, at) for at in shown}
    whole = [max(cell_len(table.columns[at].title), least[at]) + gap for at in shown]
    for at in shown:
        column, heading = table.columns[at], table.columns[at].title
        if column.is_number and sum(whole) - gap > width:
            heading = fill(heading, least[at])
        grid.add_column(
            _indented(Text(heading, style="dim"), table.indent * (at == shown[0])),
            overflow="fold",
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number,
            min_width=least[at] if at != shown[0] else None,
        )
    notes = table.notes
    for number, row in enumerate(table.rows):
        if number in table.parts:
            grid.add_row(Text(_HEADING))
        if table.n_last and number == len(table.rows) - table.n_last:
            grid.add_section()
        style = "bold" if number in table.strong else ""
        first, *others = (
            as_cell(
                f"{row[at].text} *{notes[row[at].note]}" if row[at].note else row[at].text, style
            )
            for at in shown
        )
        grid.add_row(_indented(first, table.indent or 2 * bool(table.parts)), *others)
    return grid


def _indented(text: RenderableType, blanks: int) -> RenderableType:
    return Padding(text, (0, 0, 0, blanks)) if blanks else text
