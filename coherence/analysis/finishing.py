"""From results to finished evaluations: p-values adjusted over the report, and what is said."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from coherence.analysis.evaluation import EvaluationRows, joined_names
from coherence.analysis.reading import (
    confidence_note,
    settled_by_choice,
    stated_where_it_acts,
    with_alerts,
)
from coherence.checks.check import check_of, interpretation_of, variant_of
from coherence.checks.scores import ScoresResult
from coherence.checks.sufficiency_result import Sufficiency, primary_of
from coherence.errors import InputError
from coherence.printable import capitalised, numbered
from coherence.report.effects import question_sentences
from coherence.report.evaluation import EvaluationReport, Verdict, variation
from coherence.report.verdicts import NOT_TESTED, VerdictInput, decide, decide_stakes, sentence
from coherence.report.wording import belief_noun, clean, format_numbers, noise_alone
from coherence.result import LEVEL, CheckResult, Family, Outcome
from coherence.runs.check import missing_label_notes
from coherence.runs.notes import Note
from coherence.runs.runs import answering, count_statuses, label_rows
from coherence.runs.states import STATE_NAMES, label_text, named_states
from coherence.statistics.figure_tables import figure_tables, over_contexts
from coherence.statistics.pvalues import benjamini_hochberg, holm
from coherence.statistics.report_noise import ReportNoise


def adjusted(by_evaluation: Sequence[Sequence[CheckResult]]) -> list[list[dict[str, Any]]]:
    """Return the fields of results that a report fills in, for each (task, model): their families.

    The primary test stands at its level, with a false discovery rate over all evaluations beside
    it; the further tests of an evaluation are corrected among themselves; tests of calibration of
    forecasts over all evaluations. What is an estimate in a report has no p-value.
    """
    filled = [[dict[str, Any](family=_family_of(each)) for each in of] for of in by_evaluation]
    groups: dict[tuple[Family, int], list[tuple[CheckResult, dict[str, Any]]]] = {}
    for at, (results, of_results) in enumerate(zip(by_evaluation, filled, strict=True)):
        for result, fields in zip(results, of_results, strict=True):
            family = fields["family"]
            if family is not Family.ESTIMATE:
                group = groups.setdefault((family, at * (family is Family.SECOND)), [])
                group.append((result, fields))
            elif not result.published:
                fields["pvalue"] = None
    for (family, _), group in groups.items():
        pvalues = [math.nan if result.pvalue is None else result.pvalue for result, _ in group]
        n_tests = sum(not math.isnan(pvalue) for pvalue in pvalues)
        both = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
        for (_, fields), (first, second) in zip(group, both, strict=True):
            fields["pvalue_holm"] = None if family is Family.PRIMARY else float(first)
            fields |= {"pvalue_bh": float(second), "n_tests": n_tests}
    return filled


def _family_of(result: CheckResult) -> Family:
    """Return what a result is in the report; as the papers have it, it is no test."""
    check = check_of(result.check)
    if check is None or result.pvalue is None or result.published:
        return Family.ESTIMATE
    return check.family


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
    figures, no_figures = figure_tables(beliefs)
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
        statuses=count_statuses(labels, evaluation.runs.levels),
        answering=answering(evaluation.runs),
        scatter=evaluation.scatter,
        state_name=_state_name(evaluation),
        askable=evaluation.runs.ours and not evaluation.crossed,
        state_names=_state_names(evaluation),
        variation=variation(beliefs, evaluation.runs, evaluation.reference_rows),
        figures=figures,
        no_figures=no_figures,
        settled_by_choice=bool(settled),
        rows=evaluation.runs,
        labels=labels,
        mean_beliefs=over_contexts(beliefs)[0]["belief"],
    )


def with_results(
    evaluation: EvaluationReport,
    results: Sequence[CheckResult],
    filled: Sequence[dict[str, Any]],
    margin: float | None = None,
) -> EvaluationReport:
    """Add results, with the fields that `adjusted` fills in, and what they say."""
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
    name, drawn = "choices_by_state", isinstance(shares, pd.DataFrame) and len(shares) > 0
    results = tuple(
        replace(result, **fields | withheld(result, fields, verdict))
        for result, fields in zip(results, filled, strict=True)
    )
    about: dict[str, Any] = {"verdict": verdict, "stakes": stakes, "margin": margin}
    about["figures"] = {**evaluation.figures, **({name: shares} if drawn else {})}
    about["no_figures"] = {**evaluation.no_figures, **({} if drawn else {name: why})}
    evaluation = replace(evaluation, results=results, **about)
    tests = evaluation.further_tests
    further = conclude_further(results, tests, belief=noun, scatter=scatter)
    first = stakes.sentence(facts) if stakes else ""
    conclusion = [first, sentence(verdict, facts), *further, *question_sentences(results)]
    return replace(
        evaluation,
        verdicts=tuple(sentence_of(result, belief=noun, scatter=scatter) for result in results),
        conclusion=tuple(filter(None, conclusion)),
    )


def withheld(result: CheckResult, fields: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return fields that take the numbers out of a result of which nothing can be told.

    Of the primary one, where the verdict is open: so no reader of the report has an effect that its
    verdict does not stand by.
    """
    of_primary = fields["family"] is Family.PRIMARY
    if not (verdict.open and (verdict.of_other_belief or of_primary)):
        return {}
    reason, found = result.reason or verdict.reason, dict[str, Any]()
    if isinstance(result, Sufficiency):
        found = dict.fromkeys(("p_direction", "p_beyond", "p_turn", "turns", "allowed"))
    pvalues = {"pvalue": result.pvalue} | fields
    for name in ("pvalue", "pvalue_holm"):
        found[name] = None if pvalues.get(name) is None else math.nan
    return found | {
        "statistic": math.nan,
        "interval": None,
        "pvalue_bh": math.nan,
        "reason": reason,
        "also": {name: each.withheld(reason) for name, each in result.also.items()},
        "details": result.details.iloc[:0],
        "contributions": None,
    }


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


NO_INTERVAL = "There is no interval: what effect was missed is not known."
MOST_NAMED = 4  # pairs of actions can be dozens; the table below names them all


# What one result means


def sentence_of(
    result: CheckResult,
    *,
    belief: str = "stated belief",
    scatter: ReportNoise | None = None,
) -> str:
    """Say what a result means."""
    interpretation_of(result.check)  # raises where no check declares it
    if result.unanswered:
        # An effect may stand where its test is undefined, as when every gap is exactly 0.
        lacking = "Undefined" if math.isnan(result.statistic) else "Not tested"
        return f"{lacking}: {result.reason}."
    if result.published:
        sentence = _filled("published", "the published procedure", result, belief)
    elif result.pvalue is None:
        sentence = _filled("of_estimate", "an estimate", result, belief)
    else:
        sentence = _tested(result, belief, scatter)
    return " ".join(filter(None, [sentence, result.estimate_note()]))


def _tested(result: CheckResult, belief: str, scatter: ReportNoise | None) -> str:
    """Say how a test ended."""
    sentences, outcome = interpretation_of(result.check), result.outcome()
    if outcome is Outcome.KEPT and sentences.not_rejected:
        return f"{_filled('not_rejected', 'a test', result, belief)} {_interval_sentence(result)}"
    cause = noise_alone(result, scatter)
    if outcome is Outcome.REJECTED and not cause:
        return _filled("rejected", "a test", result, belief)
    sign = _filled("nominal", "a test", result, belief)
    if outcome is Outcome.KEPT:
        return f"No evidence that {sign}. {_interval_sentence(result)}"
    if outcome is Outcome.UNCORRECTED:
        tests = f"{result.n_tests} tests" if result.n_tests else "all further tests"
        return f"Some evidence that {sign}, which does not survive the correction over {tests}."
    return f"{capitalised(sign)}, which {cause} could cause alone."


def _interval_sentence(result: CheckResult) -> str:
    """Say which effects are compatible with the data of a test that does not reject."""
    interval, unit = result.interval, clean(result.unit)
    if interval is None or math.isnan(interval.high):
        return NO_INTERVAL
    low, high = format_numbers([interval.low, interval.high])
    unit = unit if unit.startswith("%") else f" {unit}"
    level = f"({interval.level:.0%} interval)"
    return f"Effects in [{low}, {high}]{unit} {level} are compatible with the data."


def _filled(which: str, what: str, result: CheckResult, belief: str) -> str:
    """Return a sentence that the check of a result declares."""
    template = getattr(interpretation_of(result.check), which)
    if not template:
        raise InputError(
            f"check must declare a sentence for {what}; {result.check!r} has none, and its p-value "
            f"is {result.pvalue}. Add it to the declaration of the check."
        )
    # Only the sentence is a template: names from data are filled in and never read as one.
    above = result.interval is not None and result.interval.low > 0
    return str(
        template.format(
            value=result.statistic,
            variant=variant_of(result.check),
            belief=_belief_of([result], belief),
            position="lies above 0" if above else "does not lie above 0",
        )
    )


def _belief_of(results: Sequence[CheckResult], belief: str) -> str:
    """Name the beliefs that were compared: of a case, of its mean forecast, of each person."""
    if any(isinstance(result, ScoresResult) and result.averaged for result in results):
        return f"mean {belief}"
    primary = primary_of(results)
    persons = primary is not None and primary.n_persons
    return f"{belief} of their own" if persons else belief


# What the further tests of a (task, model) say


def conclude_further(
    results: Sequence[CheckResult],
    tests: Sequence[CheckResult],
    *,
    belief: str,
    scatter: ReportNoise | None,
) -> tuple[str, ...]:
    """Say how the further tests ended (`EvaluationReport.further_tests`), and how sure one can be.

    What tests of calibration say stands apart: a coherent agent may be badly calibrated.
    """
    of_calibration = [r for r in results if interpretation_of(r.check).of_calibration]
    calibrated = _calibration(of_calibration, belief) if of_calibration else ()
    if not tests:
        return calibrated
    n = len(tests)
    rejected = [result for result in tests if result.outcome() is Outcome.REJECTED]
    signs = [result for result in tests if result.outcome() is Outcome.UNCORRECTED]
    corrected = ", corrected among themselves" if n > 1 else ""
    if rejected:
        many = (
            f"{len(rejected)} of {n} further tests {numbered(len(rejected), 'rejects', 'reject')}"
        )
        # What several tests look for is named once.
        by_sign: dict[str, list[CheckResult]] = {}
        for result in rejected:
            by_sign.setdefault(_filled("nominal", "a sign", result, belief), []).append(result)
        said = "; ".join(f"{sign} ({_named(of_sign)})" for sign, of_sign in by_sign.items())
        return (
            f"{many if n > 1 else 'The one further test rejects'}{corrected}: {said}.",
            _trust(rejected, scatter),
            *calibrated,
        )
    ended = (
        f"None of {n} further tests rejects" if n > 1 else "The one further test does not reject"
    )
    if signs:
        ended += f"{corrected}; uncorrected, p is at most {LEVEL} in {_named(signs)}"
    return f"{ended}.", *calibrated


def _calibration(results: Sequence[CheckResult], belief: str) -> tuple[str, ...]:
    """Say how tests of calibration ended."""
    belief = _belief_of(results, belief)
    ended = [result.outcome() for result in results]
    if all(outcome is Outcome.UNTESTED for outcome in ended):
        return (f"Calibration was not tested: {results[0].reason}.",)
    corrected = next((_over_tests(result) for result in results if result.n_tests), "")
    if Outcome.REJECTED not in ended:
        return (
            f"Calibration of the {belief}s is not rejected{corrected}.",
            "Not rejecting is not evidence of calibration: the scores say how far off it may be.",
        )
    rejected = [r for r, outcome in zip(results, ended, strict=True) if outcome is Outcome.REJECTED]
    return (
        f"The {belief}s are not calibrated ({_named(rejected)} "
        f"{numbered(len(rejected), 'rejects', 'reject')}{corrected}).",
        f"A calibrated forecaster is rejected anywhere in at most {LEVEL:.0%} of reports, as long "
        "as outcomes of different cases are independent. A coherent agent may be badly "
        "calibrated.",
    )


def _named(results: Sequence[CheckResult]) -> str:
    names = [clean(result.check) for result in results]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return joined_names([*names[:MOST_NAMED], *more])


def _over_tests(result: CheckResult) -> str:
    # Results that were not adjusted stand alone, and nothing is corrected.
    several = result.n_tests is not None and result.n_tests > 1
    return f" after the correction over {result.n_tests} tests" if several else ""


def _trust(rejected: Sequence[CheckResult], scatter: ReportNoise | None) -> str:
    """Say how far rejections can be trusted."""
    causes = {result.check: cause for result in rejected if (cause := noise_alone(result, scatter))}
    suspects = [result for result in rejected if result.check in causes]
    sure = f"A coherent agent fails any of them in at most {LEVEL:.0%} of studies"
    if suspects:
        (cause,) = {*causes.values()}
        return f"{sure}, but {cause} could make {_named(suspects)} reject alone."
    exact = ""
    if any(interpretation_of(result.check).assumes_exact_reports for result in rejected):
        unknown = scatter is None or math.isnan(scatter.sd)
        exact = " and reports have no noise around the belief acted on"
        exact += ", which this table cannot show" if unknown else ""
    return f"{sure}, as long as cases are independent{exact}."
