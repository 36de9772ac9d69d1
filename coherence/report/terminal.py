"""A report as text: one table per unit, readable from 80 columns up.

Also home of the wording that all faces share (numbers with their intervals and p-values), so that
the terminal and the page never disagree. Names of tasks, models and actions come from files and
model output; `clean` makes them safe to print.
"""

import shutil
from collections.abc import Callable, Sequence

from coherence.report.columns import GAP, aligned, cells, pad
from coherence.report.statuses import audit_cells, bound_cells, repair_sentence
from coherence.report.unit import Unit
from coherence.report.wording import (
    clean,
    format_effect,
    format_tested,
    full_verdict,
    interval_heading,
    is_flagged,
    sample_sentences,
    unit_heading,
)

_MIN_WIDTH, _MAX_WIDTH = 60, 120
_MIN_VERDICT = (
    28  # a narrower verdict column reads like a ribbon; the verdict then goes below its row
)
_WIDEST_NAME, _WIDEST_EFFECT = 22, 16
_Row = tuple[str, str, str, str, str]  # check, effect, interval, p, verdict


def _wrap(text: str, width: int) -> list[str]:
    """Break text into lines of at most `width` cells; the standard textwrap counts characters, not cells."""
    lines, line = [], ""
    for word in text.split():
        candidate = f"{line} {word}".strip()
        if cells(candidate) <= width:
            line = candidate
            continue
        lines.append(line)
        line = ""
        for character in word:
            if cells(line + character) > width:
                lines.append(line)
                line = ""
            line += character
    return [line for line in [*lines, line] if line] or [""]


def _hanging(text: str, width: int, first: str, later: str) -> list[str]:
    return [
        (later if number else first) + line
        for number, line in enumerate(_wrap(text, width - cells(first)))
    ]


def _rows(unit: Unit) -> list[_Row]:
    effects = [format_effect(result) for result in unit.results]
    return [
        (
            clean(result.check),
            effect,
            interval,
            format_tested(result),
            full_verdict(result, verdict),
        )
        for result, verdict, (effect, interval) in zip(
            unit.results, unit.verdicts, effects, strict=True
        )
    ]


def _column_widths(rows: Sequence[_Row], width: int) -> list[int]:
    """Return the widths of all columns of the report; the verdict gets 0 where it has to go below its row."""
    natural = [max(cells(row[column]) for row in rows) for column in range(4)]
    beside = [min(natural[0], _WIDEST_NAME), min(natural[1], _WIDEST_EFFECT), *natural[2:]]
    room = width - sum(beside) - GAP * len(beside)
    if room >= _MIN_VERDICT:
        return [*beside, room]
    spare = width - sum(natural[2:]) - GAP * 3 - min(natural[0], 2 * _WIDEST_EFFECT)
    return [min(natural[0], 2 * _WIDEST_EFFECT), min(natural[1], max(spare, 8)), *natural[2:], 0]


def _name_lines(name: str, width: int) -> list[str]:
    """Break the name of a check after the colon rather than in the middle of a word."""
    family, colon, variant = name.partition(":")
    if cells(name) <= width or not colon:
        return _wrap(name, width)
    return [*_wrap(family + colon, width), *_hanging(variant, width, "  ", "  ")]


def _row_lines(row: _Row, columns: Sequence[int], width: int) -> list[str]:
    wrapped = [_wrap(cell, column) for cell, column in zip(row, columns, strict=True) if column]
    wrapped[0] = _name_lines(row[0], columns[0])
    height = max(len(cell) for cell in wrapped)
    grid = [[cell[line] if line < len(cell) else "" for cell in wrapped] for line in range(height)]
    lines = [
        (" " * GAP)
        .join(pad(cell, columns[at], right=at == 3) for at, cell in enumerate(line))
        .rstrip()
        for line in grid
    ]
    return lines if columns[4] else lines + _hanging(row[4], width, "    ", "    ")


def _table_lines(
    headings: Sequence[str],
    body: Sequence[Sequence[str]],
    width: int,
    emphasise: Callable[[str, str], str],
) -> list[str]:
    """Lay out a table whose first column is a name; where it is too wide, every number says what it is."""
    rows = [[clean(row[0]), *row[1:]] for row in body]
    lines = aligned([headings, *rows], right=range(1, len(headings)))
    if max(map(cells, lines)) <= width:
        return [emphasise(lines[0], "2"), *lines[1:]]
    said = (
        f"{name}: "
        + ", ".join(
            f"{number} {heading}" for number, heading in zip(numbers, headings[1:], strict=True)
        )
        for name, *numbers in rows
    )
    return [line for sentence in said for line in _hanging(sentence, width, "", "  ")]


def render_terminal(units: Sequence[Unit], *, width: int | None = None, color: bool = False) -> str:
    """Render a report as text.

    Parameters
    ----------
    units : sequence of Unit
        One per (task, model).
    width : int, optional
        Columns, at least 60; None takes those of the terminal, up to 120.
    color : bool
        Whether to emphasise headings and small p-values with terminal codes.

    Returns
    -------
    str
        Lines without a closing line break.
    """
    columns = max(
        _MIN_WIDTH,
        min(shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH) if width is None else width,
    )

    def emphasise(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    heading: _Row = (
        "check",
        "effect",
        interval_heading(result for unit in units for result in unit.results),
        "p (Holm)",
        "verdict",
    )
    # One layout for all units, so that equal columns stand below each other.
    layout = _column_widths([heading, *(row for unit in units for row in _rows(unit))], columns)
    blocks = []
    for unit in units:
        lines = [emphasise(line, "1") for line in _wrap(unit_heading(unit), columns)]
        if unit.results:
            above = (
                _row_lines(heading, layout, columns)
                if layout[4]
                else _row_lines(heading, layout, columns)[:1]
            )
            lines += [emphasise(line, "2") for line in [*above, "─" * columns]]
            for result, row in zip(unit.results, _rows(unit), strict=True):
                lines += [
                    emphasise(line, "1") if is_flagged(result) else line
                    for line in _row_lines(row, layout, columns)
                ]
        else:
            lines.append("No check could be run.")
        for headings, body in (audit_cells(unit), bound_cells(unit)):
            lines += ["", *_table_lines(headings, body, columns, emphasise)] if body else []
        remarks = [
            *filter(None, [repair_sentence(unit)]),
            *sample_sentences(unit.results),
            *(clean(note) for note in unit.notes),
        ]
        if remarks:
            lines.append("")
            lines += [line for remark in remarks for line in _hanging(remark, columns, "· ", "  ")]
        blocks.append("\n".join(lines))
    return "\n\n\n".join(blocks) if blocks else "The runs table holds no rows to check."
