"""sentence_of: every declared result has its sentence, and what no check declares is an error."""

import math
from dataclasses import replace

import pytest

from coherence import CheckResult, InputError, Interval
from coherence.analysis.verdict import NO_INTERVAL, sentence_of
from coherence.checks.catalogue import declarations
from coherence.checks.check import ANY
from coherence.statistics.report_noise import ReportNoise


def result(check, pvalue, statistic=0.25, interval=None, published=False, **fields):
    settings = {"published": published} | fields.pop("settings", {})
    ends = None if interval is None else Interval(*interval)
    n_contexts = fields.pop("n_contexts", 10)
    return CheckResult(
        check, "null", statistic, "unit", ends, pvalue, 10, n_contexts, settings=settings, **fields
    )


TESTS = [
    (check.name + (f":{variant}" if variant not in ("", ANY) else ""), sentences)
    for check in declarations()
    for variant, sentences in check.sentences.items()
    if sentences.rejected and "{variant" not in sentences.rejected
]


@pytest.mark.parametrize(("check", "sentences"), TESTS, ids=[name for name, _ in TESTS])
def test_a_pvalue_of_the_level_rejects_and_one_above_does_not(check, sentences):
    rejected = sentences.rejected.format(belief="stated belief")
    template = sentences.not_rejected or f"No evidence that {sentences.nominal}."
    kept = f"{template.format(belief='stated belief')} {NO_INTERVAL}"
    assert sentence_of(result(check, 0.0004)) == rejected
    assert sentence_of(result(check, 0.05)) == rejected
    assert sentence_of(result(check, 0.0501)) == kept
    assert sentence_of(result(check, 0.09)) == kept
    assert sentence_of(result(check, 0.09), alpha=0.1) == rejected
    assert sentences.rejected != sentences.not_rejected


@pytest.mark.parametrize(("check", "sentences"), TESTS, ids=[name for name, _ in TESTS])
def test_in_a_report_the_corrected_pvalue_decides(check, sentences):
    """A coherent agent met an accusing sentence in one report of seven."""
    rejected = sentences.rejected.format(belief="revealed belief")
    adjusted = [
        sentence_of(result(check, 0.01, pvalue_holm=holm, n_tests=6), belief="revealed belief")
        for holm in (0.05, 0.0501)
    ]
    sign = sentences.nominal.format(belief="revealed belief")
    assert adjusted == [
        rejected,
        f"Some evidence that {sign}, which does not survive the correction over 6 tests.",
    ]


@pytest.mark.parametrize(("check", "sentences"), TESTS, ids=[name for name, _ in TESTS])
def test_scatter_takes_back_what_it_may_have_caused(check, sentences):
    loud, quiet = ReportNoise(0.1, 50, bias=1.0), ReportNoise(0.03, 50, bias=0.1)
    said = sentence_of(result(check, 0.001), scatter=loud)
    rejected = sentences.rejected.format(belief="stated belief")
    assert (said == rejected) != sentences.assumes_exact_reports
    assert ("could cause alone" in said) == sentences.assumes_exact_reports
    assert sentence_of(result(check, 0.001), scatter=quiet) == rejected


def test_the_interval_is_printed_in_the_unit_of_the_effect():
    kept = result("residual_covariance", 0.5, statistic=0.02, interval=(-0.1, 0.14), n_contexts=101)
    assert sentence_of(replace(kept, unit="belief")).endswith(
        "Effects in [-0.100, 0.140] belief (95% interval) are compatible with the data."
    )
    gain = result("predictive_gain", 0.5, statistic=-1.0, interval=(-3.0, 1.0), n_contexts=101)
    assert sentence_of(replace(gain, unit="% of log-loss")).endswith(
        "[-3.00, 1.00]% of log-loss (95% interval) are compatible with the data."
    )
    falls = result("monotone_choice:a/b", 0.9, statistic=-0.2, interval=(-0.3, -0.1))
    assert "[-0.300, -0.100]" in sentence_of(falls)


@pytest.mark.parametrize("check", ["calibration_slope", "cmi:features", "calibration:slope", ""])
@pytest.mark.parametrize("reason", ["", "too few contexts"])
def test_a_result_that_no_check_declares_is_an_error(check, reason):
    """It was once called an estimate and no test, at p = .0004."""
    statistic = math.nan if reason else 0.25
    for pvalue in (0.0004, None):
        with pytest.raises(InputError, match="check must be declared in coherence.checks"):
            sentence_of(result(check, pvalue, statistic=statistic, reason=reason))


def test_undefined_numbers_give_their_reason():
    undefined = result("cmi", math.nan, statistic=math.nan, reason="too few contexts")
    assert sentence_of(undefined) == "Undefined: too few contexts."
    untested = result("iterated_expectation", math.nan, reason="every gap is exactly zero")
    assert sentence_of(untested) == "Not tested: every gap is exactly zero."
    # A test whose effect alone is undefined still has a verdict.
    effect = result("residual_covariance", 0.01, statistic=math.nan, reason="no shift")
    assert sentence_of(effect).startswith("Choices move with the truth")
