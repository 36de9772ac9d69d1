"""A report of few units as text that fits one screen: the answer, the tests, what may mislead.

A line for each test, and for each check without one its first estimate; of wordings, that which
changes beliefs most. Every estimate, the
verdicts in words and the counts of answers are one option or one page away.
"""

import math
from collections.abc import Iterator, Sequence

from coherence.report.answering import POLICIES, answering_sentences
from coherence.report.columns import aligned, folded
from coherence.report.layout import GAP, Paragraph, Part, Row, Rule, Style, cell_width
from coherence.report.ranking import is_test
from coherence.report.statuses import repair_sentence, unreadable_share
from coherence.report.terminal import bulleted
from coherence.report.twins import twin_cells, twin_note
from coherence.report.unit import Unit
from coherence.report.wording import (
    alert_sentence,
    clean,
    component_of,
    format_effect,
    format_tested,
    interval_heading,
    unit_heading,
)
from coherence.result import CheckResult, Outcome
from coherence.table.printable import counted

MOST_NOTES = 3
"""Notes on what was left out or assumed; further ones are counted."""
_COMPARED = "prompt_consistency"
"""Its estimates are one quantity of several wordings: the largest leads, lest it be hidden."""
_CANCELLING = "iterated_expectation:noise_removed"
"""The size of gaps, which cancel in the tested mean where they have both signs."""
_CAUTION = "caution"
_MARKS = {Outcome.REJECTED: "rejects", Outcome.UNCORRECTED: "sign"}


def brief_parts(unit: Unit, width: int) -> list[Part]:
    """Return what one screen says of a unit.

    Parameters
    ----------
    unit : Unit
        One (task, model).
    width : int
        Columns of the terminal.

    Returns
    -------
    list of Paragraph, Row or Rule
        Heading, conclusion, alerts, a line for each leading result, cautions.
    """
    parts: list[Part] = [Paragraph(unit_heading(unit), style="bold")]
    parts += [Paragraph(sentence) for sentence in unit.conclusion]
    parts += [Paragraph(alert_sentence(alert), style="bold") for alert in unit.alerts]
    parts.append(Paragraph())
    parts += _result_lines(unit, width)
    captions, body = twin_cells(unit)
    if body:  # asked for with an option of its own
        parts += [
            Paragraph(),
            *map(Paragraph, aligned([captions, *body], right=range(1, len(captions)))),
        ]
        parts.append(Paragraph(twin_note(unit)))
    remarks = list(_remarks(unit))
    return [*parts, Paragraph(), *bulleted(remarks)] if remarks else parts


def leading(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return every test, and of a check without one the first estimate, of wordings the largest.

    Gaps that cancel in the tested mean of the iterated expectation stand beside it where their size
    is clear of 0.

    Parameters
    ----------
    results : sequence of CheckResult
        Of one unit, in the order of the checks.

    Returns
    -------
    list of CheckResult
        In the same order.
    """
    tested = {_family(result) for result in results if result.pvalue is not None}
    first: dict[str, CheckResult] = {}
    for result in results:
        leader = first.setdefault(_family(result), result)
        if _family(result) == _COMPARED and not leader.statistic >= result.statistic:
            known = not math.isnan(result.statistic)
            first[_COMPARED] = result if known else leader
    return [
        result
        for result in results
        if result.pvalue is not None
        or (_family(result) not in tested and first[_family(result)] is result)
        or (result.check == _CANCELLING and result.interval and result.interval.low > 0)
    ]


def _family(result: CheckResult) -> str:
    return result.check.partition(":")[0]


def _result_lines(unit: Unit, width: int) -> Iterator[Part]:
    shown = leading(unit.results)
    if not shown:
        yield Paragraph("No check could be run.")
        return
    marked = any(result.outcome() in _MARKS for result in shown)
    rows = [["check", "effect", interval_heading(unit.results), "p (Holm)", ""]]
    for result in shown:
        mark = _MARKS.get(result.outcome(), "")
        rows.append([clean(result.check), *format_effect(result), format_tested(result), mark])
    widths = [max(cell_width(row[at]) for row in rows) for at in range(5 if marked else 4)]
    # Numbers stay whole; a name that is longer than what they leave goes on below itself.
    widths[0] = max(min(widths[0], width - sum(widths[1:]) - GAP * (len(widths) - 1)), 12)
    for at, row in enumerate(rows):
        bold = at > 0 and shown[at - 1].outcome() is Outcome.REJECTED
        style: Style = "dim" if at == 0 else "bold" if bold else ""
        name = folded(row[0], widths[0], indent=2)
        yield Row([name, *row[1 : len(widths)]], widths, style, right=(3,))
        if at == 0:
            yield Rule()
    yield from (Paragraph(note, style="dim") for note in _effect_notes(shown))
    hidden = len(unit.results) - len(shown)
    if hidden:
        yield Paragraph(f"and {counted(hidden, 'further estimate')}", style="dim")


def _effect_notes(results: Sequence[CheckResult]) -> Iterator[str]:
    """Say which effects are of one action, and which lie below their interval.

    Say too why a number is missing: a dash beside a p-value of 1 is no sign of coherence.
    """
    for say in (component_of, CheckResult.estimate_note, _reason):
        about: dict[str, list[str]] = {}
        for result in results:
            about.setdefault(say(result), []).append(clean(result.check))
        yield from (f"{', '.join(names)}: {said}" for said, names in about.items() if said)


def _reason(result: CheckResult) -> str:
    return clean(result.reason)


def _remarks(unit: Unit) -> Iterator[str]:
    """Say what may mislead, how many answers there are, and what was left out."""
    about = [*unit.cautions, *map(clean, answering_sentences(unit.answering))]
    yield from (text for text in about if text.startswith(_CAUTION) or text == POLICIES)
    notes = list(map(clean, unit.other_notes))
    # What may mislead is never among those that are only counted.
    notes.sort(key=lambda note: not note.startswith(_CAUTION))
    n_shown = max(MOST_NOTES, sum(note.startswith(_CAUTION) for note in notes))
    yield from notes[:n_shown]
    if len(notes) > n_shown:
        yield f"{counted(len(notes) - n_shown, 'further note')} on what was left out or assumed."
    yield from filter(None, [_answers(unit)])


def _answers(unit: Unit) -> str:
    """Say how much was asked, how much of it could not be read, and what enters the checks."""
    said = []
    if not unit.statuses.empty:
        asked = counted(int(unit.statuses["rows"].sum()), "row")
        share = unreadable_share(unit)
        unread = "less than 0.1%" if 0 < share < 0.001 else f"{share:.1%}" if share else "none"
        said.append(f"{asked} of answers, {unread} unreadable")
    tests = [result for result in unit.results if is_test(result)] or list(unit.results)
    if tests:
        most = max(tests, key=lambda result: result.n_rows)
        entered = f"at most {counted(most.n_rows, 'row')} in {counted(most.n_contexts, 'context')}"
        dropped = max(result.n_dropped for result in unit.results)
        left = f", {dropped} left out for missing values" if dropped else ""
        said.append(f"{entered} enter a test{left}")
    text = "; ".join(filter(None, [*said, repair_sentence(unit)]))
    return f"{text}." if text else ""
