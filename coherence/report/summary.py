"""A report as text that fits one screen, or of many units a few: what ranks them, what fails.

Everything else is one option or one page away; no line is spent on what all units share.
"""

from collections.abc import Iterator, Sequence

from coherence.report.answering import answering_sentences
from coherence.report.brief import brief_parts
from coherence.report.columns import folded
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
from coherence.report.ranking import FEW, Ranked, by_measure, counted_rejections, rank
from coherence.report.statuses import unreadable_share
from coherence.report.terminal import render_terminal, width_of
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
from coherence.result import Outcome
from coherence.table.printable import counted

SCREEN = 60
"""Lines up to which all of a few units is shown."""
MORE = "--full, or report.html with --out DIR"
_LEFT_OUT = "Every estimate, each result in words, what became of the answers, and all notes"
MOST_LINES = 110
MOST_NAMED = 8
_CAUTION = "caution"
# Units in the ranking, and units whose failure is told: fewer where lines are narrow.
_SIZES = ((30, 12), (30, 8), (24, 6), (24, 3), (15, 2), (8, 1))
MOST_NOTES = 4
_WIDEST_NAME, _LEAST_REST = 34, 12
WORTH_SAYING = 0.01
"""Share of unreadable answers from which a summary names the unit."""


def render_report(
    units: Sequence[Unit],
    *,
    full: bool = False,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
    more: str = MORE,
) -> str:
    """Render a report as text: all of it where it is short, else what one reads first.

    Parameters
    ----------
    units : sequence of Unit
        One per (task, model).
    full : bool
        Whether to show everything however much it is.
    width, color, ascii_only
        As for `coherence.report.terminal.render_terminal`.
    more : str
        Where the rest is, for readers who do not see all.

    Returns
    -------
    str
        Lines without a closing line break: everything where `full`, or where one screen holds it;
        else the tests of up to three units, and a ranking of more.
    """
    if not full and len(units) > FEW:
        return render_summary(units, width=width, color=color, ascii_only=ascii_only, more=more)
    text = render_terminal(units, width=width, color=color, ascii_only=ascii_only)
    if full or text.count("\n") < SCREEN:
        return text
    width = width_of(width)
    lines: list[str] = []
    for unit in units:
        lines += [*render_lines(brief_parts(unit, width), width=width, color=color), "", ""]
    left = f"{_LEFT_OUT}: {more}."
    lines += render_lines([Paragraph(left, style="dim")], width=width, color=color)
    text = "\n".join(lines)
    return text.translate(PLAIN) if ascii_only else text


def render_summary(
    units: Sequence[Unit],
    *,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
    more: str = MORE,
) -> str:
    """Render the summary of many units.

    Parameters
    ----------
    units, width, color, ascii_only, more
        As for `render_report`.

    Returns
    -------
    str
        Lines without a closing line break.
    """
    width = width_of(width)
    check, ranked = rank(units)
    lines: list[str] = []
    for most_ranked, most_told in _SIZES:
        parts = _parts(units, check, ranked, width, most_ranked, most_told, more)
        lines = list(render_lines(parts, width=width, color=color))
        if len(lines) <= MOST_LINES:
            break
    text = "\n".join(lines)
    return text.translate(PLAIN) if ascii_only else text


def _parts(
    units: Sequence[Unit],
    check: str,
    ranked: Sequence[Ranked],
    width: int,
    most_ranked: int,
    most_told: int,
    more: str,
) -> list[Part]:
    return [
        Paragraph(
            f"{counted(len(units), 'unit')} (task · model). {counted_rejections(units)}",
            style="bold",
        ),
        *(Paragraph(line, style="bold") for line in alert_lines(units)),
        Paragraph(),
        *_overview(check, ranked, width, most_ranked),
        *_failures(ranked, most_told),
        *_passing(ranked),
        *_remarks(ranked),
        Paragraph(),
        Paragraph(f"All results of every unit: {more}.", style="dim"),
    ]


def alert_lines(units: Sequence[Unit]) -> list[str]:
    """Say each alert once, with the units that it is about.

    Parameters
    ----------
    units : sequence of Unit
        All of the report.

    Returns
    -------
    list of str
        Sentences that stand above all numbers.
    """
    about: dict[str, list[Unit]] = {}
    for unit in units:
        for alert in unit.alerts:
            about.setdefault(alert, []).append(unit)
    return [
        alert_sentence(alert) + ("" if len(of) == len(units) else f" In {_units_named(of)}.")
        for alert, of in about.items()
    ]


def _units_named(units: Sequence[Unit]) -> str:
    """Name units, and count those beyond a few."""
    named = [unit_heading(unit) for unit in units[:MOST_NAMED]]
    more = [f"{len(units) - MOST_NAMED} more"] if len(units) > MOST_NAMED else []
    return ", ".join([*named, *more])


def _overview(check: str, ranked: Sequence[Ranked], width: int, most: int) -> Iterator[Part]:
    """Yield a line for each unit, of each unit of measurement the largest effect first."""
    if not check:
        yield Paragraph("No two units share a test, by which they could be ranked.")
        return
    shown = ranked[:most]
    heading = interval_heading(row.result for row in shown if row.result)
    rows = [["task · model", "effect", heading, "p (Holm)", "rejected tests"], *map(_cells, shown)]
    widths = [max(cell_width(row[at]) for row in rows) for at in range(4)]
    widths[0] = min(widths[0], _WIDEST_NAME)
    rest = width - sum(widths) - GAP * 4
    if rest < _LEAST_REST:  # what rejects then stands with the unit, below
        widths[0] = max(width - sum(widths[1:]) - GAP * 3, 12)
    else:
        widths.append(rest)
    parts = by_measure(shown)
    among = ", within each unit of measurement" if len(parts) > 1 else ""
    yield Paragraph(f"By the effect of {clean(check)}, the largest first{among}:")
    yield _line(rows[0], widths, "dim")
    for measure, of_measure in parts:
        if measure:
            yield Paragraph(measure, style="dim")
        for row in of_measure:
            yield _line(_cells(row), widths, "bold" if row.rejected else "")
            if row.result is not None and (of := component_of(row.result)):
                yield Paragraph(of, style="dim", lead=" " * 4)
    if len(ranked) > len(shown):
        several = len(by_measure(ranked)) > 1
        others = ", in other units of measurement," if several else ""
        more = counted(len(ranked) - len(shown), "more unit")
        yield Paragraph(f"and {more} with smaller effects{others} or none.")


def _line(cells: Sequence[str], widths: Sequence[int], style: Style) -> Row:
    # Names go on below themselves, and break between their parts.
    texts = [folded(cell, column) for cell, column in zip(cells, widths, strict=False)]
    return Row(texts, widths, style, right=(3,))


def _cells(row: Ranked) -> list[str]:
    cells = ["not run", "", ""]
    if row.result is not None:
        cells = [*format_effect(row.result), format_tested(row.result)]
    return [unit_heading(row.unit), *cells, ", ".join(clean(r.check) for r in row.rejected)]


def _failures(ranked: Sequence[Ranked], most: int) -> Iterator[Part]:
    """Yield the two sentences of each unit in which a test rejects."""
    failing = [row for row in ranked if row.rejected]
    if not failing:
        return
    yield Paragraph()
    yield Rule()
    for row in failing[:most]:
        yield Paragraph(unit_heading(row.unit), style="bold")
        yield Paragraph(" ".join(row.unit.conclusion), lead="  ")
    if len(failing) > most:
        yield Paragraph(f"and {counted(len(failing) - most, 'more unit')} in which a test rejects.")


def _passing(ranked: Sequence[Ranked]) -> Iterator[Part]:
    passing = [row for row in ranked if not row.rejected]
    if not passing:
        return
    signs = sum(
        any(result.outcome() is Outcome.UNCORRECTED for result in row.unit.results)
        for row in passing
    )
    yield Paragraph()
    # In some of them, p was small before the correction.
    uncorrected = f" ({signs} with a sign that does not survive the correction)" if signs else ""
    yield Paragraph(
        f"No test rejects in {counted(len(passing), 'unit')}{uncorrected}: "
        f"{_units_named([row.unit for row in passing])}. Passing proves "
        "nothing: the intervals say what effects remain possible.",
    )


def _remarks(ranked: Sequence[Ranked]) -> Iterator[Part]:
    """Yield what is off in some units, and what was assumed in all."""
    shares = [(unreadable_share(row.unit), row) for row in ranked]
    unread = sorted((pair for pair in shares if pair[0] >= WORTH_SAYING), key=lambda pair: -pair[0])
    sentences = []
    if unread:
        worst = ", ".join(f"{unit_heading(row.unit)} {share:.1%}" for share, row in unread[:4])
        sentences.append(
            f"{counted(len(unread), 'unit has', 'units have')} at least {WORTH_SAYING:.0%} "
            f"unreadable answers, the most: {worst}."
        )
    about: dict[str, list[Unit]] = {}
    for row in ranked:
        of_answers = answering_sentences(row.unit.answering)
        cautions = [text for text in of_answers if text.startswith(_CAUTION)]
        for sentence in dict.fromkeys(map(clean, [*row.unit.other_notes, *cautions])):
            about.setdefault(sentence, []).append(row.unit)
    of_all = sorted(sentence for sentence, of in about.items() if len(of) == len(ranked))
    sentences += [f"all units: {sentence}" for sentence in of_all[:MOST_NOTES]]
    # What may mislead in some units only, with their names.
    of_some = [text for text in about if text.startswith(_CAUTION) and text not in of_all]
    sentences += [f"{_units_named(about[text])}: {text}" for text in of_some[:MOST_NOTES]]
    others = len(about) - len(of_all[:MOST_NOTES]) - len(of_some[:MOST_NOTES])
    if others > 0:
        sentences.append(
            f"{counted(others, 'more note')} on what was left out or assumed in some units."
        )
    if sentences:
        yield Paragraph()
    for sentence in sentences:
        yield Paragraph(f"· {sentence}")
