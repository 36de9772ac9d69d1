"""predictive_gain_test: right loss, folds by context, and both verdicts on agents that are known."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, predictive_gain_test, simulate

FAST = {"n_seeds": 1, "n_bootstraps": 200}


def columns(name, n_contexts=200, n_reps=5, seed=1):
    runs = simulate(name, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed)
    return runs, (runs["p"], runs["action"], runs["theta"])


def test_flags_the_leaky_agent_and_not_the_rational_one():
    leaky, arrays = columns("leaky")
    found = predictive_gain_test(*arrays, context=leaky["context"], rng=1, **FAST)
    assert found.pvalue < 1e-4
    assert found.interval.low > 5
    rational, arrays = columns("rational")
    clean = predictive_gain_test(*arrays, context=rational["context"], rng=1, **FAST)
    assert clean.pvalue > 0.05
    assert clean.interval.low < 0


def test_percent_is_the_relative_fall_of_log_loss():
    runs, arrays = columns("leaky", 60, 2)
    result = predictive_gain_test(*arrays, context=runs["context"], rng=3, **FAST)
    loss = result.details.set_index("model")["log_loss"]
    assert result.statistic == pytest.approx(100 * loss["gain"] / loss["without truth"])
    assert loss["gain"] == pytest.approx(loss["without truth"] - loss["with truth"])


def test_a_state_that_is_the_action_is_predicted_almost_perfectly():
    """The log-loss without the truth must be near the entropy of the action, and near 0 with it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    result = predictive_gain_test(rng.random(400), truth, truth, rng=0, **FAST)
    loss = result.details.set_index("model")["log_loss"]
    assert loss["without truth"] == pytest.approx(math.log(2), abs=0.05)
    assert loss["with truth"] < 0.05


def test_folds_keep_contexts_whole():
    """Noise that repeats within a context is learnt by heart if its rows span folds: many copies must not look predictable."""
    rng = np.random.default_rng(1)
    belief = np.repeat(rng.random(60), 10)
    action = np.repeat(rng.integers(0, 2, 60), 10)
    truth = np.repeat(rng.integers(0, 2, 60), 10)
    context = np.repeat(np.arange(60), 10)
    whole = predictive_gain_test(belief, action, truth, context=context, rng=0, **FAST).details["log_loss"][0]
    split = predictive_gain_test(belief, action, truth, rng=0, **FAST).details["log_loss"][0]
    assert split < 0.5 < whole


def test_features_may_be_categories_with_gaps():
    runs, arrays = columns("leaky", 60, 2)
    features = pd.DataFrame({"x_word": np.where(runs["x_1"] > 0, "high", None), "x_number": runs["x_2"].where(runs["x_3"] > 0)})
    result = predictive_gain_test(*arrays, features=features, context=runs["context"], rng=3, **FAST)
    assert result.check == "predictive_gain:features"
    assert np.isfinite(result.statistic)


def test_evidence_that_explains_the_state_removes_the_gain():
    """An agent that acts on a feature which also reveals theta: the gain vanishes once the feature is in both models."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 600)
    hint = np.where(rng.random(600) < 0.9, truth, 1 - truth)
    action = np.where(rng.random(600) < 0.9, hint, 1 - hint)
    belief = rng.random(600)
    plain = predictive_gain_test(belief, action, truth, rng=0, **FAST)
    adjusted = predictive_gain_test(belief, action, truth, features=pd.DataFrame({"hint": hint}), rng=0, **FAST)
    assert plain.pvalue < 1e-6
    assert adjusted.pvalue > 0.05


def test_an_action_missing_from_training_folds_costs_a_finite_loss():
    rng = np.random.default_rng(3)
    action = rng.integers(0, 2, 60).astype(object)
    action[0] = 2
    result = predictive_gain_test(rng.random(60), action, rng.integers(0, 2, 60), rng=0, **FAST)
    assert np.isfinite(result.details["log_loss"]).all()


def test_same_seed_same_result():
    runs, arrays = columns("leaky", 40, 2)
    first, second = (predictive_gain_test(*arrays, context=runs["context"], rng=5, **FAST) for _ in range(2))
    assert first == second


def test_several_states_and_beliefs_over_them():
    rng = np.random.default_rng(4)
    belief = rng.dirichlet([1, 1, 1], 300)
    truth = np.array([rng.choice(3, p=row) for row in belief])
    result = predictive_gain_test(belief, np.where(rng.random(300) < 0.8, truth, 0), truth, rng=0, **FAST)
    assert result.pvalue < 0.001


def test_published_setting_is_fixed_and_has_no_pvalue():
    runs, arrays = columns("rational", 30, 2)
    result = predictive_gain_test(*arrays, context=runs["context"], published=True, rng=1, **FAST)
    assert result.pvalue is None
    assert result.settings["depths"] == [6]
    assert "rows" in result.interval.method


def test_degenerate_and_wrong_input():
    rng = np.random.default_rng(0)
    belief, truth = rng.random(40), rng.integers(0, 2, 40)
    assert predictive_gain_test(belief, ["go"] * 40, truth).reason == "only one action was seen ('go')"
    assert math.isnan(predictive_gain_test(np.full(40, 0.5), truth, truth).pvalue)
    with pytest.raises(InputError, match="features must have one row per belief; received 3 rows for 40"):
        predictive_gain_test(belief, truth, truth, features=np.zeros((3, 2)))
    with pytest.raises(InputError, match="n_folds must be a whole number of at least 2; received 1"):
        predictive_gain_test(belief, truth, truth, n_folds=1)
