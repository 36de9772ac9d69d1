"""The hidden shift: exact populations, the sandwich by hand, invariances, no shift to find."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax

from coherence.statistics.choice_model import ChoiceModel
from coherence.statistics.choices import as_choices
from coherence.statistics.hidden_shift import hidden_shift
from coherence.statistics.residuals import Chooser, Residuals, residuals
from coherence.statistics.smoothing import SmoothFit

LEVELS = np.arange(1, 10) / 10


def utilities(belief, n_actions):
    """Utilities that are straight in the belief, as those of an expected-utility maximiser."""
    steps = np.linspace(-1, 1, n_actions)
    return 3 * (2 * belief[:, None] - 1) * steps + 0.4 * steps**2


def population(shift, n_actions=2, size=20_000):
    """Counts at nine beliefs as they are expected of an agent who acts on the shifted belief.

    A state comes true as often as believed. Residuals are those of the true shares, so that the
    score equation holds at the shift but for the rounding of counts.
    """
    rows = []
    for belief in LEVELS:
        for state, odds in enumerate((1 - belief, belief)):
            acted_on = np.array([belief + shift * (state - 0.5)])
            share = softmax(utilities(acted_on, n_actions), axis=1)[0]
            counts = np.rint(size * odds * share).astype(int)
            rows += [
                np.repeat([[belief, state, action]], count, axis=0)
                for action, count in enumerate(counts)
            ]
    belief, truth, action = np.concatenate(rows).T
    data = as_choices(belief, action.astype(int), truth.astype(int), None)
    level = np.rint(10 * belief).astype(int) - 1
    size_of_level = np.bincount(level)
    indicators = np.eye(n_actions)[data.action]
    shares = np.stack(
        [np.bincount(level, weights=column) / size_of_level for column in indicators.T], axis=1
    )
    odds = np.bincount(level, weights=data.truth) / size_of_level
    remains = Residuals(
        indicators - shares[level],
        SmoothFit(shares[level], 9),
        (data.truth - odds[level])[:, None],
        SmoothFit(odds[level][:, None], 9),
    )
    steps = np.linspace(-1, 1, n_actions)
    choice = ChoiceModel(np.stack([0.4 * steps**2, 3 * steps]))
    return data, remains, Chooser(belief, choice)


@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("shift", [-0.3, -0.04, 0.08, 0.25, 0.6])
def test_the_shift_of_a_population_is_found(shift, n_actions):
    """Small and large ones, of either sign; a first-order estimate would fall short of .25."""
    result = hidden_shift(*population(shift, n_actions))
    assert result.estimate == pytest.approx(shift, abs=0.002)
    assert 0 < result.standard_error < 0.01


def test_score_is_the_residual_of_the_action_by_slope_times_that_of_the_truth():
    """Of a logit with two actions and utilities -3 (2b - 1) and 3 (2b - 1), both + .4: the slope of
    log P(1) is 12 P(0)."""
    data, remains, chooser = population(0.1, size=100)
    result = hidden_shift(data, remains, chooser)
    second = expit(6 * (2 * data.belief - 1))
    assert result.slope[:, 1] == pytest.approx(12 * (1 - second))
    assert result.slope[:, 0] == pytest.approx(-12 * second)
    by_hand = (12 * (1 - second) * remains.action[:, 1] - 12 * second * remains.action[:, 0]) * (
        remains.truth[:, 0]
    )
    assert result.score == pytest.approx(by_hand)


def test_the_other_state_turns_the_shift_round():
    data, remains, chooser = population(0.2, size=500)
    result = hidden_shift(data, remains, chooser)
    other = as_choices(data.belief, data.action, 1 - data.truth, None)
    turned = replace(remains, truth=-remains.truth)
    opposite = hidden_shift(other, turned, chooser)
    assert opposite.estimate == pytest.approx(-result.estimate, abs=2e-5)
    assert opposite.standard_error == pytest.approx(result.standard_error, rel=1e-3)


def random_choices(n_contexts=60, shift=0.2, seed=0):
    rng = np.random.default_rng(seed)
    belief = rng.choice(LEVELS, n_contexts)
    truth = (rng.random(n_contexts) < belief).astype(int)
    acted_on = belief + shift * (truth - 0.5)
    action = (rng.random(n_contexts) < expit(6 * (2 * acted_on - 1))).astype(int)
    return belief, action, truth


def test_copies_within_contexts_leave_estimate_and_error():
    """Ten copies of each row say ten times the same; as contexts of their own they would not.

    The regressions are kept, as their folds would differ otherwise.
    """
    belief, action, truth = random_choices()
    data = as_choices(belief, action, truth, None)
    remains, chooser = residuals(data)
    once = hidden_shift(data, remains, chooser)
    copies = np.repeat(np.arange(60), 10)
    tenfold = Residuals(
        remains.action[copies], remains.action_fit, remains.truth[copies], remains.truth_fit
    )
    repeated = Chooser(chooser.belief[copies], chooser.choice)
    columns = belief[copies], action[copies], truth[copies]
    together = hidden_shift(as_choices(*columns, copies), tenfold, repeated)
    apart = hidden_shift(as_choices(*columns, None), tenfold, repeated)
    # The trace of ridge is in units of one choice, hence smaller beside ten times as many.
    assert together.estimate == pytest.approx(once.estimate, rel=1e-3)
    assert together.standard_error == pytest.approx(once.standard_error, rel=1e-2)
    factor = math.sqrt(10 * 60 / 59 * 599 / 600)
    assert together.standard_error / apart.standard_error == pytest.approx(factor, rel=1e-6)


@pytest.mark.lengthy
def test_error_is_the_spread_of_the_estimate_over_samples():
    """Forty samples: their standard deviation within a third of the mean stated error."""
    results = []
    for seed in range(40):
        data = as_choices(*random_choices(n_contexts=400, seed=seed), None)
        results.append(hidden_shift(data, *residuals(data)))
    estimates = [result.estimate for result in results]
    stated = np.mean([result.standard_error for result in results])
    assert np.std(estimates, ddof=1) == pytest.approx(stated, rel=1 / 3)
    assert np.mean(estimates) == pytest.approx(0.2, abs=3 * stated / math.sqrt(40))


def test_choices_that_ignore_the_belief_identify_no_shift():
    """Who only follows the state acts on no belief, however far it is moved."""
    rng = np.random.default_rng(3)
    belief, truth = rng.random(300), rng.integers(0, 2, 300)
    data = as_choices(belief, truth, truth, None)
    result = hidden_shift(data, *residuals(data))
    assert math.isnan(result.estimate)
    assert math.isnan(result.standard_error)
    assert np.isfinite(result.score).all()


def test_no_covariance_is_no_shift():
    """Action and state exactly independent at each belief: the score sums to 0, and so does all
    that any shift explains at 0."""
    blocks = []
    for belief in LEVELS:
        n_acts = round(10 * belief)
        acts = np.repeat([1, 0], [n_acts, 10 - n_acts])
        blocks += [np.stack([np.full(10, belief), acts, np.full(10, s)], axis=1) for s in (0, 1)]
    belief, action, truth = np.concatenate(blocks).T
    data = as_choices(belief, action.astype(int), truth.astype(int), None)
    remains, chooser = residuals(data)
    result = hidden_shift(data, remains, chooser)
    assert abs(result.score.sum()) < 1e-3
    assert result.estimate == pytest.approx(0, abs=1e-3)


def steps(seed, shift=0.0):
    """Choices at one threshold of a belief stated to two digits, a third of them slips."""
    rng = np.random.default_rng(seed)
    belief = rng.integers(0, 101, 150) / 100
    truth = (rng.random(150) < belief).astype(int)
    acts = (belief + shift * (truth - 0.5) > 0.5) ^ (rng.random(150) < 0.05)
    data = as_choices(belief, acts.astype(int), truth, None)
    return data, *residuals(data)


@pytest.mark.parametrize("seed", range(12))
def test_the_interval_holds_zero_where_the_score_test_does(seed):
    """Near a step the score bends: an interval by the error at the estimate would contradict it."""
    result = hidden_shift(*steps(seed, shift=0.03))
    scores = result.score
    studentised = scores.mean() / scores.std(ddof=1) * math.sqrt(len(scores))
    assert (result.low <= 0 <= result.high) == (abs(studentised) <= stats.t.ppf(0.975, 149))
    assert -1 <= result.low < result.estimate < result.high <= 1


def test_influences_add_up_to_nothing_and_have_the_standard_error():
    result = hidden_shift(*population(0.2, size=500))
    n = result.influence.size
    assert result.influence.sum() == pytest.approx(0, abs=1e-4)
    spread = np.sqrt((result.influence**2).sum() * n / (n - 1))
    assert spread == pytest.approx(result.standard_error)
    assert hidden_shift(*population(0.2, size=500), ends=False).influence.size == 0
