"""Sentences of results. Breaks if one does not follow the corrected p-value, is lacking, or takes
not rejecting for evidence."""

import math

import pytest

from coherence import AGENTS, CheckResult, InputError, Interval, analyze, simulate
from coherence.analysis.finishing import NO_INTERVAL, conclude_further, sentence_of
from coherence.checks.check import ANY, declarations
from coherence.report.evaluation import EvaluationReport
from coherence.report.screen import render_report
from coherence.report.verdicts import NOT_TESTED
from coherence.result import Family
from coherence.statistics.report_noise import ReportNoise


def result(check, pvalue, statistic=0.25, interval=None, n_contexts=10, **fields):
    ends = None if interval is None else Interval(*interval)
    return CheckResult(check, "null", statistic, "unit", ends, pvalue, 10, n_contexts, **fields)


TESTS = {
    check.name + (f":{variant}" if variant not in ("", ANY) else ""): sentences
    for check in declarations()
    for variant, sentences in check.sentences.items()
    if sentences.rejected and "{variant" not in sentences.rejected
}


@pytest.mark.parametrize("check", TESTS)
def test_the_pvalue_decides_corrected_in_a_report_unless_scatter_may_have_caused_it(check):
    """A coherent agent met an accusing sentence in one report of seven."""
    sentences = TESTS[check]
    rejected = sentences.rejected.format(belief="stated belief")
    template = sentences.not_rejected or f"No evidence that {sentences.nominal}."
    kept = f"{template.format(belief='stated belief')} {NO_INTERVAL}"
    for pvalue, said in ((0.0004, rejected), (0.05, rejected), (0.0501, kept), (0.09, kept)):
        assert sentence_of(result(check, pvalue)) == said
    # In a report
    sign = sentences.nominal.format(belief="stated belief")
    weak = f"Some evidence that {sign}, which does not survive the correction over 6 tests."
    for holm, said in ((0.05, rejected), (0.0501, weak)):
        assert sentence_of(result(check, 0.01, pvalue_holm=holm, n_tests=6)) == said
    # Beside noise of reports
    loud, quiet = ReportNoise(0.1, 50, bias=1.0), ReportNoise(0.03, 50, bias=0.1)
    said = sentence_of(result(check, 0.001), scatter=loud)
    assert (said == rejected) != sentences.assumes_exact_reports
    assert ("could cause alone" in said) == sentences.assumes_exact_reports
    assert sentence_of(result(check, 0.001), scatter=quiet) == rejected


def test_undefined_numbers_give_their_reason_and_undeclared_checks_are_an_error():
    undefined = result("cmi", math.nan, statistic=math.nan, reason="too few contexts")
    assert sentence_of(undefined) == "Undefined: too few contexts."
    untested = result("iterated_expectation", math.nan, reason="every gap is exactly zero")
    assert sentence_of(untested) == "Not tested: every gap is exactly zero."
    # A test whose effect alone is undefined still has a verdict.
    effect = result("sufficiency", 0.01, statistic=math.nan, reason="no shift")
    assert sentence_of(effect).startswith("Choices go with the truth")
    # It was once called an estimate and no test, at p = .0004.
    for check in ("calibration_slope", "cmi:features", "calibration:slope", ""):
        for pvalue in (0.0004, None):
            with pytest.raises(InputError, match="check must be declared in coherence.checks"):
                sentence_of(result(check, pvalue))


# All further tests of an evaluation together


def further(check, pvalue, holm=None, **changes):
    adjusted = {"pvalue_holm": holm, "n_tests": 4} if holm is not None else {}
    family = Family.ESTIMATE if pvalue is None else Family.SECOND
    return result(check, pvalue, **{"family": family} | adjusted | changes)


CLEAR = ReportNoise(0.01, 50)


def said(*results, scatter=CLEAR):
    tests = EvaluationReport("task", "model", tuple(results), (), NOT_TESTED).further_tests
    return conclude_further(results, tests, belief="stated belief", scatter=scatter)


def test_failing_names_what_fails_once_and_what_is_no_further_test_is_not_counted():
    pairs = (further(f"monotone_choice:a/{name}", 0.003, 0.006) for name in "bc")
    leak, cmi = further("evidence_leak", 0.001, 0.004), further("cmi", 0.5, 0.5)
    first, second = said(leak, *pairs, cmi)
    assert first == (
        "3 of 4 further tests reject, corrected among themselves: actions or beliefs know more of "
        "the realised state than the evidence says (evidence_leak); the choice share moves against "
        "the stated belief (monotone_choice:a/b and monotone_choice:a/c)."
    )
    assert second.startswith("A coherent agent fails any of them in at most 5% of studies")
    unknown = said(further("cmi", 0.001, 0.004), scatter=ReportNoise(math.nan, 0))
    assert "which this table cannot show" in unknown[1]
    (only,) = said(further("cmi", 0.03, 0.12), further("evidence_leak", 0.5, 1.0))
    assert only.startswith("None of 2 further tests rejects, corrected among themselves; uncorrec")
    assert only.endswith("p is at most 0.05 in cmi.")
    for results in ((), (further("calibration:rmse", None),), (further("cmi", math.nan),)):
        assert said(*results) == ()
    assert said(further("cmi", 0.4)) == ("The one further test does not reject.",)


@pytest.mark.lengthy
@pytest.mark.parametrize(("noise", "warned"), [(0.0, False), (0.3, True)])
def test_a_rational_agent_with_noisy_reports_is_not_called_incoherent(noise, warned):
    """The information that the state adds is above chance at .3; without scatter no caution."""
    agent = AGENTS["rational"].with_parameters(report_noise=noise)
    runs = simulate(agent, n_contexts=300, n_reps=2, rng=1)
    report = analyze(runs, checks=["cmi"], rng=1)
    (unit,), row = report.evaluations, report.results.iloc[0]
    assert (row["outcome"] == "rejected") == warned
    assert ("could cause alone" in row["verdict"]) == warned
    front = str(analyze(runs, checks=["sufficiency", "cmi"], rng=1))
    assert ("could cause that alone" in " ".join(front.split())) == warned
    assert "it is not acted on" not in report.to_html()
    text = " ".join(render_report(report.evaluations, full=True).split()).replace(" · ", " ")
    for sentence in unit.conclusion:
        assert " ".join(sentence.split()) in text
        assert sentence[1:] in report.to_html()
        assert sentence in report.to_json()
