"""predictive_gain_test: right loss, folds by context, and both verdicts on known agents."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import InputError, analyze, predictive_gain_test
from coherence.checks.predictive import _over_contexts

FAST = {"n_seeds": 1, "n_bootstraps": 200}


def stand_in(losses_of, seeds):
    """A stand-in for cross-validation, which notes its seeds."""

    class Trees:
        def __init__(self, design, data, content, n_contexts):
            self.design, self.data = design, data

        def losses(self, n_folds, seed):
            seeds.append(seed)
            return losses_of(self.design, self.data)

    return Trees


def test_folds_keep_contexts_whole():
    """Noise that repeats within a context is learnt by heart if its rows span folds: many copies
    must not look predictable."""
    rng = np.random.default_rng(1)
    context = np.repeat(np.arange(40), 10)
    belief, (action, truth) = rng.random(40)[context], rng.integers(0, 2, (2, 40))[:, context]
    whole, split = (
        predictive_gain_test(belief, action, truth, context=units, rng=0, **FAST)
        for units in (context, None)
    )
    assert split.details["log_loss"][0] < 0.5 < whole.details["log_loss"][0]


def test_evidence_that_explains_the_state_removes_the_gain():
    """An agent that acts on a feature which also reveals theta: the gain vanishes once the feature
    is in both models."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 600)
    hint = np.where(rng.random(600) < 0.9, truth, 1 - truth)
    action = np.where(rng.random(600) < 0.9, hint, 1 - hint)
    belief = rng.random(600)
    plain = predictive_gain_test(belief, action, truth, rng=0, **FAST)
    hints = pd.DataFrame({"hint": hint})
    adjusted = predictive_gain_test(belief, action, truth, features=hints, rng=0, **FAST)
    assert plain.pvalue < 1e-6
    assert adjusted.pvalue > 0.05


def test_beliefs_over_three_states_are_refused_and_left_out():
    belief = np.random.default_rng(4).dirichlet([1, 1, 1], 60)
    truth = belief.argmax(axis=1)
    with pytest.raises(InputError, match="beliefs over 3 states"):
        predictive_gain_test(belief, truth, truth)
    table = pd.DataFrame(belief, columns=["p_0", "p_1", "p_2"]).assign(theta=truth, action=truth)
    report = analyze(table.assign(context=range(60)), checks=["predictive_gain"], rng=1)
    assert report.results.empty
    assert any("needs one of two" in note.text for note in report.evaluations[0].notes)


def test_truth_that_matters_only_together_with_belief_is_found():
    """Truth turns the effect of belief round and has no effect by itself: stumps see nothing."""
    rng = np.random.default_rng(6)
    belief, truth = rng.random(400), rng.integers(0, 2, 400)
    high = np.where(rng.random(400) < 0.9, belief > 0.5, belief <= 0.5)
    turned = high ^ (truth == 1)
    found = predictive_gain_test(belief, turned, truth, rng=0, **FAST)
    assert found.pvalue < 1e-6


def test_awkward_features_are_taken():
    """Gaps, nullable integers, truth values, categories seen once, constants and all-missing
    columns: no error, warning or NaN."""
    rng = np.random.default_rng(7)
    n, context = 60, np.repeat(np.arange(30), 2)
    number = rng.normal(size=n)
    features = pd.DataFrame(
        {
            "gaps": np.where(rng.random(n) < 0.3, np.nan, number),
            "nullable": pd.array([None if k % 5 == 0 else k for k in range(n)], dtype="Int64"),
            "truth value": number > 0,
            "category": pd.Categorical(np.where(np.arange(n) == 4, "once", "often")),
            "mixed": [None if k % 7 == 0 else (k % 2 or "even") for k in range(n)],
            "constant": 1.0,
            "never": np.nan,
            "varies in one context": (context == 3).astype(float),
        }
    )
    action = np.where(rng.random(n) < 0.5, "yes", "no")
    action[0] = "once"
    options = {"features": features, "context": context, "n_seeds": 3}
    result = predictive_gain_test(rng.random(n), action, context % 2, **options)
    assert np.isfinite([result.statistic, result.pvalue, result.low, result.high]).all()
    # One deviating row leaves some training folds with one action, some with one belief.
    belief, action, truth = np.full(12, 0.5), np.zeros(12, dtype=int), np.arange(12) % 2
    belief[0], action[0] = 0.9, 1
    result = predictive_gain_test(belief, action, truth, n_folds=4, rng=0, **FAST)
    assert np.isfinite(result.details["log_loss"]).all()


@pytest.mark.lengthy
def test_an_action_that_the_belief_fixes_leaves_the_gain_open():
    """Hardly anything is left to predict: an interval around 0 of no width would look certain."""
    belief = np.linspace(0, 1, 40)
    action = np.where(belief > 0.5, "yes", "no")
    result = predictive_gain_test(belief, action, np.arange(40) % 2, rng=1)
    assert result.pvalue > 0.2
    assert result.interval.low < 0
    assert result.interval.high == 100


def test_models_that_never_differ_have_no_gain_and_no_interval(monkeypatch):
    trees = stand_in(lambda design, data: 0.5 + data.belief, [])
    monkeypatch.setattr("coherence.statistics.trees.TreeCrossFit", trees)
    belief = np.linspace(0, 1, 40)
    result = predictive_gain_test(belief, np.arange(40) % 3 % 2, np.arange(40) % 2)
    assert (result.statistic, result.pvalue, result.interval) == (0, 1.0, None)
    assert result.reason == "the truth changes no prediction, and nothing is left to vary"


def test_interval_and_pvalue_over_contexts_by_hand():
    """Totals of contexts; the variance between them counts one and a half times."""
    gains = np.tile([0.1, 0.3, -0.1, 0.5], 100)
    losses = np.tile([1.0, 2.0, 3.0, 2.0], 100)
    interval, pvalue = _over_contexts(gains, losses, of_seeds=np.full(5, 80.0))
    # 10% of the losses; the four gains leave -0, .1, -.4 and .3 of theirs, 2 being the mean loss.
    variance = 50**2 * np.var(np.tile([0.0, 0.1, -0.4, 0.3], 100), ddof=1) * 1.5 / 400
    quantile = stats.t.ppf(0.975, 399)
    assert interval.low == pytest.approx(10 - quantile * math.sqrt(variance))
    # At the upper end the gain seen is as many standard errors below, by the variance that contexts
    # would have there: larger by two for each nat, and 2 nats are 100%.
    nats = (interval.high - 10) / 50
    error = math.sqrt(variance + 50**2 * 2 * nats / 400)
    assert interval.high - 10 == pytest.approx(quantile * error)
    studentised = 0.2 / (np.std(gains, ddof=1) * math.sqrt(1.5 / 400))
    assert pvalue == pytest.approx(stats.t.sf(studentised, 399))
    # Equal shares of the losses leave no doubt that it is so much.
    certain, _ = _over_contexts(losses / 5, losses, of_seeds=np.full(5, 160.0))
    assert (certain.low, certain.high) == pytest.approx((20, 20 + 50 * 2 * quantile**2 / 400))
    # Models that differ by rounding do not differ.
    losses, gains = np.array([1.0, 2.0, 3.0, 2.0]), np.array([1e-16, -1e-16, 3e-16, 2e-16])
    assert _over_contexts(gains, losses, of_seeds=np.full(5, 5e-16)) == (None, 1.0)
    assert _over_contexts(1e10 * gains, losses, of_seeds=np.full(5, 5e-6))[0] is not None


def test_what_folds_differ_by_is_added_with_its_own_degrees_of_freedom():
    gains, losses = np.array([0.1, 0.3, -0.1, 0.5]), np.array([1.0, 2.0, 3.0, 2.0])
    of_seeds = np.array([0.4, 0.8, 1.2])  # totals: their mean is that of the gains
    _, pvalue = _over_contexts(gains, losses, of_seeds=of_seeds)
    contexts = 1.5 * np.var(gains, ddof=1) / 4
    folds = np.var(of_seeds / 4, ddof=1) / 3
    degrees = (contexts + folds) ** 2 / (contexts**2 / 3 + folds**2 / 2)
    assert pvalue == pytest.approx(stats.t.sf(0.2 / math.sqrt(contexts + folds), degrees))
    # Contexts that all gain alike say nothing of what other folds would have given.
    interval, _ = _over_contexts(losses / 5, losses, of_seeds=np.array([1.0, 1.6, 2.2]))
    reach = stats.t.ppf(0.975, 2) * 100 * 0.6 / math.sqrt(3) / 8
    assert interval.low == pytest.approx(20 - reach)
    assert interval.high > 20 + reach


def test_losses_are_averaged_over_seeds_and_summed_over_contexts(monkeypatch):
    """Repetitions are numbered, and both models of a repetition share its folds.

    Contexts, known by their beliefs, lose .8, .6, ... without truth, half with it.
    """
    seen = []

    def losses_of(design, data):
        number = np.round(100 * data.belief).astype(int)
        return (0.2 + 0.2 * (number % 4)) / design.shape[1]

    monkeypatch.setattr("coherence.statistics.trees.TreeCrossFit", stand_in(losses_of, seen))
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(12), rng.integers(1, 4, 12))
    belief, action = 0.6 + context / 100, rng.integers(0, 2, context.size)
    result = predictive_gain_test(belief, action, context % 2, context=context, n_seeds=40, rng=0)
    loss = 0.2 + 0.2 * (context % 4)
    table = result.details.set_index("model")["log_loss"]
    assert table["without truth"] == pytest.approx(loss.mean())
    assert table["with truth"] == pytest.approx(loss.mean() / 2)
    assert result.statistic == pytest.approx(50)
    # Gains are half of the losses in every context.
    assert result.interval.low == pytest.approx(50)
    totals = np.bincount(context, weights=loss / 2)
    _, pvalue = _over_contexts(totals, 2 * totals, of_seeds=np.ones(40))
    assert result.pvalue == pytest.approx(pvalue)
    assert seen == [number for number in range(40) for _ in range(2)]


def test_columns_of_evidence_may_come_in_any_order_and_words_hold_half_a_character():
    """Trees break ties by position: p was .39 in one order and .30 in the other. JSON allows half
    of a surrogate pair; CatBoost's own error ended the analysis."""
    rng = np.random.default_rng(5)
    belief, (action, truth) = rng.uniform(size=60).round(1), rng.integers(0, 2, (2, 60))
    evidence = pd.DataFrame({"b": rng.normal(size=60), "a": rng.normal(size=60)})
    evidence["c"] = pd.Series(["x", "y", "\ud800"] * 20, dtype=object)
    one, other, plain = (
        predictive_gain_test(belief, action, truth, features=features, n_seeds=1).pvalue
        for features in (evidence, evidence[["c", "a", "b"]], evidence.replace("\ud800", "z"))
    )
    assert one == other == plain
