"""Every check with probabilities in place of actions: what must not matter, and what must agree.

Drawn actions are draws from the probabilities, so that an estimate from probabilities must be what
the estimates from many draws have in common. Probabilities that are all 0 or 1 are choices.
"""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax

from coherence import cmi_test, monotone_choice_test, predictive_gain_test, sufficiency_test

LABELS = ("defer", "no", "yes")


def world(seed=0, *, n=120, reps=1, signal=0.0, taste=1.0, wording=0.0, grid=0.05):
    """Beliefs, a policy for every row, states and contexts of an agent that may know more."""
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    belief = np.round(np.round(belief / grid) * grid, 10) if grid else belief
    truth = (rng.random(n) < belief).astype(int)
    acted_on = belief + signal * (truth - 0.5)
    utility = np.stack([np.full(n, 0.5), 6 * (0.4 - acted_on), 6 * (acted_on - 0.6)], axis=1)
    context = np.repeat(np.arange(n), reps)
    utility = (utility + taste * rng.normal(size=(n, 3)))[context]
    utility += wording * rng.normal(size=utility.shape)
    policy = pd.DataFrame(softmax(utility, axis=1), columns=list(LABELS))
    return belief[context], policy, truth[context], context


def drawn(policy, rng):
    edges = policy.to_numpy().cumsum(axis=1)
    return np.array(LABELS)[(rng.random(len(policy))[:, None] > edges[:, :-1]).sum(axis=1)]


TESTS = {
    "sufficiency": partial(sufficiency_test, n_draws=199),
    "cmi": partial(cmi_test, n_permutations=99),
    "predictive_gain": partial(predictive_gain_test, n_seeds=1, n_folds=3),
    "monotone": partial(monotone_choice_test, pair=("yes", "no"), n_draws=199),
}


def result_of(name, belief, action, truth, context=None):
    of_truth = () if name == "monotone" else (truth,)
    return TESTS[name](belief, action, *of_truth, context=context, rng=1)


@pytest.mark.parametrize("test", TESTS)
def test_the_order_of_columns_does_not_matter(test):
    belief, policy, truth, context = world()
    orders = ["defer", "no", "yes"], ["yes", "defer", "no"]
    one, other = (result_of(test, belief, policy[names], truth, context) for names in orders)
    assert one == other
    assert math.isfinite(one.statistic)
    assert math.isfinite(one.pvalue)


@pytest.mark.parametrize("test", TESTS)
def test_choices_written_as_probabilities_give_the_numbers_of_labels(test):
    """Exactly, in every check: a policy of zeros and ones is read as the choice that it names."""
    belief, policy, truth, context = world(reps=2)
    action = drawn(policy, np.random.default_rng(5))
    certain = pd.get_dummies(pd.Series(action)).astype(float)
    labels, ones = (result_of(test, belief, each, truth, context) for each in (action, certain))
    assert labels == ones
    pd.testing.assert_frame_equal(labels.details, ones.details)


def test_covariance_of_a_policy_is_a_difference_of_means():
    """One belief throughout: the effect is the difference of mean probabilities between states."""
    belief, policy, truth, _ = world(3, signal=0.5)
    result = sufficiency_test(np.full(len(belief), 0.5), policy, truth, rng=1)
    for action in LABELS:
        row = result.details.set_index("component").loc[f"P({action} | 1) - P({action} | 0)"]
        means = policy[action].groupby(truth).mean()
        assert row["estimate"] == pytest.approx(means[1] - means[0], abs=1e-9)


def test_shares_of_a_pair_are_ratios_of_mean_probabilities():
    belief = np.repeat([0.2, 0.8], 10)
    first, second = np.linspace(0.1, 0.3, 20), np.linspace(0.5, 0.2, 20)
    policy = pd.DataFrame({"yes": first, "no": second, "defer": 1 - first - second})
    details = monotone_choice_test(belief, policy, pair=("yes", "no"), n_bins=2, rng=1).details
    assert details["share_j"][0] == pytest.approx(first[:10].sum() / (first + second)[:10].sum())
    assert details["n_k"][0] == pytest.approx((first + second)[10:].sum())
    ratio = details["share_k"][0]
    influence = (first - ratio * (first + second))[10:] / details["n_k"][0]
    # Ten contexts leave room for half of one that was not seen and takes one action alone.
    mass = (first + second)[10:]
    number = np.floor(mass.sum() ** 2 / (mass**2).sum())
    least = 0.5 * (ratio**2 + (1 - ratio) ** 2) / number**2
    variance = max((influence**2).sum() * 20 / 19, least)
    assert details["se_k"][0] == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("test", ["sufficiency", "cmi", "monotone"])
def test_a_constant_policy_moves_with_nothing(test):
    belief, _, truth, context = world()
    constant = pd.DataFrame({"yes": 0.3, "no": 0.5, "defer": 0.2}, index=range(len(belief)))
    result = result_of(test, belief, constant, truth, context)
    assert result.pvalue > 0.9
    assert result.statistic == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_one_action_with_all_probability_leaves_nothing_to_test(test):
    belief, policy, truth, context = world()
    certain = policy * 0 + [0.0, 0.0, 1.0]
    result = result_of(test, belief, certain, truth, context)
    assert math.isnan(result.statistic)
    assert "only" in result.reason
    assert "yes" in result.reason


def test_published_procedures_take_no_probabilities_and_say_so():
    belief, policy, truth, _ = world()
    for result in (
        cmi_test(belief, policy, truth, published=True, rng=1),
        predictive_gain_test(belief, policy, truth, published=True, rng=1),
        monotone_choice_test(belief, policy, pair=("yes", "no"), published=True, rng=1),
    ):
        assert math.isnan(result.statistic)
        assert result.pvalue is None
        assert "here actions are probabilities" in result.reason


def test_a_state_that_moves_only_the_spread_of_a_policy_is_seen():
    """Mean policies agree, and the policy depends on the state all the same.

    A test of mean policies has no power here; nor has one that compares policies in the units of
    beliefs, where all of them are alike.
    """
    rng = np.random.default_rng(0)
    belief, truth = rng.integers(1, 10, 300) / 10, rng.integers(0, 2, 300)
    share = 0.5 + rng.choice([-1, 1], 300) * np.where(truth == 1, 0.03, 0.01) * rng.random(300)
    policy = np.stack([share, 1 - share], axis=1)
    result = cmi_test(belief, policy, truth, n_permutations=199, rng=1)
    assert result.pvalue <= 0.01


N = 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"taste": 0.1, "grid": 0.0}, {"taste": 0.0, "grid": 0.0}, {"reps": 3, "wording": 0.5}],
)
@pytest.mark.parametrize("test", ["sufficiency", "cmi"])
def test_true_nulls_are_rejected_about_as_often_as_promised(test, options):
    """At a true rate of .05 the bound is passed once in ten thousand runs."""
    pvalues = [result_of(test, *world(100 + seed, **options)).pvalue for seed in range(N)]
    assert sum(pvalue <= 0.05 for pvalue in pvalues) <= stats.binom.ppf(0.9999, N, 0.05)
