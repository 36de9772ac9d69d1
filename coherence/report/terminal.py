"""A report as text: one table per unit, readable from 80 columns up, 60 at the least.

`coherence.report.layout` wraps and styles; how wide the columns are, and whether a verdict stands
beside its row or below, is decided here. Names of tasks, models and actions come from files and
model output, and are cleaned before they are laid out.
"""

import shutil
from collections.abc import Iterable, Sequence

from coherence.report.answering import answering_sentences
from coherence.report.columns import aligned, folded
from coherence.report.layout import (
    GAP,
    Paragraph,
    Part,
    Row,
    Rule,
    Style,
    cell_width,
    render_lines,
)
from coherence.report.plain import PLAIN
from coherence.report.statuses import audit_cells, bound_cells, repair_sentence
from coherence.report.twins import sensitivity_sentence, twin_cells, twin_note
from coherence.report.unit import Unit
from coherence.report.wording import (
    alert_sentence,
    clean,
    format_effect,
    format_tested,
    full_verdict,
    interval_heading,
    sample_sentences,
    unit_heading,
)
from coherence.result import Outcome

MIN_WIDTH, MAX_WIDTH = 60, 120
# A narrower verdict column reads like a ribbon; the verdict then goes below its row.
_MIN_VERDICT = 28
_WIDEST_NAME, _WIDEST_EFFECT, _MIN_NAME = 22, 16, 18
_PVALUE = 3  # position of the column that is set flush right


def render_terminal(
    units: Sequence[Unit],
    *,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Render a report as text.

    Parameters
    ----------
    units : sequence of Unit
        One per (task, model).
    width : int, optional
        Columns, at least 60; None takes those of the terminal, up to 120.
    color : bool
        Whether to emphasise headings and rejections with terminal codes.
    ascii_only : bool
        Whether the report's own lines, bullets and dashes are written in ASCII; names stay as they
        are.

    Returns
    -------
    str
        Lines without a closing line break.
    """
    if not units:
        return "The runs table holds no rows to check."
    width = width_of(width)
    interval = interval_heading(result for unit in units for result in unit.results)
    headings = ("check", "effect", interval, "p (Holm)", "verdict")
    # One layout for all units, so that equal columns stand below each other.
    widths = _column_widths([headings, *(row for unit in units for row in _rows(unit))], width)
    blocks = [
        "\n".join(
            render_lines(_unit_parts(unit, headings, widths, width), width=width, color=color)
        )
        for unit in units
    ]
    text = "\n\n\n".join(blocks)
    return text.translate(PLAIN) if ascii_only else text


def width_of(width: int | None) -> int:
    """Return the columns that a report takes.

    Parameters
    ----------
    width : int or None
        What was asked for; None for those of the terminal, up to 120.

    Returns
    -------
    int
        At least 60: in fewer, names and intervals leave no room for each other.
    """
    if width is None:
        width = min(shutil.get_terminal_size((100, 24)).columns, MAX_WIDTH)
    return max(MIN_WIDTH, width)


def _rows(unit: Unit) -> list[tuple[str, ...]]:
    return [
        (
            clean(result.check),
            *format_effect(result),
            format_tested(result),
            full_verdict(result, verdict),
        )
        for result, verdict in zip(unit.results, unit.verdicts, strict=True)
    ]


def _column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of the columns: five, or four where the verdict has to go below its row."""
    name, effect, interval, pvalue = (max(cell_width(row[at]) for row in rows) for at in range(4))
    # First choice: all five columns beside each other, with room for a verdict.
    beside = [min(name, _WIDEST_NAME), min(effect, _WIDEST_EFFECT), interval, pvalue]
    room = width - sum(beside) - GAP * len(beside)
    if room >= _MIN_VERDICT:
        return [*beside, room]
    # Intervals stay whole, effects keep their words; names can be broken after their colon.
    room, word = width - interval - GAP * 3, _longest_word(row[1] for row in rows)
    if room - pvalue - word < _MIN_NAME:
        pvalue = _longest_word(row[_PVALUE] for row in rows)  # Holm's below the unadjusted one
    name = max(min(name, 2 * _WIDEST_EFFECT, room - pvalue - word), 1)
    return [name, max(min(effect, room - pvalue - name), 1), interval, pvalue]


def _longest_word(cells: Iterable[str]) -> int:
    return max(cell_width(word) for cell in cells for word in cell.split())


def _unit_parts(
    unit: Unit, headings: Sequence[str], widths: Sequence[int], width: int
) -> list[Part]:
    parts: list[Part] = [Paragraph(unit_heading(unit), style="bold")]
    parts += [Paragraph(sentence) for sentence in unit.conclusion]
    parts += [Paragraph(alert_sentence(alert), style="bold") for alert in unit.alerts]
    parts += [Paragraph()] if unit.conclusion or unit.alerts else []
    parts += _result_parts(unit, headings, widths)
    for captions, body in (twin_cells(unit), audit_cells(unit), bound_cells(unit)):
        parts += [Paragraph(), *_count_parts(captions, body, width)] if body else []
    remarks = [
        *unit.cautions,
        *map(clean, answering_sentences(unit.answering)),
        *filter(None, [repair_sentence(unit)]),
        *filter(None, [sensitivity_sentence(unit), twin_note(unit)]),
        *sample_sentences(unit.results),
        *map(clean, unit.other_notes),
    ]
    if remarks:
        parts += [Paragraph(), *bulleted(remarks)]
    return parts


def _result_parts(unit: Unit, headings: Sequence[str], widths: Sequence[int]) -> list[Part]:
    """One row per result; with four columns each verdict stands below its row, indented."""
    if not unit.results:
        return [Paragraph("No check could be run.")]
    parts: list[Part] = [_row(headings, widths, "dim"), Rule()]
    for result, (name, *cells, verdict) in zip(unit.results, _rows(unit), strict=True):
        style: Style = "bold" if result.outcome() is Outcome.REJECTED else ""
        parts.append(_row([_broken(name, widths[0]), *cells, verdict], widths, style))
        if len(widths) == len(cells) + 1:
            # Indented, so that the names of the checks still stand out at the left.
            parts.append(Paragraph(verdict, style, lead=" " * 4))
    return parts


def _row(cells: Sequence[str], widths: Sequence[int], style: Style) -> Row:
    return Row(cells[: len(widths)], widths, style, right=(_PVALUE,))


def _broken(name: str, width: int) -> str:
    """Break the name of a check after the colon rather than in the middle of a word."""
    return folded(name, width, indent=2)


def _count_parts(headings: Sequence[str], body: Sequence[Sequence[str]], width: int) -> list[Part]:
    """Lay out counts by name; where the table is too wide, every number says what it is."""
    rows = [[clean(row[0]), *row[1:]] for row in body]
    # Counts are short: they are kept whole, or else said in words.
    lines = aligned([headings, *rows], right=range(1, len(headings)))
    if max(map(cell_width, lines)) <= width:
        return [Paragraph(lines[0], style="dim"), *map(Paragraph, lines[1:])]
    sentences = (
        f"{name}: "
        + ", ".join(f"{number} {of}" for number, of in zip(numbers, headings[1:], strict=True))
        for name, *numbers in rows
    )
    return bulleted(list(sentences))


def bulleted(sentences: Sequence[str]) -> list[Part]:
    """Set sentences below each other, each behind a point.

    Parameters
    ----------
    sentences : sequence of str
        Safe to print.

    Returns
    -------
    list of Paragraph
        One per sentence.
    """
    return [Paragraph(sentence, lead="· ") for sentence in sentences]
