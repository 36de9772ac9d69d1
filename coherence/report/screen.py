"""The short report of a few evaluations: the verdict of each, then one table with a column each.

Differences of probabilities are in points, hundredths. The mark is that of the primary test: no
other row has one, and nothing but the verdict concludes.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from coherence.checks.catalogue import check_of, declarations, declared_name, interpretation_of
from coherence.checks.check import Form, Question
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.printable import counted, numbered
from coherence.report.acted_on import (
    DIFFERENCE,
    MOVEMENT,
    SWING,
    THRESHOLD,
    numbers,
    percent,
    question_sentences,
    share_with_interval,
    threshold_place,
)
from coherence.report.document import Cell, Table, table_of_texts
from coherence.report.evaluation import EvaluationReport
from coherence.report.layout import Command, Fitted, as_cell, as_text, listed
from coherence.report.verdicts import REJECTS
from coherence.report.view import View, view
from coherence.report.wording import ALERT, LOW, NOT_GIVEN, clean, evaluation_heading, with_interval
from coherence.result import CheckResult, Estimate, Family, Outcome
from coherence.runs.notes import Level, Note
from coherence.runs.states import NO, folded

MOST_WARNINGS, MOST_NAMED = 3, 3
NOT_IDENTIFIED = "not identified"
KEPT = (
    "Not rejecting is not evidence of coherence: the intervals hold the effects compatible with "
    "the data."
)


def has_verdicts(evaluations: Sequence[EvaluationReport]) -> bool:
    """Tell whether any evaluation has the primary test, or was asked which belief it acts on."""
    return any(_primary(e) or question_sentences(e.results) for e in evaluations)


@dataclass(frozen=True)
class Headline:
    """What a report says of an evaluation first."""

    view: View
    basis: str  # cases, answers, how they were parsed, and what stands for the truth
    mark: str
    marked: bool  # whether it is that of a rejection
    verdict: str
    further: tuple[str, ...]


def screen(
    evaluations: Sequence[EvaluationReport], more: str, below: Iterable[RenderableType] = ()
) -> Iterator[RenderableType]:
    """Yield the parts of the short report, those that stand below the table before its end."""
    seen = [(evaluation, view(evaluation)) for evaluation in evaluations]
    for evaluation, about in seen:
        said = headline(evaluation, about)
        yield _head(said)
        yield from (as_text(f"{ALERT}: {note}", "bold") for note in about.alerts)
        yield _verdict(said)
        if about.next.command:
            yield Command(about.next.command, indent=6)
    yield Text()
    table = short_table(evaluations)
    if table.rows:
        yield Fitted(table, gap=3, indent=2)
    yield from listed(list(warnings(seen)))
    yield from below
    yield as_text(f"{legend(evaluations)} Everything else: {more}.".lstrip(), "dim")


def legend(evaluations: Sequence[EvaluationReport]) -> str:
    """Say what the mark of a rejection stands for; nothing without the primary test."""
    stakes = any(evaluation.stakes for evaluation in evaluations)
    if not any(map(_primary, evaluations)):
        return f"{REJECTS} stakes ignored." * stakes
    others = {
        evaluation.verdict.rests_on for evaluation in evaluations if evaluation.verdict.marked
    }
    tests = [f", or {name}" for name in sorted(others - {PRIMARY})]
    return f"{REJECTS} primary test, p ≤ .05{''.join(tests)}{', or stakes ignored' * stakes}."


def _primary(evaluation: EvaluationReport) -> CheckResult | None:
    return next((r for r in evaluation.results if r.family is Family.PRIMARY), None)


def _head(said: Headline) -> Grid:
    """Name an evaluation, and say on the right what it rests on."""
    grid = Grid.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", overflow="fold")
    grid.add_row(as_cell(said.view.heading, "bold"), as_text(said.basis, "dim"))
    return grid


def _basis(evaluation: EvaluationReport) -> str:
    """Say how many cases and answers there are, how they were read, and what stands for truth."""
    parts, primary = [], _primary(evaluation)
    asked = primary or _by_name(evaluation, SWING) or _by_name(evaluation, MOVEMENT)
    if asked is not None:
        parts.append(_cases(evaluation, asked))
    elif _lacks_truth(evaluation) and "context" in evaluation.rows.names:
        parts.append(counted(evaluation.rows.table["context"].nunique(), "case"))
    if primary is not None and (persons := primary.settings.get("n_persons")):
        parts.append(counted(persons, "person"))
    if not evaluation.statuses.empty:
        share = evaluation.unparsed_share
        parts.append(counted(int(evaluation.statuses["rows"].sum()), "answer"))
        kind = "with a blank" if evaluation.blanks_alone else "unparsed"
        parts.append(f"{max(share, 0.001):.1%} {kind}" if share else "all parsed")
    text = ", ".join(parts)
    if primary is not None and "state" in primary.settings:
        exact = primary.settings["state"] == "exact"
        shares = "; shares of graded answers" if evaluation.rows.graded else "; exact posteriors"
        text += shares if exact else "; realised states"
    return text


def _lacks_truth(evaluation: EvaluationReport) -> bool:
    """Tell whether the primary test was not run for want of a truth alone."""
    rows = evaluation.rows
    choices = bool(rows.beliefs) and "action" in rows.names
    return bool(evaluation.absent("sufficiency")) and choices and "theta" not in rows.names


def _cases(evaluation: EvaluationReport, result: CheckResult) -> str:
    """Count the cases, and where a result has fewer those that have all that it takes."""
    tables = [of.table for of in (evaluation.rows, evaluation.rows.levels) if of is not None]
    asked = {case for table in tables if "context" in table for case in table["context"].unique()}
    if len(asked) <= result.n_contexts:
        return counted(result.n_contexts, "case")
    what = "belief, choice and truth" if result.family is Family.PRIMARY else "belief and choices"
    return f"{counted(len(asked), 'case')} ({result.n_contexts} with {what})"


def headline(evaluation: EvaluationReport, said: View) -> Headline:
    """Return what an evaluation shows, and what to do next."""
    # Without the primary test the further ones are what there is.
    alone = not evaluation.headline.rests_on
    shows = said.conclusion if alone else said.conclusion[:1]
    why = evaluation.absent("sufficiency") or "the primary test was not run"
    further = []
    if evaluation.stakes and _primary(evaluation):
        further.append(f"{evaluation.verdict.mark} {said.conclusion[1]}")
    elif evaluation.stakes and evaluation.absent("sufficiency"):
        further.append(f"Choices at equal belief: {clean(why)}")
    elif _lacks_truth(evaluation):
        further.append(f"Without the truth the primary test cannot run: {clean(why)}")
    if evaluation.answering and (
        low := [m.median for m in evaluation.answering.masses if m.median < LOW]
    ):
        unasked = "of its probability lies on the form asked for: it would seldom say this unasked."
        further.append(f"{_share(min(low))} {unasked}")
    further += filter(None, [_further(evaluation)])
    if not alone:  # else they are what is said
        further += question_sentences(evaluation.results)
    return Headline(
        view=said,
        basis=_basis(evaluation),
        mark=evaluation.headline.mark,
        marked=evaluation.headline.marked,
        verdict=" ".join(shows) or f"No verdict ({why.rstrip('.')}).",
        further=tuple(further),
    )


def _verdict(said: Headline) -> Grid:
    """Set a verdict beside its mark, and below it what to do next."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=3, justify="right")
    grid.add_column(ratio=1)
    grid.add_row(Text(said.mark), as_text(said.verdict, "bold" if said.marked else ""))
    for text in said.further:
        grid.add_row(Text(""), as_text(text))
    if step := said.view.next.text:
        grid.add_row(Text(""), as_text(f"Next: {step}", "dim"))
    return grid


def _further(evaluation: EvaluationReport) -> str:
    """Name the further tests that reject beside a verdict, which rests on none of them."""
    if _primary(evaluation) is None:
        return ""  # then they are what is said
    tests = evaluation.further_tests
    found = [clean(r.check) for r in tests if r.outcome() is Outcome.REJECTED]
    if not found:
        return ""
    named = ", ".join(found[:MOST_NAMED]) + (", ..." if len(found) > MOST_NAMED else "")
    of = "" if len(tests) == 1 else f" of {len(tests)}"
    return f"Further tests: {len(found)}{of} {numbered(len(found), 'rejects', 'reject')} ({named})."


def _share(share: float) -> str:
    """Return a small share, of which 1.8e-06 must not read as 0."""
    return f"{share:.1%}" if share >= 0.001 else f"{share:.1g}"


# The table


def _effect(result: CheckResult | None) -> str:
    """Return a difference of probabilities in points, with its interval."""
    if result is None or math.isnan(result.statistic):
        return NOT_GIVEN
    return with_interval(result.statistic, result.interval)


def _by_name(evaluation: EvaluationReport, name: str) -> CheckResult | None:
    return next((result for result in evaluation.results if result.check == name), None)


def _at_equal_belief(evaluation: EvaluationReport, persons: bool = False) -> str:
    if evaluation.rows.crossed is not persons:
        return NOT_GIVEN
    primary = _primary(evaluation)
    if primary is not None and evaluation.verdict.marked and primary.settings.get("turns"):
        return f"turns {REJECTS}"  # one number would average its two directions away
    found = evaluation.verdict.marked and evaluation.verdict.rests_on == PRIMARY
    return f"{_effect(primary)}{f' {REJECTS}' * found}"


def _also(evaluation: EvaluationReport, name: str) -> Estimate | None:
    primary = _primary(evaluation)
    found = primary.also.get(name) if primary is not None else None
    return None if found is None or math.isnan(found.value) else found


def hidden_share(evaluation: EvaluationReport) -> str:
    """Return the hidden share in percent with its interval; a dash where it has none."""
    share = _also(evaluation, "hidden_share")
    return NOT_GIVEN if share is None else share_with_interval(share)


def _follows(evaluation: EvaluationReport) -> str:
    slope = _also(evaluation, "slope")
    # Whoever ignores stakes may well go by the belief at each: their verdict says which it is.
    if slope is None or math.isnan(slope.low) or evaluation.stakes:
        return NOT_GIVEN
    if slope.low <= 0:
        return "not seen"
    primary = _primary(evaluation)
    rises = folded(primary.settings.get("action", "")) if primary is not None else ""
    return f"yes: more {rises}" if rises in NO else "yes"


def threshold(evaluation: EvaluationReport) -> str:
    """Return the stated belief at which choices change, or its bound; a dash for neither."""
    return threshold_place(_threshold_of(evaluation)) or NOT_GIVEN


def _threshold_of(evaluation: EvaluationReport) -> CheckResult | None:
    return _by_name(evaluation, f"{THRESHOLD}:lowest") or _by_name(evaluation, THRESHOLD)


def _changes(evaluations: Sequence[EvaluationReport]) -> str:
    """Name the actions between which choices change, where they are those of all evaluations."""
    found = [result for each in evaluations if (result := _threshold_of(each)) is not None]
    moves = {(result.check, result.settings["start"], result.settings["to"]) for result in found}
    if len(moves) != 1:
        return "choices change at"
    check, start, to = moves.pop()
    label = clean(f"from {start} to {to}" if check == THRESHOLD else to, limit=40)
    return f"changes {label} at" if check == THRESHOLD else f"does {label} from"


def _acted_on(evaluation: EvaluationReport) -> str:
    asked, found = (_by_name(evaluation, name) for name in (SWING, DIFFERENCE))
    return NOT_IDENTIFIED if asked is not None and found is None else _effect(found)


def _estimate(evaluation: EvaluationReport, row: str) -> str:
    """Return the largest estimate of those that declare a row."""
    rows = [(r, check_of(r.check) and interpretation_of(r.check).row) for r in evaluation.results]
    known = [result for result, of in rows if of == row and not math.isnan(result.statistic)]
    if (most := max(known, key=lambda result: result.statistic, default=None)) is None:
        return NOT_GIVEN
    shown = interpretation_of(most.check)
    if shown.unless and _by_name(evaluation, f"{declared_name(most.check)}:{shown.unless}"):
        return NOT_GIVEN
    return {Form.POINTS: _effect, Form.PERCENT: percent, Form.NUMBER: numbers}[shown.form](most)


def _declared_rows() -> dict[str, Callable[[EvaluationReport], str]]:
    """Return the rows that checks declare, in the order of the questions that they answer."""
    checks = sorted(declarations(), key=lambda check: [*Question].index(check.question))
    names = [each.row for check in checks for each in check.sentences.values() if each.row]
    return {name: partial(_estimate, row=name) for name in names}


CHANGES = ""
"""Stands for the name of a row that holds labels of actions."""
ROWS: tuple[tuple[str, Callable[[EvaluationReport], str]], ...] = (
    ("choice at equal belief, points", _at_equal_belief),
    ("choice at equal own belief, points", partial(_at_equal_belief, persons=True)),
    ("hidden share", hidden_share),
    ("choices follow belief", _follows),
    (CHANGES, threshold),
    ("acted on less stated belief, points", _acted_on),
)
"""Rows of the primary test, and of what has no number by itself, before those of checks."""


def _rows_shown(evaluations: Sequence[EvaluationReport]) -> list[list[str]]:
    """Return the rows that any evaluation has: a name, and a cell for each."""
    rows = [
        [_changes(evaluations) if name == CHANGES else name, *map(cell_of, evaluations)]
        for name, cell_of in (*ROWS, *_declared_rows().items())
    ]
    return [row for row in rows if any(cell != NOT_GIVEN for cell in row[1:])]


def _names(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return what parts evaluations: the model, and where there are several tasks these."""
    one_task = len({evaluation.task for evaluation in evaluations}) == 1 and len(evaluations) > 1
    return [
        clean(evaluation.model, limit=80) if one_task else evaluation_heading(evaluation)
        for evaluation in evaluations
    ]


def short_table(evaluations: Sequence[EvaluationReport]) -> Table:
    """Return the rows that any evaluation has, a column for each."""
    return table_of_texts(["95% intervals", *_names(evaluations)], _rows_shown(evaluations))


def long_table(evaluations: Sequence[EvaluationReport], links: Sequence[str] = ()) -> Table:
    """Return the same of many, a row for each: which tests mark first, which cannot tell last."""
    cells = _rows_shown(evaluations)
    columns = [row[0] for row in cells]
    rows = [
        [Cell(name, link=link), Cell(each.headline.brief), *(Cell(row[at + 1]) for row in cells)]
        for at, (each, name, link) in enumerate(
            zip(evaluations, _names(evaluations), links or repeat(""), strict=False)
        )
    ]
    table = table_of_texts(["95% intervals", "verdict", *columns], (), n_labels=2)
    return replace(table, rows=tuple(tuple(rows[at]) for at in in_order(evaluations)))


def in_order(evaluations: Sequence[EvaluationReport]) -> list[int]:
    """Return the places of evaluations by their verdicts, and then by the size of the effect."""

    def place(at: int) -> tuple[bool, bool, float]:
        primary, first = _primary(evaluations[at]), evaluations[at].headline
        effect = math.nan if primary is None else abs(primary.statistic)
        return not first.marked, first.open, math.inf if math.isnan(effect) else -effect

    return sorted(range(len(evaluations)), key=place)


def warnings(seen: Sequence[tuple[EvaluationReport, View]]) -> Iterator[str]:
    """Yield what may mislead, each once with the evaluations that it is about."""
    about: dict[Note, list[EvaluationReport]] = {}
    for evaluation, said in seen:
        for note in (*said.cautions, *said.notes):
            if note.level is Level.WARNING:
                about.setdefault(note, []).append(evaluation)
    for number, (note, of) in enumerate(about.items()):
        if number == MOST_WARNINGS:
            yield f"{counted(len(about) - number, 'further warning')}."
            return
        named = "" if len(of) == len(seen) else f"{', '.join(map(evaluation_heading, of))}: "
        yield f"{named}{note}"
