"""rational_agent_test: the fitted agent as a check, and what analysis says with its help."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, rational_agent_test, simulate
from coherence.checks.rational import CHECK, NO_SCATTER
from coherence.report.terminal import render_report


def drawn(seed, *, sd=0.15, n=200, reps=5, signal=0.0):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    truth = (rng.random(n) < belief).astype(int)
    context = np.repeat(np.arange(n), reps)
    acted_on = (belief + signal * (truth - 0.5))[context]
    chosen = rng.random(context.size) < 1 / (1 + np.exp(-8 * (acted_on - 0.4)))
    report = np.clip(belief[context] + sd * rng.normal(size=context.size), 0, 1)
    return pd.DataFrame(
        {
            "context": context,
            "rep": np.tile(np.arange(reps), n),
            "p": np.round(np.round(report / 0.05) * 0.05, 2),
            "action": np.where(chosen, "treat", "wait"),
            "theta": truth[context],
        }
    )


def checked(runs, **options):
    arrays = runs["p"], runs["action"], runs["theta"]
    return rational_agent_test(*arrays, context=runs["context"], rng=1, **options)


def test_a_result_holds_the_agent():
    result = checked(drawn(1))
    assert result.check == "rational_agent"
    assert result.unit == "belief"
    assert result.interval.low < 0 < result.interval.high
    assert result.pvalue > 0.05
    details = result.details.set_index("quantity")
    assert details["value"]["standard deviation of reports around the belief"] == pytest.approx(
        0.15, rel=0.1
    )
    at = details.loc["belief at which treat overtakes wait"]
    assert at["low"] < 0.4 < at["high"]
    cost = details.loc["cost of a wrong treat in gains of a right one, at wait"]
    assert cost["value"] == pytest.approx(at["value"] / (1 - at["value"]))
    assert cost["low"] < cost["value"] < cost["high"]
    assert result.settings["noise"] == "estimated"
    assert result.settings["converged"]


@pytest.mark.lengthy
def test_equal_seeds_give_equal_results():
    runs = drawn(2, n=60)
    assert checked(runs).pvalue == checked(runs).pvalue


def test_reports_without_scatter_leave_the_test_to_the_residual_covariance():
    result = checked(drawn(3, sd=0.0))
    assert result.pvalue is None
    assert result.reason == NO_SCATTER
    assert not math.isnan(result.statistic)


def test_what_cannot_be_fitted_gives_a_reason():
    runs = drawn(4, n=15)
    result = checked(runs)
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
    assert result.reason == "15 contexts are fewer than 20"


def test_a_plan_for_three_states_is_a_note(planned):
    runs = simulate("rational", n_contexts=30, n_reps=2, rng=0).drop(columns="p")
    runs["theta"] = runs["context"].map(lambda name: "abc"[int(str(name)[-1]) % 3])
    notes, calls = planned(CHECK, runs.assign(p_a=0.2, p_b=0.3, p_c=0.5))
    assert notes == ["rational_agent was not fitted: it takes beliefs in one of two states."]
    assert calls == []
    two = simulate("rational", n_contexts=30, n_reps=2, rng=0)
    assert planned(CHECK, two, published=True) == ([], [])


def test_computed_beliefs_are_taken_as_they_are(planned):
    runs = simulate("rational", n_contexts=30, n_reps=2, rng=0)
    (call,) = planned(CHECK, runs.assign(belief_kind="token"))[1]
    assert call.function.keywords["noise"] == 0.0
    (call,) = planned(CHECK, runs)[1]
    assert call.function.keywords["noise"] is None


NAMES = ["residual_covariance", "rational_agent"]


@pytest.mark.lengthy
def test_a_report_says_that_scatter_suffices():
    report = analyze(drawn(8, sd=0.3), checks=NAMES, rng=1)
    results = report.results.set_index("check")
    assert results["pvalue_holm"]["residual_covariance"] <= 0.05
    assert results["pvalue"]["rational_agent"] > 0.05
    said = str(report)
    text = " ".join(said.split())
    assert "suffices to explain it; rational_agent, which allows for it, sees no more" in text
    assert "could cause" not in text


@pytest.mark.lengthy
def test_a_report_says_that_scatter_does_not_explain():
    report = analyze(drawn(9, sd=0.15, signal=0.4), checks=NAMES, rng=1)
    text = " ".join(render_report(report.units, full=True).split())
    assert (
        "does not explain it: rational_agent, which allows for scatter of reports, rejects" in text
    )
    assert "their scatter does not explain it." in text


def test_choices_that_hardly_follow_the_belief_get_a_difference_in_probability():
    runs = drawn(7, n=80, sd=0.25)
    runs["action"] = np.random.default_rng(1).choice(["act", "wait"], len(runs))
    result = checked(runs)
    assert result.unit == "probability"
    assert result.settings["component"].startswith("P(")
    assert result.interval.low < result.statistic < result.interval.high
    assert (result.pvalue > 0.05) == (result.interval.low < 0 < result.interval.high)
    exact = checked(drawn(7, n=80, sd=0.0).assign(action=runs["action"]))
    assert exact.pvalue is None
    assert exact.interval.low < exact.statistic < exact.interval.high
    assert exact.reason.startswith("choice hardly follows the belief")


def test_the_reason_of_few_contexts_says_how_much_they_leave_open():
    """It said that beliefs foretell nearly every state, whatever they were."""
    result = checked(drawn(3, n=24, sd=0.1))
    assert math.isnan(result.pvalue)
    assert "24 contexts" in result.reason
    assert "20" in result.reason
    assert "foretell" not in result.reason


@pytest.mark.lengthy
def test_beliefs_that_foretell_every_state_leave_nothing_to_test():
    """It was a KeyError, and before that a rejection in 8 of 9 tables."""
    rng = np.random.default_rng(0)
    belief = rng.integers(0, 2, 150).astype(float).repeat(5)
    runs = pd.DataFrame(
        {
            "context": np.arange(150).repeat(5),
            "rep": np.tile(np.arange(5), 150),
            "p": np.clip(belief + 0.15 * rng.normal(size=750), 0, 1).round(2),
            "action": np.where(rng.random(750) < 0.02 + 0.96 * belief, "yes", "no"),
            "theta": belief.astype(int),
        }
    )
    result = checked(runs)
    assert math.isnan(result.pvalue)
    assert math.isnan(result.statistic)
    assert "150 contexts" in result.reason
    assert "belief 1/2" in str(analyze(runs, checks=["rational_agent"], rng=1))
