"""conclude, cautions: what heads a unit follows the correction; not rejecting is no evidence."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coherence import AGENTS, CheckResult, Interval, analyze, simulate
from coherence.analysis.unit import UnitRows
from coherence.analysis.verdict import conclude
from coherence.report.terminal import render_report
from coherence.statistics.scatter import Scatter

CLEAR = Scatter(0.01, 50)


def result(check, pvalue, holm=None, interval=None, unit="belief", n_tests=4):
    ends = None if interval is None else Interval(*interval)
    adjusted = {"pvalue_holm": holm, "n_tests": n_tests} if holm is not None else {}
    return CheckResult(check, "null", 0.1, unit, ends, pvalue, 100, 50, **adjusted)


def said(*results, scatter=CLEAR, belief="stated belief"):
    return conclude(results, belief=belief, scatter=scatter)


def test_failing_names_what_fails_once():
    first, second = said(
        result("residual_covariance", 0.001, 0.004),
        result("monotone_choice:a/b", 0.002, 0.006),
        result("monotone_choice:a/c", 0.003, 0.006),
        result("cmi", 0.5, 0.5),
    )
    assert first == (
        "3 of 4 tests reject after the correction over 4 tests: choices move with the "
        "truth at the same stated belief (residual_covariance); the choice share moves against the "
        "stated belief (monotone_choice:a/b and monotone_choice:a/c)."
    )
    assert second == (
        "A coherent agent fails anywhere in at most 5% of reports, as long as contexts are "
        "independent and reports have no noise around the belief acted on."
    )
    assert (
        "which this table cannot show"
        in said(result("cmi", 0.001, 0.004), scatter=Scatter(math.nan, 0))[1]
    )


def test_a_sign_before_the_correction_proves_nothing_either_way():
    first, second = said(result("cmi", 0.03, 0.12), result("residual_covariance", 0.5, 1.0))
    assert first == (
        "None of 2 tests rejects after the correction over 4 tests; before it, p is at most 0.05 "
        "in cmi."
    )
    assert "neither incoherence nor coherence" in second


def test_not_rejecting_is_no_evidence_and_the_interval_is_printed():
    kept = result("residual_covariance", 0.5, 1.0, (-0.3, 0.21))
    first, second = said(kept)
    assert first == "The one test does not reject."
    assert second.startswith(
        "Not rejecting is not evidence of coherence: effects in [-0.300, 0.210]"
    )
    assert "95% of all studies" in second  # of those that do not reject it holds fewer
    assert "without an interval" in said(result("cmi", 0.5))[1]


def test_an_interval_without_room_passes_the_word_on():
    ordered = result("monotone_choice:a/b", 1.0, 1.0, (-0.4, -0.1))
    assert "what was not tested" in said(ordered)[1]
    kept = result("residual_covariance", 0.5, 1.0, (-0.3, 0.21))
    assert "compatible with the data of residual_covariance" in said(ordered, kept)[1]


def test_without_tests_nothing_is_claimed():
    assert said()[0] == "No check could be run."
    assert said(result("calibration:rmse", None))[0].startswith("No test could be run")
    assert said(result("cmi", math.nan))[0].startswith("No test has a p-value")
    undefined = replace(result("cmi", math.nan), statistic=math.nan)
    assert said(undefined)[0].startswith("No test has a p-value")
    assert said(replace(undefined, pvalue=None))[0] == "No check could be run."
    assert {said()[1], said(result("cmi", math.nan))[1]} == {
        "Nothing here speaks for or against coherence."
    }
    assert said(result("cmi", 0.4), result("iterated_expectation", math.nan))[0] == (
        "The one test does not reject; 1 could not be computed."
    )


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
    unit = UnitRows(table)
    assert unit.scatter.sd == 0
    across = UnitRows(table.assign(belief_kind="stated:exact")).scatter
    assert across.sd == pytest.approx(math.sqrt(0.02))
    assert (across.n_groups, across.across) == (1, "wordings")


@pytest.mark.parametrize(("noise", "accused"), [(0.0, False), (0.3, True)])
def test_a_rational_agent_with_noisy_reports_is_not_called_incoherent(noise, accused):
    """The test rejects at .3; without scatter there is no caution."""
    agent = AGENTS["rational"].with_parameters(report_noise=noise)
    runs = simulate(agent, n_contexts=300, n_reps=2, rng=1)
    report = analyze(runs, checks=["residual_covariance"], rng=1)
    (unit,), row = report.units, report.results.iloc[0]
    assert (row["outcome"] == "rejected") == accused
    assert unit.cautions[0].startswith("warning:") == accused
    assert ("could cause alone" in row["verdict"]) == accused
    assert unit.conclusion[1].startswith("That does not show" if accused else "Not rejecting")
    assert "it is not the belief acted on" not in report.to_html()
    text = " ".join(render_report(report.units, full=True).split()).replace(" · ", " ")
    for sentence in (*unit.conclusion, *unit.cautions):
        assert " ".join(sentence.split()) in text
        assert sentence[1:] in report.to_html()
        assert sentence in report.to_json()


@pytest.mark.parametrize("seed", range(6))
def test_of_two_actions_there_are_no_others(seed):
    """The intervals of both differ in their last bits."""
    rng = np.random.default_rng([41, seed])
    belief = rng.integers(1, 20, 60) / 20
    context = np.repeat(np.arange(60), 3)
    table = pd.DataFrame(
        {
            "context": context,
            "p": belief[context],
            "theta": (rng.random(60) < belief).astype(int)[context],
            "action": np.where(rng.random(180) < 0.2 + 0.6 * belief[context], "yes", "no"),
        }
    )
    said = str(analyze(table, checks=["residual_covariance"], rng=0))
    assert "other actions" not in " ".join(said.split())
