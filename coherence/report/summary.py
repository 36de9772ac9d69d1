"""A report of many units as text that fits a few screens: what ranks them, what fails, what is off.

Everything else is one option or one page away; no line is spent on what all units share.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from coherence.report.answering import answering_sentences
from coherence.report.columns import GAP, render_lines
from coherence.report.plain import PLAIN
from coherence.report.ranking import FEW, Ranked, counted_rejections, rank
from coherence.report.terminal import (
    MAX_WIDTH,
    MIN_WIDTH,
    render_terminal,
)
from coherence.report.unit import Unit
from coherence.report.wording import (
    alert_sentence,
    clean,
    format_effect,
    format_tested,
    interval_heading,
    unit_heading,
)
from coherence.result import Outcome
from coherence.table.printable import counted
from coherence.table.schema import READABLE

MOST_LINES = 110
MOST_NAMED = 8
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
) -> str:
    """Render a report as text: everything of a few units, a summary of many.

    Parameters
    ----------
    units : sequence of Unit
        One per (task, model).
    full : bool
        Whether to show everything however many units there are.
    width, color, ascii_only
        As for `coherence.report.terminal.render_terminal`.

    Returns
    -------
    str
        Lines without a closing line break.
    """
    render = render_terminal if full or len(units) <= FEW else render_summary
    return render(units, width=width, color=color, ascii_only=ascii_only)


def render_summary(
    units: Sequence[Unit],
    *,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Render the summary of many units.

    Parameters
    ----------
    units, width, color, ascii_only
        As for `coherence.report.terminal.render_terminal`.

    Returns
    -------
    str
        Lines without a closing line break.
    """
    if width is None:
        width = min(shutil.get_terminal_size((100, 24)).columns, MAX_WIDTH)
    width = max(MIN_WIDTH, width)
    check, ranked = rank(units)
    lines: list[str] = []
    for most_ranked, most_told in _SIZES:
        parts = _parts(units, check, ranked, width, most_ranked, most_told)
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
) -> list[RenderableType]:
    return [
        Text(
            f"{counted(len(units), 'unit')} (task · model). {counted_rejections(units)}",
            style="bold",
        ),
        *(Text(line, style="bold", overflow="fold") for line in alert_lines(units)),
        Text(),
        *_overview(check, ranked, width, most_ranked),
        *_failures(ranked, most_told),
        *_passing(ranked),
        *_remarks(ranked),
        Text(),
        Text("All results of every unit: --full, or report.html with --out DIR.", style="dim"),
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


def _overview(
    check: str, ranked: Sequence[Ranked], width: int, most: int
) -> Iterator[RenderableType]:
    """Yield a line for each unit, the largest effect first."""
    if not check:
        yield Text("No two units share a test, by which they could be ranked.")
        return
    shown = ranked[:most]
    heading = interval_heading(row.result for row in shown if row.result)
    rows = [["task · model", "effect", heading, "p (Holm)", "rejected tests"]]
    for row in shown:
        named = ", ".join(clean(result.check) for result in row.rejected)
        cells = ["not run", "", ""]
        if row.result is not None:
            cells = [*format_effect(row.result), format_tested(row.result)]
        rows.append([unit_heading(row.unit), *cells, named])
    widths = [max(cell_len(row[at]) for row in rows) for at in range(4)]
    widths[0] = min(widths[0], _WIDEST_NAME)
    rest = width - sum(widths) - GAP * 4
    grid = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    if rest < _LEAST_REST:  # what rejects then stands with the unit, below
        widths[0] = max(width - sum(widths[1:]) - GAP * 3, 12)
        rows = [row[:4] for row in rows]
    else:
        widths.append(rest)
    for at, column in enumerate(widths):
        grid.add_column(
            width=column,
            justify="right" if at == 3 else "left",
            overflow="fold",
        )
    yield Text(f"By the effect of {clean(check)}, the largest of each unit of measurement first:")
    for at, cells in enumerate(rows):
        style = "dim" if at == 0 else "bold" if ranked[at - 1].rejected else ""
        grid.add_row(*(Text(cell, style=style, overflow="fold") for cell in cells))
    yield grid
    if len(ranked) > len(shown):
        yield Text(
            f"and {counted(len(ranked) - len(shown), 'more unit')} with smaller effects or none."
        )


def _failures(ranked: Sequence[Ranked], most: int) -> Iterator[RenderableType]:
    """Yield the two sentences of each unit in which a test rejects."""
    failing = [row for row in ranked if row.rejected]
    if not failing:
        return
    yield Text()
    yield Rule(style="dim")
    for row in failing[:most]:
        yield Text(unit_heading(row.unit), style="bold", overflow="fold")
        yield Padding(Text(" ".join(row.unit.conclusion), overflow="fold"), (0, 0, 0, 2))
    if len(failing) > most:
        yield Text(f"and {counted(len(failing) - most, 'more unit')} in which a test rejects.")


def _passing(ranked: Sequence[Ranked]) -> Iterator[RenderableType]:
    passing = [row for row in ranked if not row.rejected]
    if not passing:
        return
    signs = sum(
        any(result.outcome() is Outcome.UNCORRECTED for result in row.unit.results)
        for row in passing
    )
    yield Text()
    # In some of them, p was small before the correction.
    uncorrected = f" ({signs} with a sign that does not survive the correction)" if signs else ""
    yield Text(
        f"No test rejects in {counted(len(passing), 'unit')}{uncorrected}: "
        f"{_units_named([row.unit for row in passing])}. Passing proves "
        "nothing: the intervals say what effects remain possible.",
        overflow="fold",
    )


def unreadable_share(unit: Unit) -> float:
    """Return the share of a unit's answers that could not be read.

    Parameters
    ----------
    unit : Unit
        Its ``statuses`` are counted.

    Returns
    -------
    float
        0 where nothing was counted.
    """
    if unit.statuses.empty:
        return 0.0
    rows = unit.statuses["rows"]
    unread = ~unit.statuses["status"].astype(str).isin(READABLE)
    return float(rows[unread].sum() / rows.sum())


def _remarks(ranked: Sequence[Ranked]) -> Iterator[RenderableType]:
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
    said = Counter(
        clean(sentence)
        for row in ranked
        for sentence in {
            *row.unit.other_notes,
            *(s for s in answering_sentences(row.unit.answering) if s.startswith("caution")),
        }
    )
    of_all = [sentence for sentence, n in said.items() if n == len(ranked)]
    sentences += [f"all units: {sentence}" for sentence in sorted(of_all)[:MOST_NOTES]]
    others = len(said) - len(of_all[:MOST_NOTES])
    if others > 0:
        sentences.append(
            f"{counted(others, 'more note')} on what was left out or assumed in some units."
        )
    if sentences:
        yield Text()
    for sentence in sentences:
        yield Text(f"· {sentence}", overflow="fold")
