"""conclude, cautions: what heads a unit follows the correction; not rejecting is no evidence."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coherence import AGENTS, CheckResult, Interval, analyze, simulate
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.verdict import conclude_further
from coherence.report.terminal import render_report
from coherence.result import Family
from coherence.statistics.report_noise import ReportNoise
from coherence.table.notes import Level

CLEAR = ReportNoise(0.01, 50)


def result(check, pvalue, holm=None, interval=None, unit="belief", n_tests=4):
    ends = None if interval is None else Interval(*interval)
    adjusted = {"pvalue_holm": holm, "n_tests": n_tests} if holm is not None else {}
    adjusted["family"] = Family.ESTIMATE if pvalue is None else Family.SECOND
    return CheckResult(check, "null", 0.1, unit, ends, pvalue, 100, 50, **adjusted)


def said(*results, scatter=CLEAR, belief="stated belief"):
    return conclude_further(results, belief=belief, scatter=scatter)


def test_failing_names_what_fails_once():
    first, second = said(
        result("evidence_leak", 0.001, 0.004),
        result("monotone_choice:a/b", 0.002, 0.006),
        result("monotone_choice:a/c", 0.003, 0.006),
        result("cmi", 0.5, 0.5),
    )
    assert first == (
        "3 of 4 further tests reject, corrected among themselves: actions or beliefs know more of "
        "the realised state than the evidence says (evidence_leak); the choice share moves against "
        "the stated belief (monotone_choice:a/b and monotone_choice:a/c)."
    )
    assert second == (
        "A coherent agent fails any of them in at most 5% of studies, as long as contexts are "
        "independent."
    )
    assert (
        "which this table cannot show"
        in said(result("cmi", 0.001, 0.004), scatter=ReportNoise(math.nan, 0))[1]
    )


def test_a_sign_before_the_correction_is_named_and_no_more():
    (only,) = said(result("cmi", 0.03, 0.12), result("evidence_leak", 0.5, 1.0))
    assert only == (
        "None of 2 further tests rejects, corrected among themselves; uncorrected, p is at most "
        "0.05 in cmi."
    )


def test_what_is_no_further_test_is_not_counted():
    assert said() == ()
    assert said(result("calibration:rmse", None)) == ()
    assert said(result("cmi", math.nan)) == ()
    part = replace(result("residual_covariance", 0.001), family=Family.PART)
    assert said(part, result("cmi", 0.4)) == ("The one further test does not reject.",)


def test_computed_beliefs_scatter_between_wordings():
    """Repetitions of a computed belief are equal; further evidence is no wording."""
    table = pd.DataFrame(
        {
            "context": ["a"] * 5 + ["b"],
            "prompt": ["standard", "standard", "other", "standard", "other", "standard"],
            "z_state": [None, None, None, "on", None, None],
            "p": [0.3, 0.3, 0.5, 1.0, np.nan, 0.2],
        }
    )
    unit = EvaluationRows(table)
    assert unit.scatter.sd == 0
    across = EvaluationRows(table.assign(belief_kind="stated:exact")).scatter
    assert across.sd == pytest.approx(math.sqrt(0.02))
    assert (across.n_groups, across.across) == (1, "wordings")


@pytest.mark.lengthy
@pytest.mark.parametrize(("noise", "warned"), [(0.0, False), (0.3, True)])
def test_a_rational_agent_with_noisy_reports_is_not_called_incoherent(noise, warned):
    """The information that the state adds is above chance at .3; without scatter no caution."""
    agent = AGENTS["rational"].with_parameters(report_noise=noise)
    runs = simulate(agent, n_contexts=300, n_reps=2, rng=1)
    report = analyze(runs, checks=["cmi"], rng=1)
    (unit,), row = report.evaluations, report.results.iloc[0]
    assert (unit.cautions[0].level is Level.WARNING) == warned
    assert (row["outcome"] == "rejected") == warned
    assert ("could cause alone" in row["verdict"]) == warned
    assert "it is not acted on" not in report.to_html()
    text = " ".join(render_report(report.evaluations, full=True).split()).replace(" · ", " ")
    for sentence in (*unit.conclusion, *(note.text for note in unit.cautions)):
        assert " ".join(sentence.split()) in text
        assert sentence[1:] in report.to_html()
        assert sentence in report.to_json()
