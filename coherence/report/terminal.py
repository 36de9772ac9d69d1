"""A report as text, laid out by rich: what moves, what this shows, results under their questions.

Names of tasks, models and actions come from files and model output. Every cell is a `Text` of a
cleaned string, so that rich reads no markup, emoji or escape in it.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from coherence.printable import counted
from coherence.report.document import Table, build_table
from coherence.report.evaluation import EvaluationReport
from coherence.report.layout import Command, Fitted, as_text, listed, rendered
from coherence.report.pooling import FEW, counted_rejections, is_test, pooled_sentences
from coherence.report.scores import forecast_table, forecasts_alone, score_remarks, scores_sentence
from coherence.report.screen import KEPT, has_verdicts, in_order, legend, long_table, screen
from coherence.report.view import (
    MARK,
    PLAIN_EFFECT,
    TESTED,
    WORDS,
    Row,
    View,
    interval_column,
    repair_sentence,
    sample_sentences,
    view,
)
from coherence.report.wording import (
    ALERT,
    answering_notes,
    as_shown,
    clean,
    evaluation_heading,
    evaluations_named,
)
from coherence.result import CheckResult, Outcome
from coherence.runs.notes import Code, Level, Note

MORE = "--full, or report.html with --out DIR"
_BESIDE_SCORES = "Reliability diagrams, every result in words, and all notes"
_BESIDE_MANY = "Every result: --full, or report.results; reliability diagrams: --figures DIR."
_LEFT_OUT = "Every estimate, each result in words, what became of the answers, and all notes"
MOST_NOTES = 3
WORTH_SAYING = 0.01
"""Share of unreadable answers from which a summary names the evaluation."""
_RANKED, _FAILING = 24, 6


def render_report(
    evaluations: Sequence[EvaluationReport],
    *,
    full: bool = False,
    width: int | None = None,
    color: bool = False,
    ascii_only: bool = False,
    more: str = MORE,
) -> str:
    """Render a report as text."""
    if not evaluations:
        return "The runs table holds no rows to check."
    parts: list[RenderableType] = []
    if scores := forecast_table(evaluations):
        parts = list(_scores(evaluations, scores, full))
    if not full and forecasts_alone(evaluations):
        rest = f"{_BESIDE_SCORES}: {more}." if len(evaluations) <= FEW else _BESIDE_MANY
        parts += [*_forecast_remarks(evaluations), Text(), as_text(rest, "dim")]
    elif not full and len(evaluations) <= FEW and has_verdicts(evaluations):
        parts += screen(evaluations, more, _over_tasks(evaluations))
    elif not full and len(evaluations) > FEW:
        parts += [
            *_summary(evaluations),
            Text(),
            as_text(f"All results of every evaluation: {more}.", "dim"),
        ]
    else:
        for evaluation in evaluations:
            parts += [*_evaluation(evaluation, full), Text(), Text()]
        over = list(_over_tasks(evaluations))
        parts += [*over, Text(), Text()] if over else []
        parts = parts[:-2] if full else [*parts, as_text(f"{_LEFT_OUT}: {more}.", "dim")]
    return rendered(parts, width, color, ascii_only)


# One evaluation


def _evaluation(evaluation: EvaluationReport, full: bool) -> Iterator[RenderableType]:
    said = view(evaluation)
    yield as_text(said.heading, "bold")
    yield _opening(said)
    if said.next.command:
        yield Command(said.next.command, indent=2)
    yield from (as_text(_alert(alert), "bold") for alert in said.alerts)
    shown = [
        (question, [row for row in group if full or row.leads])
        for question, group in said.questions
    ]
    yield Text()
    if shown:
        yield from _results(said, [(question, group) for question, group in shown if group])
    else:
        yield Text("No check could be run.")
    if hidden := len(said.rows) - sum(len(group) for _, group in shown):
        yield as_text(f"and {counted(hidden, 'further result')} (--full)", "dim")
    if full and said.answers.rows:
        yield from (Text(), Fitted(said.answers))
    remarks = list(
        filter(None, _all_remarks(evaluation, said) if full else _remarks(evaluation, said))
    )
    if remarks:
        yield Text()
        yield from listed(remarks)


def _alert(alert: Note) -> str:
    return f"{ALERT}: {clean(alert)}"


def _opening(said: View) -> Grid:
    """What moves, what this shows, and what to do next."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    shows = " ".join(filter(None, [said.little, *said.conclusion]))
    style = "bold" if any(row.rejects for row in said.rows) else ""
    for heading, text, how in (
        ("What moves", said.moves, ""),
        ("What this shows", shows, style),
        ("What next", said.next.text, ""),
    ):
        if text:
            grid.add_row(Text(heading, style="dim"), as_text(text, how))
    return grid


def _results(said: View, groups: Sequence[tuple[str, list[Row]]]) -> Iterator[RenderableType]:
    """One table, in which a question heads its answers; then what the numbers alone do not say."""
    shown = [row for _, group in groups for row in group]
    marked = any(row.rejects or row.is_nominal for row in shown)
    columns = [WORDS, PLAIN_EFFECT, interval_column(said.interval), TESTED, *[MARK] * marked]
    known = [row for row in shown if row.defined] or shown  # reasons of the others stand below
    groups = [(question, [row for row in group if row in known]) for question, group in groups]
    starts = accumulate([len(group) for _, group in groups], initial=0)
    parts = {at: question for at, (question, group) in zip(starts, groups, strict=False) if group}
    strong = {at for at, row in enumerate(known) if row.rejects}
    yield Fitted(build_table(known, columns, parts=parts, strong=strong))
    # Which effects are of one action, which lie below their interval, and why a number is missing:
    # a dash with a p-value of 1 is no evidence of coherence.
    notes: dict[str, list[str]] = {}
    effects = [(row, row.result.estimate_note()) for row in shown]
    for row, note in [*effects, *((row, row.result.reason) for row in shown)]:
        notes.setdefault(clean(note), []).append(row.check)
    notes.pop("", None)
    yield from listed(
        [f"{', '.join(dict.fromkeys(of))}: {note}" for note, of in notes.items()], " "
    )


def _all_remarks(evaluation: EvaluationReport, said: View) -> Iterator[str]:
    """Every result in words, and all notes."""
    yield from (f"{row.check}: {row.verdict}" for row in said.rows)
    yield from map(str, (*said.cautions, *said.answering))
    yield said.answers.caption
    yield from (*sample_sentences(evaluation.results), *map(str, said.notes))


def _remarks(evaluation: EvaluationReport, said: View) -> Iterator[str]:
    """Say what may mislead, how many answers there are, and what was left out."""
    for note in (*said.cautions, *said.answering):
        if note.level is Level.WARNING or note.code is Code.POLICIES:
            yield str(note)
    # What may mislead is never among those that are only counted.
    notes = sorted(said.notes, key=lambda note: note.level is not Level.WARNING)
    n_shown = max(MOST_NOTES, sum(note.level is Level.WARNING for note in notes))
    yield from map(str, notes[:n_shown])
    if len(notes) > n_shown:
        yield f"{counted(len(notes) - n_shown, 'further note')} on what was left out or assumed."
    yield _counted_answers(evaluation)


def _counted_answers(evaluation: EvaluationReport) -> str:
    """Say how much was asked, how much of it could not be parsed, and what enters the checks."""
    said = []
    if not evaluation.statuses.empty:
        asked = counted(int(evaluation.statuses["rows"].sum()), "row")
        share = evaluation.unparsed_share
        unparsed = "less than 0.1%" if 0 < share < 0.001 else f"{share:.1%}" if share else "none"
        kind = "with a blank" if share and evaluation.blanks_alone else "unparsed"
        said.append(f"{asked} of answers, {unparsed} {kind}")
    computed = [result for result in evaluation.results if result.n_contexts]
    tests = [result for result in computed if is_test(result)]
    if computed:
        most = max(tests or computed, key=lambda result: result.n_rows)
        entered = f"at most {counted(most.n_rows, 'row')} in {counted(most.n_contexts, 'case')}"
        dropped = max(result.n_dropped for result in evaluation.results)
        left = f", {dropped} left out for missing values" if dropped else ""
        said.append(f"{entered} enter {'a test' if tests else 'an estimate, none a test'}{left}")
    text = "; ".join(filter(None, [*said, repair_sentence(evaluation)]))
    return f"{text}." if text else ""


# Scores of forecasts


def _scores(
    evaluations: Sequence[EvaluationReport], scores: Table, full: bool
) -> Iterator[RenderableType]:
    """Yield the table of scores, a row a forecaster."""
    yield as_text(scores_sentence(evaluations), "bold")
    yield from (as_text(line, "bold") for line in alert_lines(evaluations))
    yield from (Text(), Fitted(scores, most=None if full else _RANKED))
    yield as_text(scores.caption, "dim")
    yield Text()


def _forecast_remarks(evaluations: Sequence[EvaluationReport]) -> Iterator[RenderableType]:
    """Yield what was assumed, without the checks that these tables have nothing for."""
    remarks = score_remarks(evaluations)
    if len(evaluations) == 1:
        remarks.append(_counted_answers(evaluations[0]))
    shown = remarks[: MOST_NOTES + 1]
    if len(remarks) > len(shown):
        shown.append(f"{counted(len(remarks) - len(shown), 'further note')}.")
    yield from listed(list(filter(None, shown)))


# Many evaluations


def _summary(evaluations: Sequence[EvaluationReport]) -> Iterator[RenderableType]:
    size = counted(len(evaluations), "evaluation")
    title = f"{size} (task · model). {counted_rejections(evaluations)}"
    yield as_text(title, "bold")
    yield from (as_text(line, "bold") for line in alert_lines(evaluations))
    yield Text()
    yield Fitted(long_table(evaluations), most=_RANKED)
    yield as_text(f"{legend(evaluations)} {KEPT}".lstrip(), "dim")
    yield from _over_tasks(evaluations)
    ordered = [evaluations[at] for at in in_order(evaluations)]
    failing = [each for each in ordered if any(map(_rejects, each.results))]
    if failing:
        yield from (Text(), Rule(style="dim", characters="─"))
    for evaluation in failing[:_FAILING]:
        yield as_text(evaluation_heading(evaluation), "bold")
        yield from listed([" ".join(evaluation.conclusion)], " ")
    if len(failing) > _FAILING:
        rest = counted(len(failing) - _FAILING, "more evaluation")
        yield as_text(f"and {rest} in which a test rejects.")
    remarks = list(_shared_remarks(ordered))
    if remarks:
        yield Text()
        yield from listed(remarks)


def _rejects(result: CheckResult) -> bool:
    return result.outcome() is Outcome.REJECTED


def _over_tasks(evaluations: Sequence[EvaluationReport]) -> Iterator[RenderableType]:
    for heading, sentences in pooled_sentences(evaluations):
        yield Text()
        yield as_text(heading, "bold")
        yield from listed(sentences)


def alert_lines(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Say each alert once, with the evaluations that it is about."""
    about: dict[Note, list[EvaluationReport]] = {}
    for evaluation in evaluations:
        for alert in evaluation.alerts:
            about.setdefault(alert, []).append(evaluation)
    return [
        _alert(alert) + ("" if len(of) == len(evaluations) else f" In {evaluations_named(of)}.")
        for alert, of in about.items()
    ]


def _shared_remarks(evaluations: Sequence[EvaluationReport]) -> Iterator[str]:
    """Yield what is off in some evaluations, and what was assumed in all."""
    unparsed = [each for each in evaluations if each.unparsed_share >= WORTH_SAYING]
    if unparsed:
        most = sorted(unparsed, key=lambda each: -each.unparsed_share)[:4]
        worst = ", ".join(f"{evaluation_heading(each)} {each.unparsed_share:.1%}" for each in most)
        yield (
            f"{counted(len(unparsed), 'evaluation has', 'evaluations have')} at least "
            f"{WORTH_SAYING:.0%} "
            f"unparsed answers, the most: {worst}."
        )
    about: dict[Note, list[EvaluationReport]] = {}
    for evaluation in evaluations:
        of_answers = answering_notes(evaluation.answering)
        warnings = [note for note in of_answers if note.level is Level.WARNING]
        for note in dict.fromkeys(map(as_shown, [*evaluation.remarks, *warnings])):
            about.setdefault(note, []).append(evaluation)
    of_all = sorted((note for note, of in about.items() if len(of) == len(evaluations)), key=str)
    # What may mislead in some evaluations only, with their names.
    of_some = [note for note in about if note.level is Level.WARNING and note not in of_all]
    yield from (f"all evaluations: {note}" for note in of_all[:MOST_NOTES])
    yield from (f"{evaluations_named(about[note])}: {note}" for note in of_some[:MOST_NOTES])
    others = len(about) - len(of_all[:MOST_NOTES]) - len(of_some[:MOST_NOTES])
    if others > 0:
        yield f"{counted(others, 'more note')} on what was left out or assumed in some evaluations."
