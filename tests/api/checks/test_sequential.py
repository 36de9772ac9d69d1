"""Sequential tests: what looking may not do to them, by enumeration and by published bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from coherence import InputError, sequential_test, sufficiency_test

PUBLISHED = (4.8769, 3.3570, 2.6803, 2.2898, 2.0310)
"""Bounds of Lan and DeMets for five looks at .05, two-sided, as R's gsDesign and ldbounds print."""


def study(n=120, weight=0.0, seed=1, reps=3):
    """Draw choices by the stated belief and a weight of what the posterior adds, in arrival."""
    rng = np.random.default_rng(seed)
    exact = rng.uniform(0.05, 0.95, n)
    said = np.round(np.clip(exact + rng.normal(0, 0.2, n), 0, 1) * 10) / 10
    chance = np.clip(said + weight * (exact - said), 0.02, 0.98)
    context = np.repeat(np.arange(n), reps)
    action = np.where(rng.random(n * reps) < chance[context], "yes", "no")
    return {"belief": said[context], "action": action, "exact": exact[context], "context": context}


def kept(table, rows):
    return {name: values[rows] for name, values in table.items()}


def test_levels_are_those_published():
    result = sequential_test(**study(n=60, reps=1), most=100, rng=1)
    bounds = -stats.norm.ppf(result.details["level"] / 2)
    assert bounds == pytest.approx(PUBLISHED, abs=6e-5)


def test_with_one_look_it_is_the_fixed_test():
    table = study(weight=0.4)
    looks = sequential_test(**table, looks=1, most=120, rng=3)
    fixed = sufficiency_test(**table, rng=np.random.default_rng(3).spawn(1)[0])
    assert looks.pvalue == pytest.approx(fixed.pvalue, rel=1e-9)
    assert (looks.low, looks.high) == pytest.approx((fixed.low, fixed.high), abs=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_it_stops_where_the_sequential_pvalue_reaches_the_level(seed):
    result = sequential_test(**study(weight=0.15 * seed, seed=seed), looks=4, most=120, rng=1)
    path = result.details
    assert path["sequential_pvalue"].is_monotonic_decreasing
    assert result.pvalue == path["sequential_pvalue"].iloc[-1]
    reached = path.loc[path["sequential_pvalue"] <= 0.05, "cases"]
    assert result.settings["stopped"] == (int(reached.iloc[0]) if len(reached) else None)


def test_looks_see_the_first_cases_alone_and_stay_as_they_were():
    table = study(weight=0.3)
    whole = sequential_test(**table, looks=3, most=120, rng=1)
    early = sequential_test(**kept(table, table["context"] < 100), looks=3, most=120, rng=1)
    assert early.n_contexts == 80
    assert early.details["pvalue"].tolist()[:2] == whole.details["pvalue"].tolist()[:2]
    assert math.isnan(early.details["pvalue"].iloc[2])
    fixed = sufficiency_test(**kept(table, table["context"] < 80), rng=1)
    assert early.statistic == pytest.approx(fixed.statistic, abs=1e-9)
    assert early.high - early.low > 1.1 * (fixed.high - fixed.low)  # intervals allow for looking
    assert "repeated" in early.interval.method


def test_evidence_is_expected_to_be_one_under_the_null_whenever_one_stops():
    """All actions of eight cases, independent of the state given one of two beliefs."""
    belief = np.array([0.3, 0.7, 0.3, 0.7, 0.7, 0.3, 0.3, 0.7])
    truth = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    at_end = stopped = largest = 0.0
    for actions in itertools.product((0, 1), repeat=8):
        chance = np.prod(np.where(actions, belief**2, 1 - belief**2))
        policy = np.column_stack([1 - np.array(actions), actions]) * 0.8 + 0.1
        path = sequential_test(belief, policy, truth, evidence=20).details["log_evidence"]
        evidence = np.exp(path.to_numpy())
        at_end += chance * evidence[-1]
        stopped += chance * next((e for e in evidence if e > 1.03 or e < 0.9), evidence[-1])
        largest = max(largest, evidence[-1])
    assert at_end == pytest.approx(1, abs=1e-12)
    assert stopped == pytest.approx(1, abs=1e-12)
    assert largest > 1.3


def test_evidence_so_far_does_not_change_as_cases_come_in():
    table = study(weight=1.0, reps=9)
    whole = sequential_test(**table, evidence=20)
    early = sequential_test(**kept(table, table["context"] < 70), evidence=20)
    assert early.details["log_evidence"].tolist() == (whole.details["log_evidence"].tolist()[:70])
    assert whole.pvalue == pytest.approx(np.exp(-whole.details["log_evidence"].max()))
    over = whole.details["log_evidence"] >= math.log(20)
    assert whole.settings["stopped"] == whole.details.loc[over, "cases"].iloc[0]


def test_evidence_takes_cases_as_they_come_and_knows_no_names():
    table = study(weight=0.5)
    forward = sequential_test(**table, evidence=20)
    backward = sequential_test(**kept(table, np.s_[::-1]), evidence=20)
    assert backward.details["context"].tolist() == list(range(120))[::-1]
    assert backward.statistic != forward.statistic
    action = np.where(table["action"] == "yes", "a", "z")
    renamed = table | {"context": -table["context"], "action": action}
    assert sequential_test(**renamed, evidence=20).statistic == pytest.approx(forward.statistic)
    other = table | {"belief": 1 - table["belief"], "exact": 1 - table["exact"]}
    assert sequential_test(**other, evidence=20).statistic == pytest.approx(forward.statistic)
    # Choices against the state are evidence too.
    table = study(weight=0.8, reps=9)
    against = table | {"exact": np.clip(2 * table["belief"] - table["exact"], 0, 1)}
    assert sequential_test(**against, evidence=20).pvalue < 0.05


def test_cases_are_compared_inside_groups():
    rng = np.random.default_rng(1)
    group, belief = np.repeat([0, 1], 60), np.tile(np.repeat([0.4, 0.6], 30), 2)
    exact = np.clip(belief + 0.3 * (group - 0.5) + rng.normal(0, 0.05, 120), 0, 1)
    yes = np.clip(belief + 0.8 * (group - 0.5) + rng.normal(0, 0.05, 120), 0, 1)
    order = rng.permutation(120)
    table = {"belief": belief, "action": np.column_stack([1 - yes, yes]), "exact": exact}
    table, group = kept(table, order), group[order]
    assert sequential_test(**table, computed=True, evidence=20).pvalue < 1e-6
    assert sequential_test(**table, computed=True, evidence=20, group=group).pvalue > 0.05
    alone = sequential_test(**table, evidence=20, group=np.arange(120))
    assert math.isnan(alone.pvalue)
    assert "in their group" in alone.reason


def test_what_rounding_leaves_unsaid_is_no_evidence():
    """A coherent agent rounds what it says, and acts on its belief by a computed policy."""
    exact = np.random.default_rng(1).uniform(0, 1, 200)
    table = {"belief": np.round(exact, 1), "action": np.column_stack([1 - exact, exact])}
    rounded = sequential_test(**table, exact=exact, evidence=20)
    assert (rounded.statistic, rounded.pvalue) == (0.0, 1.0)
    assert "beyond rounding" in rounded.reason
    assert sequential_test(**table, exact=exact, computed=True, evidence=20).pvalue < 1e-6


def test_where_beliefs_are_hardly_ever_equal_or_reports_differ_looks_are_the_remedy():
    apart, noisy = study(), study(reps=5)
    apart["belief"] = 0.9 * apart["belief"] + 1e-4 * apart["context"]
    noise = np.random.default_rng(1).choice([-0.1, 0, 0.1], len(noisy["belief"]))
    noisy["belief"] = np.clip(noisy["belief"] + noise, 0, 1)
    for table in (apart, noisy):
        result = sequential_test(**table, evidence=20)
        assert math.isnan(result.pvalue)
        assert "looks=5" in result.reason
    assert sequential_test(**apart, most=120, rng=1).pvalue > 0.05
    looks = sequential_test(**noisy, looks=2, most=120, rng=1)
    assert looks.settings["test"] == "moments"
    assert "repeated" in looks.interval.method
    early = sequential_test(**study(n=40), most=300)
    assert math.isnan(early.pvalue)
    assert "60 cases" in early.reason


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({}, "most=None and evidence=None"),
        ({"most": 300, "evidence": 20}, "Give one of them"),
        ({"most": 100}, "here are 120 cases"),
        ({"most": 300, "looks": 301}, "looks must be at most"),
        ({"evidence": 1}, "above 1"),
        ({"evidence": 20, "exact": None, "truth": np.arange(360) // 3 % 3}, "two states where"),
    ],
)
def test_what_is_no_plan_is_refused(plan, message):
    with pytest.raises(InputError, match=message):
        sequential_test(**study() | plan)
