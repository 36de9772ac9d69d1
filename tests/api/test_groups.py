"""`group=` and the column `group`: what contexts share is the unit of every check."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from coherence import (
    analyze,
    compare,
    iterated_expectation_test,
    monotone_choice_test,
    predictive_gain_test,
    prompt_consistency,
    simulate,
)
from tests.api.tables import calibration


@pytest.fixture(scope="module")
def runs():
    """Sixty cases of two repetitions, made of thirty that are asked under two names each."""
    return doubled(simulate("noisy", n_contexts=30, n_reps=2, rng=3))


def doubled(runs):
    """Every context twice: what is estimated stays, and the copies tell nothing new."""
    twin = runs.assign(context=runs["context"].astype(str) + "-twin")
    both = pd.concat([runs, twin], ignore_index=True)
    return both.assign(group=both["context"].astype(str).str.removesuffix("-twin"))


def rows(runs):
    plain = runs[runs["action"].notna()]
    return plain, (plain["p"], plain["action"], plain["theta"])


def ends(result):
    return None if result.interval is None else (result.interval.low, result.interval.high)


def test_copies_that_are_named_tell_no_more_than_one(runs):
    once = runs[~runs["context"].str.endswith("-twin")].drop(columns="group")
    gap, gap_once = (iterated_expectation_test(each, rng=1) for each in (runs, once))
    assert ends(gap) == pytest.approx(ends(gap_once))
    moved, moved_once = (prompt_consistency(each, prompts=["bayes"]) for each in (runs, once))
    assert ends(moved) == pytest.approx(ends(moved_once))
    plain, (belief, _, theta) = rows(runs)
    alone, (of_once, _, theta_once) = rows(once)
    options = {"context": plain["context"], "group": plain["group"]}
    named = calibration(belief, theta, **options)
    expected = calibration(of_once, theta_once, context=alone["context"])
    for one, other in zip(named, expected, strict=True):
        assert one.statistic == pytest.approx(other.statistic)
        assert (ends(one) or ()) == pytest.approx(ends(other) or ())
    unnamed = iterated_expectation_test(runs.drop(columns="group"), rng=1)
    assert np.diff(ends(unnamed)) < np.diff(ends(gap_once))


@pytest.mark.lengthy
def test_models_are_compared_over_groups(runs):
    other = doubled(simulate("rational", n_contexts=30, n_reps=2, rng=3))
    effects = ["calibration:brier", "iterated_expectation"]
    runs, other = runs.drop(columns="action"), other.drop(columns="action")
    grouped = compare({"noisy": runs, "rational": other}, effects=effects, rng=1)
    plain = {"noisy": runs.drop(columns="group"), "rational": other.drop(columns="group")}
    single = compare(plain, effects=effects, rng=1)
    assert grouped.differences["difference"].tolist() == pytest.approx(
        single.differences["difference"].tolist()
    )
    assert (grouped.differences["pvalue"] > single.differences["pvalue"]).iloc[1:].all()
    few = {name: table.assign(group=table["theta"]) for name, table in plain.items()}
    told = compare(few, effects=effects[:1], rng=1)
    assert told.differences["pvalue"].isna().all()
    assert all("2 groups are too few" in reason for reason in told.differences["reason"])


@pytest.mark.lengthy
def test_a_group_for_every_context_changes_nothing():
    runs = simulate("leaky", n_contexts=60, n_reps=2, rng=1)
    checks = ["sufficiency", "cmi", "monotone_choice", "predictive_gain"]
    plain, named = (
        analyze(table, checks=checks, rng=1).results.set_index("check")[["estimate", "pvalue"]]
        for table in (runs, runs.assign(group=runs["context"]))
    )
    assert_frame_equal(plain, named)


def test_groups_of_very_unequal_size_are_no_units():
    """Two groups that hold most contexts speak for thirty: neither test nor interval keep rates."""
    group = np.r_[np.zeros(100), np.ones(60), np.repeat(np.arange(2, 30), 4)].astype(int)
    rng = np.random.default_rng(0)
    belief = rng.random(group.size)
    action = np.where(rng.random(group.size) < belief, "yes", "no")
    result = monotone_choice_test(belief, action, pair=("yes", "no"), group=group)
    assert np.isnan(result.pvalue)
    assert result.interval is None
    assert result.reason.startswith("30 groups of unequal size tell as much as 5.3 equal ones")
    # Sizes that differ a little cost nothing.
    even = np.r_[np.repeat(np.arange(20), 12), np.repeat(np.arange(20, 24), 8)]
    arrays = belief[: even.size], action[: even.size]
    assert monotone_choice_test(*arrays, pair=("yes", "no"), group=even).pvalue > 0.05


def test_few_groups_have_neither_interval_nor_pvalue():
    rng = np.random.default_rng(1)
    belief = rng.random(90)
    action = rng.choice(["a", "b", "c"], 90)
    result = predictive_gain_test(belief, action, belief > 0.5, group=np.arange(90) % 9)
    assert result.interval is None
    assert np.isnan(result.pvalue)
    assert result.reason == "9 groups are too few to be the clusters; 10 are needed"
