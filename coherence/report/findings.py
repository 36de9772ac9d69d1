"""What a report says, as one document: the verdict of each evaluation, one table, then the rest.

What stands in front is the screen of a few evaluations; what follows in detail is printed by
``--full`` and folded on a page. Differences of probabilities are in points, hundredths. The mark is
that of the primary test: no other row has one, and nothing but the verdict concludes.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, starmap
from typing import Any

from coherence.checks.check import Question, check_of, interpretation_of
from coherence.checks.matching import MatchingResult
from coherence.checks.persons import OWN_BELIEF
from coherence.checks.stakes import StakesResult
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.checks.sufficiency_result import Sufficiency
from coherence.decoding.decode import FAILURES, LOW_MASS
from coherence.printable import capitalised, counted, numbered
from coherence.report.document import (
    Cell,
    Column,
    Figure,
    Fold,
    Heading,
    Kind,
    Look,
    Notes,
    Paragraph,
    Part,
    Table,
    build_table,
    count,
)
from coherence.report.effects import in_order, long_table, question_sentences, short_table
from coherence.report.evaluation import (
    FEW,
    EvaluationReport,
    evaluation_key,
    moves_sentence,
    stillness,
)
from coherence.report.json import command
from coherence.report.next_steps import next_step
from coherence.report.scores import forecast_table, forecasts_alone, not_scored, scores_sentence
from coherence.report.verdicts import REJECTS
from coherence.report.wording import (
    NOT_GIVEN,
    answering_notes,
    clean,
    evaluation_heading,
    evaluations_named,
    format_interval,
    format_pvalue,
    noise_alone,
)
from coherence.result import LEVEL, CheckResult, Family, ForecastScores, Outcome
from coherence.runs.notes import Code, Level, Note
from coherence.runs.runs import MISSING, audit_table

MOST_WARNINGS, MOST_NAMED = 3, 3
WORTH_SAYING = 0.01
"""Share of unparsed answers from which a summary of many names the evaluation."""
KEPT = (
    "Not rejecting is not evidence of coherence: the intervals hold the effects compatible with "
    "the data."
)
NO_ROWS, NOTHING_RUN = "The runs table holds no rows to check.", "No check could be run."
RESULTS = (
    "Effects with 95% intervals over cases; p of single tests, of further tests also adjusted by "
    "Holm within model and task; without a p-value a line is an estimate."
)
MARKS = {
    Outcome.REJECTED: ("● ", "● rejects at .05, of further tests after that correction."),
    Outcome.UNCORRECTED: ("○ ", "○ rejects alone, and not after that correction."),
}
"""How a test ended -> mark of its p-value, and what that means."""


def document_of(
    evaluations: Sequence[EvaluationReport],
    settings: Mapping[str, Any] | None = None,
    *,
    page: bool = False,
    answers: Mapping[str, str] | None = None,
    pages: Mapping[str, str] | None = None,
    more: str = "",
) -> tuple[list[Part], list[Part]]:
    """Return what a report says: what a screen shows of it, and the rest.

    Parameters
    ----------
    evaluations : sequence of EvaluationReport
        At least one, but for a report of nothing.
    settings : mapping, optional
        Those of the report, with which its numbers can be had again.
    page : bool
        Whether it is for a page, which has figures and hypotheses.
    answers, pages : mapping, optional
        Where answers and details of evaluations lie, by their keys. Those that have a page of
        their own have none here.
    more : str
        Where a screen sends for the details, which are then left out.
    """
    if not evaluations:
        return [Paragraph(NO_ROWS)], []
    keys = [evaluation_key(number + 1) for number in range(len(evaluations))]
    answers, pages = answers or {}, pages or {}
    alone, many = forecasts_alone(evaluations), len(evaluations) > FEW
    front: list[Part]
    details: list[Part] = []
    if alone:
        front = [*_scores(evaluations)]
        rest = " Reliability diagrams: --figures DIR." * many
        front += [Paragraph(f"Everything else: {more}.{rest}", Look.SOFT)] * bool(more)
    elif many:
        urls = [pages.get(key, f"#{key}") for key in keys] if page else ()
        front, details = [*_overview(evaluations, urls, more)], [*_said(evaluations, urls)]
    else:
        front = [
            part
            for each, key in zip(evaluations, keys, strict=True)
            for part in head(each, page=page, link=f"#{key}", answers=answers.get(key, ""))
        ]
        front += [*effects(evaluations, more)]
    front = [part for part in front if not isinstance(part, Notes) or part.sentences]
    if more:
        return front, []
    if page and many and not alone:
        from coherence.report.figures import forest_figures

        details += forest_figures(evaluations)
    for evaluation, key in zip(evaluations, keys, strict=True):
        if key in pages:
            details += _linked(evaluation, key, pages[key], answers.get(key, ""))
        elif not (alone and many and page):
            heading = evaluation_heading(evaluation)
            details.append(Heading(f"{heading}: details", anchor=key))
            if alone or many:
                details += [*head(evaluation, page=page, answers=answers.get(key, ""))][1:]
            in_front = not (alone or many or has_verdicts(evaluations))
            details += details_of(evaluation, key, page=page, in_front=in_front)
    if not alone and (scores := [*_scores(evaluations)]):
        details.append(Fold("Scores of the beliefs", tuple(scores)))
    if settings is not None:
        details += _again(settings)
    return front, details


# What is said first


def has_verdicts(evaluations: Sequence[EvaluationReport]) -> bool:
    """Tell whether any evaluation has the primary test, or was asked which belief it acts on."""
    return any(e.primary or question_sentences(e.results) for e in evaluations)


def head(
    evaluation: EvaluationReport, *, page: bool = False, link: str = "", answers: str = ""
) -> Iterator[Part]:
    """Yield what an evaluation shows, and what to do next."""
    yield Heading(evaluation_heading(evaluation), aside=_basis(evaluation), link=link)
    yield from (Paragraph(alert.text, Look.ALERT) for alert in evaluation.alerts)
    first, conclusion = evaluation.headline, evaluation.conclusion
    # Without the primary test the further ones are what there is.
    alone = not first.rests_on
    why = evaluation.absent(PRIMARY) or "the primary test was not run"
    verdict = " ".join(conclusion if alone else conclusion[:1])
    look = Look.STRONG if first.marked else Look.PLAIN
    yield Paragraph(verdict or f"No verdict ({why.rstrip('.')}).", look, mark=first.mark)
    further = []
    if evaluation.stakes and evaluation.primary:
        further.append(f"{evaluation.verdict.mark} {conclusion[1]}")
    elif evaluation.stakes and evaluation.absent(PRIMARY):
        further.append(f"Choices at equal belief: {why}")
    elif evaluation.absent(PRIMARY) and _lacks_truth(evaluation):
        further.append(f"Without the truth the primary test cannot run: {why}")
    further.append(_further(evaluation))
    if not alone:  # else they are what is said
        further += question_sentences(evaluation.results)
    yield from (Paragraph(text, mark="") for text in further if text)
    step = next_step(evaluation)
    if step.text and (step.on_page or not page):
        yield Paragraph(f"Next: {step.text}", Look.SOFT, mark="")
        if step.command:
            yield Paragraph(step.command, Look.COMMAND)
    if answers:
        yield Paragraph("What was said: the answers, case by case", link=answers)


def effects(evaluations: Sequence[EvaluationReport], more: str = "") -> Iterator[Part]:
    """Yield the table of a few evaluations, and what stands below it."""
    if (table := short_table(evaluations)).rows:
        yield table
    if has_verdicts(evaluations):
        yield Notes(tuple(warnings(evaluations)))
    else:
        for evaluation in evaluations:
            yield from _moves(evaluation)
            yield results_table(evaluation) if evaluation.results else Paragraph(NOTHING_RUN)
        yield Notes(tuple(warnings(evaluations, assumed=True)))
    counts = counted_rejections(evaluations) * (len(primary_tests(evaluations)) > 1 and not more)
    rest = f"Everything else: {more}." * bool(more)
    said = " ".join(filter(None, [legend(evaluations), counts, rest]))
    yield from [Paragraph(said, Look.SOFT)] * bool(said)


def _moves(evaluation: EvaluationReport) -> Iterator[Part]:
    """Yield how far beliefs, truth and choices vary."""
    if moves := moves_sentence(evaluation.variation):
        yield Paragraph(capitalised(moves))
    # Else the verdict says so itself.
    if (varies := evaluation.variation) and varies.little and not evaluation.verdict.says_variation:
        said = f"{stillness(varies)} Tests of belief against choice can see little here."
        yield Paragraph(said, Look.STRONG)


def _overview(
    evaluations: Sequence[EvaluationReport], urls: Sequence[str], more: str
) -> Iterator[Part]:
    """Yield the table of many evaluations, a row each, and what stands around it."""
    size = counted(len(evaluations), "evaluation")
    yield Paragraph(f"{size} (task · model). {counted_rejections(evaluations)}", Look.STRONG)
    yield from _alerts(evaluations)
    yield long_table(evaluations, urls)
    yield Paragraph(f"{legend(evaluations)} {KEPT}".lstrip(), Look.SOFT)
    yield Notes((*_unparsed_shares(evaluations), *warnings(evaluations)))
    if more:
        yield Paragraph(f"All results of every evaluation: {more}.", Look.SOFT)


def _said(evaluations: Sequence[EvaluationReport], urls: Sequence[str]) -> Iterator[Part]:
    """Yield what the tests of each evaluation say together."""
    parts: list[Part] = []
    for at in in_order(evaluations):
        link = urls[at] if urls else ""
        parts.append(Heading(evaluation_heading(evaluations[at]), link=link, minor=True))
        parts.append(Paragraph(" ".join(evaluations[at].conclusion)))
    title = "What the tests of each evaluation say together, those that reject first"
    yield Fold(title, tuple(parts))


def _alerts(evaluations: Sequence[EvaluationReport]) -> Iterator[Part]:
    """Yield each alert once, with the evaluations that it is about."""
    for alert, of in _by_note(evaluations, lambda each: each.alerts).items():
        named = "" if len(of) == len(evaluations) else f" In {evaluations_named(of)}."
        yield Paragraph(f"{alert.text}{named}", Look.ALERT)


def _scores(evaluations: Sequence[EvaluationReport]) -> Iterator[Part]:
    """Yield the table of scores, a row a forecaster, with what was assumed."""
    if (table := forecast_table(evaluations)) is None:
        return
    yield Paragraph(scores_sentence(evaluations), Look.STRONG)
    yield from _alerts(evaluations)
    yield table
    yield Notes((*warnings(evaluations, assumed=True), *not_scored(evaluations)))


def primary_tests(evaluations: Sequence[EvaluationReport]) -> list[CheckResult]:
    """Return the primary tests that have a p-value."""
    tested = (each.primary for each in evaluations)
    return [result for result in tested if result and result.outcome() is not Outcome.UNTESTED]


def counted_rejections(evaluations: Sequence[EvaluationReport]) -> str:
    """Say in how many evaluations the primary test rejects, and how many false alarms to expect."""
    tested = primary_tests(evaluations)
    if not tested:
        return "The primary test could not be run."
    rejected = sum(result.outcome() is Outcome.REJECTED for result in tested)
    n = len(tested)
    if n == 1:
        return f"The primary test {'rejects' if rejected else 'does not reject'}."
    found = sum(result.pvalue_bh is not None and result.pvalue_bh <= LEVEL for result in tested)
    return (
        f"The primary test rejects in {rejected or 'none'} of {n} evaluations at {LEVEL}. If all "
        f"were coherent, {LEVEL * n:.2g} would be rejected by chance on average"
        + (
            f"; at a false discovery rate of {LEVEL:.0%} over all of them {found or 'none'} "
            f"{'remains' if found <= 1 else 'remain'}."
            if rejected
            else "."
        )
    )


def legend(evaluations: Sequence[EvaluationReport]) -> str:
    """Say what marks of a rejection stand for; nothing where there is none."""
    told = [verdict for each in evaluations for verdict in each.told if verdict.marked]
    named = ", or ".join(dict.fromkeys(verdict.of_mark for verdict in told))
    return f"{REJECTS} {named}." if named else ""


def screen_table(evaluations: Sequence[EvaluationReport]) -> Table:
    """Return the table of the screen as one of a document."""
    table, title = short_table(evaluations, verdicts=True), "Verdicts and effects"
    return replace(table, name="verdicts", title=title, caption=legend(evaluations))


def _basis(evaluation: EvaluationReport) -> str:
    """Say how many cases and answers there are, how they were read, and what stands for truth."""
    parts, primary = [], evaluation.primary
    offers = (r for r in evaluation.results if isinstance(r, MatchingResult | StakesResult))
    asked = primary or next((r for r in offers if r.variant in ("swing", "movement")), None)
    if asked is not None:
        parts.append(_cases(evaluation, asked))
    elif evaluation.results:
        parts.append(counted(max(r.n_contexts for r in evaluation.results), "case"))
    if primary is not None and (persons := primary.n_persons):
        parts.append(counted(persons, "person"))
    if not evaluation.statuses.empty:
        share = evaluation.unparsed_share
        parts.append(counted(int(evaluation.statuses["rows"].sum()), "answer"))
        kind = "with a blank" if evaluation.blanks_alone else "unparsed"
        parts.append(f"{max(share, 0.001):.1%} {kind}" if share else "all parsed")
    text = ", ".join(parts)
    if primary is not None and primary.state is not None:
        exact = primary.state == "exact"
        shares = "; shares of graded answers" if evaluation.rows.graded else "; exact posteriors"
        text += shares if exact else "; realised states"
    return text


def _lacks_truth(evaluation: EvaluationReport) -> bool:
    """Tell whether there are beliefs and choices, and no truth to hold them against."""
    rows = evaluation.rows
    return bool(rows.beliefs) and "action" in rows.names and "theta" not in rows.names


def _cases(evaluation: EvaluationReport, result: CheckResult) -> str:
    """Count the cases, and where a result has fewer those that have all that it takes."""
    tables = [of.table for of in (evaluation.rows, evaluation.rows.levels) if of is not None]
    asked = {case for table in tables if "context" in table for case in table["context"].unique()}
    if len(asked) <= result.n_contexts:
        return counted(result.n_contexts, "case")
    what = "belief, choice and truth" if result.family is Family.PRIMARY else "belief and choices"
    return f"{counted(len(asked), 'case')} ({result.n_contexts} with {what})"


def _further(evaluation: EvaluationReport) -> str:
    """Name the further tests that reject beside a verdict, which rests on none of them."""
    if evaluation.primary is None:
        return ""  # then they are what is said
    tests = evaluation.further_tests
    rejected = [result for result in tests if result.outcome() is Outcome.REJECTED]
    if not rejected:
        return ""
    found = [clean(result.check) for result in rejected]
    causes = [cause for r in rejected if (cause := noise_alone(r, evaluation.scatter))]
    alone = f"; {causes[0]} could cause " if causes else ""
    alone += "that alone" if len(causes) == len(rejected) else f"{len(causes)} of them alone"
    named = ", ".join(found[:MOST_NAMED]) + (", ..." if len(found) > MOST_NAMED else "")
    of = "" if len(tests) == 1 else f" of {len(tests)}"
    reject = f"{len(found)}{of} {numbered(len(found), 'rejects', 'reject')} ({named})"
    return f"Further tests: {reject}{alone * bool(causes)}."


# Notes, each once


def _by_note(
    evaluations: Sequence[EvaluationReport],
    notes_of: Callable[[EvaluationReport], Iterable[Note]],
) -> dict[Note, list[EvaluationReport]]:
    """Return the evaluations that each note is about."""
    about: dict[Note, list[EvaluationReport]] = {}
    for evaluation in evaluations:
        for note in dict.fromkeys(notes_of(evaluation)):
            about.setdefault(note, []).append(evaluation)
    return about


def warnings(evaluations: Sequence[EvaluationReport], *, assumed: bool = False) -> Iterator[str]:
    """Yield what may mislead; of reports without a verdict also what was left out or `assumed`."""

    def notes_of(each: EvaluationReport) -> list[Note]:
        known = [note for note in each.remarks if note.code is not Code.NOT_RUN and assumed]
        notes = (*answering_notes(each.answering), *each.remarks)
        return [*(note for note in notes if note.level is Level.WARNING), *known]

    about = _by_note(evaluations, notes_of)
    most = MOST_WARNINGS + assumed
    for note in sorted(about, key=lambda note: note.level is not Level.WARNING)[:most]:
        all_of_them = len(about[note]) == len(evaluations)
        yield f"{'' if all_of_them else f'{evaluations_named(about[note])}: '}{note}"
    if len(about) > most:
        yield f"{counted(len(about) - most, 'further note' if assumed else 'further warning')}."


def _unparsed_shares(evaluations: Sequence[EvaluationReport]) -> Iterator[str]:
    """Say in which of many evaluations answers could not be parsed."""
    unparsed = [each for each in evaluations if each.unparsed_share >= WORTH_SAYING]
    if unparsed:
        most = sorted(unparsed, key=lambda each: -each.unparsed_share)[:4]
        worst = ", ".join(f"{evaluation_heading(each)} {each.unparsed_share:.1%}" for each in most)
        have = counted(len(unparsed), "evaluation has", "evaluations have")
        yield f"{have} at least {WORTH_SAYING:.0%} unparsed answers, the most: {worst}."


# Details


def details_of(
    evaluation: EvaluationReport, key: str, *, page: bool, in_front: bool = False
) -> Iterator[Part]:
    """Yield all that is known of an evaluation behind what is said first.

    `in_front` says that its results stand there, without a verdict.
    """
    drawn = _drawn(evaluation, key) if page else []
    if not in_front:
        yield from _moves(evaluation)
    yield from (figure for figure in drawn if not figure.further)
    if evaluation.results and not in_front:
        conclusion = evaluation.conclusion[1:] if evaluation.headline.rests_on else ()
        yield Fold("Checks", (*map(Paragraph, conclusion), results_table(evaluation)))
    if evaluation.results:
        pairs = zip(evaluation.results, evaluation.verdicts, strict=True)
        yield Fold("Every result in words", (Notes(tuple(starmap(_in_words, pairs))),))
    elif not in_front:
        yield Paragraph(NOTHING_RUN)
    notes = (*answering_notes(evaluation.answering), *evaluation.remarks)
    if notes:
        yield Fold(
            "Notes: how the answers were elicited, what was left out",
            (Notes(tuple(map(str, notes))),),
        )
    if (counts := answers_table(evaluation)).rows:
        yield Fold("Counts of answers", (counts,))
    further = [figure for figure in drawn if figure.further]
    if further:
        title = "Further figures: pairs of actions, beliefs by action, calibration"
        yield Fold(title, tuple(further))
    if page and evaluation.results:
        yield Fold(
            "Hypotheses and assumptions of each check",
            (Notes(tuple(map(_hypothesis, evaluation.results))),),
        )


def _drawn(evaluation: EvaluationReport, key: str) -> list[Figure]:
    from coherence.report.figures import evaluation_figures  # a screen draws none

    return evaluation_figures(evaluation, key)


def _linked(evaluation: EvaluationReport, key: str, page: str, answers: str) -> Iterator[Part]:
    """Yield what a report of many shows of an evaluation with a page of its own."""
    yield Heading(evaluation_heading(evaluation), anchor=key)
    yield Paragraph("All figures and details", link=page)
    if answers:
        yield Paragraph("What was said", link=answers)
    if evaluation.results:
        title = f"Results of {evaluation_heading(evaluation)}"
        yield Fold(title, (results_table(evaluation),))


def _checked(result: CheckResult) -> Cell:
    check = check_of(result.check)
    words = "" if check is None else interpretation_of(result.check).words
    if isinstance(result.fitted, ForecastScores) and result.fitted.n_states > 2:
        words = interpretation_of(result.check).heading
    if isinstance(result, Sufficiency) and result.test == OWN_BELIEF:
        words = "choices at equal own belief"
    return Cell(f"{words} ({result.check})" if words else result.check, {"": result.check})


def _with_unit(result: CheckResult) -> Cell:
    """Show an effect, and say which it is where it is one of several."""
    record, component = result.to_row(), result.component or ""
    exact = {"": record["estimate"]}
    exact |= {key: record[key] for key in ("low", "high", "level", "unit")}
    undefined = math.isnan(result.statistic)
    note = result.reason if undefined else result.estimate_note() * bool(component)
    # The estimate shares its decimals with the ends: it is read against them.
    number = _formatted(result)[0]
    unit = "" if undefined else clean(result.unit)
    if unit.startswith("%"):  # "3.2% of log-loss", but "3.2 nats"
        number, unit = f"{number}%", unit[1:].lstrip()
    text = " ".join(filter(None, [number, unit]))
    return Cell(text, exact | {"component": component}, note, is_reason=undefined)


def _formatted(result: CheckResult) -> list[str]:
    interval = result.interval
    ends = () if interval is None else (interval.low, interval.high)
    return format_interval([result.statistic, *ends])


def _interval(result: CheckResult) -> Cell:
    interval = result.interval
    unknown = interval is None or (math.isnan(interval.low) and math.isnan(interval.high))
    return Cell(NOT_GIVEN if unknown else "[{1}, {2}]".format(*_formatted(result)))


def _tested(result: CheckResult) -> Cell:
    mark = MARKS.get(result.outcome(), ("", ""))[0]
    return Cell(f"{mark}{format_pvalue(result.pvalue)}", {"": result.pvalue})


def results_table(evaluation: EvaluationReport) -> Table:
    """Return all results, below the questions that they answer."""
    by_question: dict[str, list[CheckResult]] = {question: [] for question in Question}
    for result in evaluation.results:
        check = check_of(result.check)
        by_question[Question.FURTHER if check is None else check.question].append(result)
    groups = [(question, of) for question, of in by_question.items() if of]
    results = [result for _, of in groups for result in of]
    starts = accumulate([len(of) for _, of in groups], initial=0)
    ends = {result.outcome() for result in results}
    marks = [meaning for outcome, (_, meaning) in MARKS.items() if outcome in ends]
    left_out = Column(
        "left_out", "left out", make=lambda r: Cell(str(r.n_dropped), {"": r.n_dropped})
    )
    columns = [
        Column("check", kind=Kind.LABEL, make=_checked),
        Column("effect", kind=Kind.LABEL, make=_with_unit),
        Column("", "95% interval", Kind.INTERVAL, make=_interval),
        Column("p", make=_tested),
        Column("p_holm", "p by Holm", make=_holm),
        Column("contexts", "cases", make=lambda r: Cell(str(r.n_contexts), {"": r.n_contexts})),
        Column("rows", make=lambda r: Cell(str(r.n_rows), {"": r.n_rows})),
        *[left_out] * any(result.n_dropped for result in results),
    ]
    return build_table(
        results,
        columns,
        title=f"Results of {evaluation_heading(evaluation)}",
        caption=" ".join([RESULTS, *marks]),
        parts={at: question for at, (question, _) in zip(starts, groups, strict=False)},
        strong={at for at, r in enumerate(results) if r.outcome() is Outcome.REJECTED},
    )


def _holm(result: CheckResult) -> Cell:
    """Return the p-value by Holm, which bounds the chance of any false rejection."""
    return Cell(format_pvalue(result.pvalue_holm), {"": result.pvalue_holm})


def _in_words(result: CheckResult, verdict: str) -> str:
    """Return a verdict with the reason, which one of an unanswered result holds itself."""
    reason = f" ({result.reason})" if result.reason and not result.unanswered else ""
    return f"{result.check}: {verdict}{reason}"


def _hypothesis(result: CheckResult) -> str:
    """Return what a result tests or estimates, and by what."""
    said = {
        "Estimates" if result.pvalue is None else "Null hypothesis": result.null,
        "Assumes": "; ".join(each.rstrip(".") for each in result.assumptions),
        "Interval": "" if result.interval is None else result.interval.method,
    }
    return f"{result.check}. " + " ".join(f"{name}: {text}." for name, text in said.items() if text)


def answers_table(evaluation: EvaluationReport) -> Table:
    """Count what became of the answers; failures that did not occur have no column."""
    if evaluation.statuses.empty:
        return Table()
    table, unparsed = audit_table(evaluation.statuses), "share_unreadable"
    shown = [name for name in ("repaired", LOW_MASS, *FAILURES, MISSING) if table[name].any()]
    headings = {
        "sum_not_one": "sum not 1",
        "out_of_range": "out of range",
        LOW_MASS: "low mass",
    }
    columns = [
        Column("question", kind=Kind.LABEL),
        *(count(name, headings.get(name, name)) for name in ("asked", "ok", *shown)),
        Column(unparsed, "unparsed in all", Kind.SHARE),
    ]
    # The names may be a categorical, whose accessor has no text functions.
    kind = evaluation.statuses["status"].astype(str).str.partition(":")
    repairs = evaluation.statuses["rows"][kind[0] == "repaired"].groupby(kind[2]).sum()
    said = ", ".join(
        f"{n} {clean(name)}" for name, n in repairs.sort_values(ascending=False).items() if name
    )
    caption = "Unparsed answers are counted and enter no result."
    caption += f" Repaired answers by what was repaired: {said}." * bool(said)
    return build_table(table.to_dict("records"), columns, title="Answers", caption=caption)


def _again(settings: Mapping[str, Any]) -> Iterator[Part]:
    """Yield how to get the numbers again."""
    told = "The same table, version and seed give the same numbers, on any number of processors:"
    parts = (Paragraph(told), Paragraph(command(settings), Look.COMMAND))
    yield Fold("How to get these numbers again", parts)
