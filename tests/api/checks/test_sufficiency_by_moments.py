"""sufficiency_test where reports are noisy: moments, and what analysis says with their help."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, sufficiency_test


def drawn(seed, *, sd=0.15, n=200, reps=5, signal=0.0):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    truth = (rng.random(n) < belief).astype(int)
    context = np.repeat(np.arange(n), reps)
    acted_on = (belief + signal * (truth - 0.5))[context]
    chosen = rng.random(context.size) < 1 / (1 + np.exp(-8 * (acted_on - 0.4)))
    report = np.clip(belief[context] + sd * rng.normal(size=context.size), 0, 1)
    rows = {"context": context, "rep": np.tile(np.arange(reps), n), "theta": truth[context]}
    rows |= {"p": np.round(report * 20) / 20, "action": np.where(chosen, "treat", "wait")}
    return pd.DataFrame(rows)


def checked(runs):
    arrays = runs["p"], runs["action"], runs["theta"]
    return sufficiency_test(*arrays, context=runs["context"], n_draws=99, rng=1)


def test_the_interval_is_that_of_the_contributions():
    result = checked(drawn(1))
    assert (result.settings["test"], result.settings["reports"]) == ("moments", "differ")
    assert result.settings["component"] == "P(treat | 1) - P(treat | 0)"
    assert result.interval.low < 0 < result.interval.high
    assert result.pvalue > 0.05
    details = result.details.set_index("component")
    assert details["estimate"]["P(wait | 1) - P(wait | 0)"] == pytest.approx(-result.statistic)
    assert result.contributions.sum() == pytest.approx(0, abs=1e-12)
    assert len(result.contributions) == 200
    error = math.sqrt((result.contributions**2).sum())
    assert result.interval.high - result.statistic == pytest.approx(1.972 * error, rel=0.01)
    shown = details["standard_error"][result.settings["component"]]
    assert shown == pytest.approx(error, rel=0.01)


def test_the_difference_is_that_of_products_of_different_reports():
    """Summed here report by report, in every order."""
    runs = drawn(2, n=40, reps=4, signal=0.2)
    moments, state_moments = np.zeros((3, 3)), np.zeros(3)
    of_action, of_state, both, alone = np.zeros(3), np.zeros(3), 0.0, 0.0
    centre = runs.groupby("context")["p"].mean().mean()
    for _, rows in runs.groupby("context"):
        p, y = rows["p"].to_numpy() - centre, rows["theta"].iloc[0]
        treated = (rows["action"] == "treat").to_numpy()
        orders = list(permutations(range(4), 3))
        for first, second, third in orders:
            powers = np.array([1.0, p[first], p[first] * p[second]]) / len(orders)
            moments += np.outer(p[third] ** np.arange(3), powers)
            state_moments += y * p[third] ** np.arange(3) / len(orders)
            # A choice is multiplied by reports of other rows.
            of_action, of_state = of_action + treated[third] * powers, of_state + y * powers
        both, alone = both + treated.mean() * y, alone + y
    coefficients = np.linalg.solve(moments, state_moments)
    expected = (both - of_action @ coefficients) / (alone - of_state @ coefficients)
    assert checked(runs).statistic == pytest.approx(expected)


@pytest.mark.lengthy
def test_noise_that_misleads_others_does_not_mislead_this_one():
    """Of 10 coherent agents with noise .3 the direction alone rejects nearly all."""
    others, rejected = 0, 0
    for seed in range(10):
        result = checked(drawn(seed, n=400, sd=0.3))
        others += result.settings["p_direction"] <= 0.05
        rejected += result.pvalue <= 0.05
    assert others >= 7
    assert rejected <= 3  # P(more than 3 of 10 at .05) = .001


def test_a_hidden_signal_is_seen_through_the_noise():
    seen = [checked(drawn(seed, signal=0.25)).pvalue for seed in range(4)]
    assert sum(pvalue <= 0.05 for pvalue in seen) >= 3


def test_a_bent_calibration_takes_three_reports():
    runs = drawn(6, n=600, reps=2)
    belief = runs.groupby("context")["p"].mean().to_numpy()
    chance = np.clip(4 * (belief - 0.5) ** 2, 0.02, 0.98)
    bent = (np.random.default_rng(1).random(600) < chance).astype(int)
    declined = checked(runs.assign(theta=bent[runs["context"]]))
    assert math.isnan(declined.pvalue)
    assert "bends more than a polynomial of degree 1" in declined.reason
    assert checked(runs).settings["degree"] == 1


@pytest.mark.parametrize(("n", "reps", "most"), [(1000, 4, 3), (400, 5, 4), (1000, 3, 2)])
def test_a_higher_degree_takes_more_reports(n, reps, most):
    degree = checked(drawn(2, n=n, reps=reps)).settings["degree"]
    assert 2 <= degree <= most


def s_shaped(seed, *, n=200, reps=5, slope=2.0):
    """An agent without fault: log-odds of the state are `slope` times those of the belief."""
    rng = np.random.default_rng(seed)
    belief = rng.uniform(0.02, 0.98, n)
    truth = (rng.random(n) < 1 / (1 + ((1 - belief) / belief) ** slope)).astype(int)
    context = np.repeat(np.arange(n), reps)
    chosen = (belief[context] > 0.5) ^ (rng.random(context.size) < 0.05)
    report = np.clip(belief[context] + 0.1 * rng.normal(size=context.size), 0, 1)
    table = {"context": context, "p": np.round(report * 20) / 20, "theta": truth[context]}
    return pd.DataFrame(table | {"action": np.where(chosen, "treat", "wait")})


@pytest.mark.lengthy
def test_an_s_shaped_calibration_does_not_look_like_knowledge():
    """A quadratic took it for that: .19 to .6 of such tables were rejected."""
    results = [checked(s_shaped(seed, slope=3.0)) for seed in range(80)]
    rejected = sum(result.pvalue <= 0.05 for result in results)
    assert rejected <= 11  # a true .05 leaves more in 1 of 2,000 such runs
    assert max(result.settings.get("degree", 0) for result in results) > 2


def test_reports_of_two_or_three_values_have_no_test_and_say_so():
    """Powers of so few values depend on each other: once a singular matrix."""
    runs = drawn(3)
    reports = runs["p"].to_numpy()[:, None]
    for values in ((0.4, 0.6), (0.0, 1.0), (0.2, 0.5, 0.8)):
        nearest = np.array(values)[np.abs(reports - values).argmin(axis=1)]
        result = checked(runs.assign(p=nearest))
        assert math.isnan(result.pvalue)
        assert f"reports take only {len(values)} values" in result.reason
    # Values that one context alone states: left out, it leaves two.
    alone = np.where(runs["rep"] % 2, 0.9, 0.1)
    coarse = np.where(runs["p"] > 0.5, 0.8, 0.2)
    result = checked(runs.assign(p=np.where(runs["context"] == 7, alone, coarse)))
    assert math.isnan(result.pvalue)
    assert "values" in result.reason


def test_a_few_contexts_with_more_reports_do_not_shut_out_the_others():
    runs = drawn(2, n=300, reps=3)
    fewer = runs[(runs["rep"] < 2) | (runs["context"] < 30)]
    result = checked(fewer)
    assert (result.settings["degree"], result.settings["n_tested"]) == (1, 300)


def test_what_cannot_be_tested_gives_a_reason():
    runs = drawn(4, n=100)
    seldom = checked(runs.assign(theta=(runs["context"] < 3).astype(int)))
    assert math.isnan(seldom.pvalue)
    assert "3 of the contexts" in seldom.reason
    few = checked(drawn(4, n=15))
    assert np.isnan([few.statistic, few.pvalue]).all()
    assert few.reason.endswith("here are 15")


@pytest.mark.lengthy
def test_a_report_says_whether_scatter_suffices_to_explain():
    names = ["sufficiency", "cmi"]
    report = analyze(drawn(8, sd=0.3), checks=names, rng=1)
    results = report.results.set_index("check")
    assert results["pvalue_holm"]["cmi"] <= 0.05 < results["pvalue"]["sufficiency"]
    assert "suffices to explain it; sufficiency" in " ".join(str(report).split())
    report = analyze(drawn(9, sd=0.15, signal=0.4), checks=names, rng=1)
    assert "does not explain it: sufficiency, which allows" in " ".join(str(report).split())


@pytest.mark.lengthy
def test_beliefs_that_foretell_every_state_leave_nothing_to_test():
    """It was a KeyError, and before that a rejection in 8 of 9 tables."""
    rng = np.random.default_rng(0)
    belief = rng.integers(0, 2, 150).astype(float).repeat(5)
    runs = drawn(1, n=150).assign(theta=belief.astype(int))
    runs["p"] = np.clip(belief + 0.15 * rng.normal(size=750), 0, 1).round(2)
    runs["action"] = np.where(rng.random(750) < 0.02 + 0.96 * belief, "yes", "no")
    result = checked(runs)
    assert math.isnan(result.pvalue)
    assert math.isnan(result.statistic)
    assert "foretell" in result.reason
    assert "foretell" in str(analyze(runs, checks=["sufficiency"], rng=1))


def test_the_pairing_of_answers_asked_apart_matters_little():
    """It is arbitrary there; a choice made on the report of its row takes it to be the row's."""
    runs = drawn(5, n=200, reps=5)
    result = checked(runs)
    paired = runs.assign(p=runs["p"].to_numpy().reshape(-1, 5)[:, ::-1].ravel())
    again = checked(paired)
    error = (result.interval.high - result.interval.low) / 4
    assert again.statistic == pytest.approx(result.statistic, abs=error / 2)
