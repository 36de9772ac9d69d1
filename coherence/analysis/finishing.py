"""From results to finished evaluations: p-values adjusted over the report, and what is said."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from coherence.analysis.evaluation import EvaluationRows, unreadable
from coherence.analysis.reading import (
    confidence_note,
    settled_by_choice,
    stated_where_it_acts,
    with_alerts,
)
from coherence.analysis.verdict import (
    cautions,
    conclude_further,
    noise_robust_test,
    sentence_of,
)
from coherence.checks.catalogue import check_of
from coherence.checks.sufficiency_result import Sufficiency
from coherence.report.acted_on import question_sentences
from coherence.report.evaluation import EvaluationReport, Verdict
from coherence.report.variation import variation
from coherence.report.verdicts import NOT_TESTED, VerdictInput, decide, decide_stakes, sentence
from coherence.report.wording import belief_noun
from coherence.result import CheckResult, Family
from coherence.runs.audit import (
    answering,
    count_statuses,
    label_questions,
    label_rows,
)
from coherence.runs.check import missing_label_notes
from coherence.runs.notes import Note
from coherence.runs.states import STATE_NAMES, label_text, named_states
from coherence.statistics.figure_tables import figure_tables, over_contexts
from coherence.statistics.multiplicity import benjamini_hochberg, holm


def adjusted(by_evaluation: Sequence[Sequence[CheckResult]]) -> list[list[CheckResult]]:
    """Correct p-values over their families, for each (task, model) of a report.

    The primary test stands at its level, with a false discovery rate over all evaluations beside
    it; the further tests of an evaluation are corrected among themselves; tests of calibration of
    forecasts over all evaluations. What is an estimate in a report has no p-value.
    """
    groups: dict[tuple[Family, int], list[CheckResult]] = {}
    for at, results in enumerate(by_evaluation):
        for result in results:
            family = _family_of(result)
            groups.setdefault((family, at * (family is Family.SECOND)), []).append(result)
    done = {
        id(result): _in_report(result, family, changes)
        for (family, _), group in groups.items()
        for result, changes in zip(group, _corrected(family, group), strict=True)
    }
    return [[done[id(each)] for each in results] for results in by_evaluation]


def _family_of(result: CheckResult) -> Family:
    """Return what a result is in the report; as the papers have it, it is no test."""
    check = check_of(result.check)
    estimate = check is None or result.pvalue is None or result.published
    return Family.ESTIMATE if check is None or estimate else check.family


def _in_report(result: CheckResult, family: Family, corrected: dict[str, Any]) -> CheckResult:
    """Say what a result is, with its p-value corrected; the primary test keeps its level."""
    if family is Family.PRIMARY:
        corrected["pvalue_holm"] = None
    elif family is Family.ESTIMATE and not result.published:
        corrected["pvalue"] = None
    return replace(result, family=family, **corrected)


def _corrected(family: Family, results: Sequence[CheckResult]) -> list[dict[str, Any]]:
    """Return what the correction over a family gives of each result; nothing of estimates."""
    if family is Family.ESTIMATE:
        return [{} for _ in results]
    pvalues = [math.nan if result.pvalue is None else result.pvalue for result in results]
    n_tests = sum(not math.isnan(pvalue) for pvalue in pvalues)
    both = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    return [
        {"pvalue_holm": float(first), "pvalue_bh": float(second), "n_tests": n_tests}
        for first, second in both
    ]


def measured(
    key: Sequence[Any],
    evaluation: EvaluationRows,
    assumed: Sequence[Note],
    planned: Sequence[Note],
) -> EvaluationReport:
    """Put down what an evaluation holds, before anything is said about it."""
    settled = settled_by_choice(evaluation)
    labels = label_rows(evaluation.runs, evaluation.reference)
    beliefs = evaluation.shown()
    remarks = [*missing_label_notes(evaluation.rows), *assumed, *planned]
    remarks += [] if "loss" in evaluation.rows else settled  # there refused
    remarks += confidence_note(evaluation) + stated_where_it_acts(evaluation)
    return EvaluationReport(
        task=str(key[0]),
        model=str(key[1]),
        results=(),
        verdicts=(),
        verdict=NOT_TESTED,
        notes=with_alerts(remarks, evaluation.rows),
        statuses=count_statuses(labels, label_questions(evaluation.runs.levels)),
        unreadable=unreadable(evaluation.rows),
        answering=answering(evaluation.runs),
        scatter=evaluation.scatter,
        state_name=_state_name(evaluation),
        askable=evaluation.runs.ours and not evaluation.crossed,
        state_names=_state_names(evaluation),
        variation=variation(beliefs, evaluation.runs, evaluation.reference_rows),
        figures=figure_tables(beliefs),
        settled_by_choice=bool(settled),
        rows=evaluation.runs,
        labels=labels,
        mean_beliefs=over_contexts(beliefs)[0]["belief"],
    )


def with_results(
    evaluation: EvaluationReport, results: Sequence[CheckResult], margin: float | None = None
) -> EvaluationReport:
    """Add results, whose p-values are corrected, and what they say."""
    assert evaluation.answering is not None
    assert evaluation.scatter is not None
    noun, scatter = belief_noun(evaluation.answering), evaluation.scatter
    facts = VerdictInput(replace(evaluation, results=tuple(results), margin=margin))
    verdict, stakes = decide(facts), decide_stakes(facts)
    primary, why = facts.primary, "the primary test was not run"
    if primary is not None:
        few = "too few cases lie on either side"
        several = "beliefs are over several states" * (len(evaluation.rows.beliefs) > 1)
        why = primary.reason or several or few
    shares = None if primary is None or verdict.of_other_belief else primary.fitted
    figures = evaluation.figures.beside("choices_by_state", shares, why)
    results = tuple(withheld(result, verdict) for result in results)
    allowed = noise_robust_test(results)
    about: dict[str, Any] = {"verdict": verdict, "stakes": stakes, "margin": margin}
    evaluation = replace(evaluation, results=results, figures=figures, **about)
    tests = evaluation.further_tests
    further = conclude_further(results, tests, belief=noun, scatter=scatter)
    first = stakes.sentence(facts) if stakes else ""
    conclusion = [first, sentence(verdict, facts), *further, *question_sentences(results)]
    return replace(
        evaluation,
        verdicts=tuple(
            sentence_of(result, belief=noun, scatter=scatter, allowed=allowed) for result in results
        ),
        conclusion=tuple(filter(None, conclusion)),
        cautions=cautions(results, scatter),
    )


def withheld(result: CheckResult, verdict: Verdict) -> CheckResult:
    """Return a result without its numbers where nothing can be told, and it is the primary one.

    So no reader of the report has an effect that its verdict does not stand by.
    """
    if not (verdict.open and (verdict.of_other_belief or result.family is Family.PRIMARY)):
        return result
    reason = result.reason or verdict.reason
    if isinstance(result, Sufficiency):
        found: Any = dict.fromkeys(("p_direction", "p_beyond", "p_turn", "turns", "allowed"))
        result = replace(result, **found)
    return replace(
        result,
        statistic=math.nan,
        interval=None,
        pvalue=None if result.pvalue is None else math.nan,
        pvalue_bh=math.nan,
        pvalue_holm=None if result.pvalue_holm is None else math.nan,
        reason=reason,
        also={name: each.withheld(reason) for name, each in result.also.items()},
        details=result.details.iloc[:0],
        contributions=None,
    )


def _state_name(evaluation: EvaluationRows) -> str:
    """Return what theta = 1 is, where the table says it of all rows and beliefs are in it."""
    other = evaluation.positive is not None and label_text(evaluation.positive) != "1"
    if other or "theta_name" not in evaluation.rows:
        return ""
    named = evaluation.rows["theta_name"].dropna().unique()
    return str(named[0]) if len(named) == 1 else ""


def _state_names(evaluation: EvaluationRows) -> tuple[str, str]:
    """Name the states by the labels of the table."""
    if name := _state_name(evaluation):
        return f"not {name}", name
    state = evaluation.state.dropna()
    theta = evaluation.runs.theta.reindex(state.index)
    labels = [theta[state == code].unique().tolist() for code in (0, 1)]
    column = evaluation.runs.named.columns.get("theta", "theta")
    if list(map(len, labels)) == [1, 1]:
        first, second = named_states([label for (label,) in labels], column)
        return first, second
    named = evaluation.positive
    return STATE_NAMES if named is None else (f"not {named}", str(named))
