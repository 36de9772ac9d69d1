import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, cmi_test
from coherence.analysis.paper.results import supplement


@pytest.fixture(scope="module")
def runs():
    return coherence.simulate("noisy", n_contexts=40, n_reps=3, rng=2)


def results_of(runs, **options):
    return {result.check: result for _, _, result in supplement(runs, rng=1, **options)}


@pytest.fixture(scope="module")
def results(runs):
    return results_of(runs)


def test_scatter_and_errors_are_those_of_their_formulas(runs, results):
    plain = runs[runs["z_state"].isna() & (runs["prompt"] == "mse")]
    answers = plain.groupby("context")["p"]
    truth = plain.groupby("context")["p_true"].first()
    single = np.sqrt(((plain["p"] - plain["p_true"]) ** 2).mean())
    assert results["truth_rmse:mse"].statistic == pytest.approx(single, rel=1e-12)
    squares = (answers.mean() - truth) ** 2 - answers.var() / answers.count()
    noiseless = results["truth_rmse_noise_removed:mse"]
    assert noiseless.statistic == pytest.approx(np.sqrt(max(squares.mean(), 0)), abs=1e-12)
    standard = runs[runs["z_state"].isna() & (runs["prompt"] == "standard")]
    scatter = np.sqrt(standard.groupby("context")["p"].var().mean())
    assert results["repetition_sd"].statistic == pytest.approx(scatter, rel=1e-12)
    low, high = results["repetition_sd"].interval.low, results["repetition_sd"].interval.high
    assert low < scatter < high


def test_noise_is_removed_from_the_error_of_a_model_that_is_right_but_noisy(results):
    """The noisy agent reports the truth with scatter: only the single answers miss it by much."""
    scatter = results["repetition_sd"].statistic
    assert results["truth_rmse:standard"].statistic == pytest.approx(scatter, rel=0.25)
    assert results["truth_rmse_noise_removed:standard"].statistic < scatter / 2


@pytest.mark.lengthy
def test_the_calibrated_test_is_the_public_one(runs):
    stated = runs[runs["z_state"].isna() & (runs["prompt"] == "standard")].dropna(subset="p")
    stream = np.random.default_rng(1).spawn(1)[0]
    arrays = stated["p"], stated["action"], stated["theta"]
    alone = cmi_test(*arrays, context=stated["context"], isotonic=True, rng=stream)
    found = results_of(runs)["cmi:isotonic"]
    assert (found.statistic, found.pvalue) == (alone.statistic, alone.pvalue)


@pytest.mark.lengthy
def test_further_tests_stand_in_no_family(runs):
    """They are of a paper's table, and correct nothing in the report."""
    found = results_of(runs)["cmi:isotonic"]
    assert 0 < found.pvalue <= 1
    assert (found.pvalue_holm, found.n_tests) == (None, None)


def test_published_runs_the_calibrated_estimate_alone(runs):
    (result,) = results_of(runs, published=True).values()
    assert (result.check, result.pvalue) == ("cmi:isotonic", None)
    assert "percentile" in result.interval.method


@pytest.mark.lengthy
def test_what_cannot_be_computed_says_why(runs):
    """Policies, a label that nothing explains, no exact posterior, one repetition."""
    named = runs.assign(theta=runs["theta"].map({0: "well", 1: "ill"}))
    assert "positive" in results_of(named)["cmi:isotonic"].reason
    assert results_of(named, positive=["ill"])["cmi:isotonic"].pvalue >= 0
    with pytest.raises(InputError, match="label of theta"):
        results_of(named, positive=["sick"])
    blind = results_of(runs.drop(columns="p_true"))
    assert "p_true is missing" in blind["truth_rmse:bayes"].reason
    once = results_of(runs[runs["rep"] == runs["rep"].min()])
    assert "two parsed repetitions" in once["truth_rmse_noise_removed:mse"].reason
    assert np.isnan(once["repetition_sd"].statistic)
    policy = runs.drop(columns="action").assign(
        action_yes=runs["action"].eq("yes").where(runs["action"].notna()) * 1.0,
        action_no=1.0 - runs["action"].eq("yes").where(runs["action"].notna()),
    )
    policy[["action_yes", "action_no"]] = policy[["action_yes", "action_no"]].astype(float)
    assert "actions are probabilities" in results_of(policy)["cmi:isotonic"].reason


@pytest.mark.lengthy
def test_computed_beliefs_have_the_spread_of_their_distribution_and_no_noise(runs):
    once = runs[runs["rep"] == runs["rep"].min()]
    computed = once.assign(belief_kind="stated:exact", p_sd=0.1)
    found = results_of(computed)
    assert found["repetition_sd"].statistic == pytest.approx(0.1)
    single, noiseless = found["truth_rmse:mse"], found["truth_rmse_noise_removed:mse"]
    assert noiseless.statistic == pytest.approx(single.statistic)
    assert "not known" in results_of(computed.drop(columns="p_sd"))["repetition_sd"].reason


def test_contexts_of_a_group_are_one_unit(runs, results):
    """Four copies of every context tell no more than one, where the group says whose they are."""
    copies = [
        runs.assign(context=runs["context"].astype(str) + f" {copy}", group=runs["context"])
        for copy in range(4)
    ]
    grouped = results_of(pd.concat(copies, ignore_index=True))
    for check in ("repetition_sd", "truth_rmse:mse", "truth_rmse_noise_removed:mse"):
        one, four = results[check], grouped[check]
        assert four.statistic == pytest.approx(one.statistic, rel=1e-12)
        assert four.interval.low == pytest.approx(one.interval.low, rel=1e-9)
        assert four.interval.high == pytest.approx(one.interval.high, rel=1e-9)
        assert "groups as clusters" in four.interval.method
