"""cmi_test: what it finds, what must not matter, what it refuses, and the paper's procedure."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from coherence import AGENTS, InputError, cmi_test, simulate


def arrays(name="rational", seed=1, n_contexts=60, n_reps=3, **changes):
    agent = AGENTS[name].with_parameters(**changes)
    once = {"prompts": ["standard"], "iterated": False, "rng": seed}
    runs = simulate(agent, n_contexts=n_contexts, n_reps=n_reps, **once)
    return tuple(runs[column].to_numpy() for column in ("p", "action", "theta", "context"))


def checked(belief, action, truth, context, n_permutations=199, rng=0, **options):
    options |= {"context": context, "n_permutations": n_permutations, "rng": rng}
    return cmi_test(belief, action, truth, **options)


def nearest(result):
    return result.details.set_index("quantity").loc["nearest neighbours", "nats"]


def of_null(seed, n=30):
    rng = np.random.default_rng([11, seed])
    belief = rng.integers(0, 11, n) / 10
    return belief, rng.random(n) < belief, rng.random(n) < belief, None


def test_the_headline_is_the_excess_that_the_pvalue_ranks():
    """Breaks if the statistic is of another quantity, or has another sign, than what p ranks."""
    signs = set()
    for seed in range(20):
        result = checked(*of_null(seed), n_permutations=99)
        windows = result.details.set_index("quantity").loc["information in windows"]
        assert (result.settings["window"], windows["contexts"]) == (9, 9)
        assert result.statistic == windows["excess"] == windows["nats"] - windows["permuted"]
        signs.add(result.statistic > 0)
    assert signs == {True, False}


def test_an_effect_that_turns_with_the_belief_and_one_that_does_not_are_both_seen():
    rng = np.random.default_rng(4)
    belief = np.repeat(np.arange(1, 10) / 10, 40)
    truth = rng.random(belief.size) < 0.5
    for push in (np.where(belief > 0.5, -0.3, 0.3), 0.2):
        action = rng.random(belief.size) < 0.5 + push * np.where(truth, 1, -1)
        result = checked(belief, action, truth, None)
        assert (result.settings["window"], result.pvalue) == (108, 1 / 200)
        assert result.statistic > 0


def test_the_nearest_neighbour_estimate_is_the_published_one():
    belief, action, truth, context = arrays()
    ours, paper = (
        checked(belief, action, truth, context, published=published, n_bootstraps=50)
        for published in (False, True)
    )
    assert nearest(ours) == paper.statistic
    assert paper.pvalue is None
    assert "rows" in paper.interval.method
    assert (ours.interval, ours.also) == (None, {})
    assert not any(letter.isdigit() for letter in ours.reason)  # no number that is not tested


def test_one_belief_throughout_is_fisher_s_exact_test_of_the_table():
    """The estimate rises with the association of the table: ranked, that is the exact test."""
    truth = np.repeat([1, 0], 8)
    action = np.repeat(["yes", "no", "yes", "no"], [7, 1, 1, 7])
    result = checked(np.full(16, 0.4), action, truth, None, n_permutations=20_000)
    assert result.settings["exact"] is True
    fisher = stats.fisher_exact([[7, 1], [1, 7]]).pvalue
    assert result.pvalue == pytest.approx(fisher, abs=1e-9)


def several_states(seed, signal=0.0, n_contexts=100, n_reps=2):
    rng = np.random.default_rng(seed)
    belief = rng.multinomial(5, [0.3, 0.4, 0.3], n_contexts) / 5
    truth = (rng.random(n_contexts)[:, None] > belief.cumsum(axis=1)[:, :2]).sum(axis=1)
    utility = 6 * (belief + signal * np.eye(3)[truth]) + rng.normal(size=(n_contexts, 3))
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = np.argmax(utility[context] + rng.gumbel(size=(context.size, 3)), axis=1)
    return belief[context], action, truth[context], context


def test_beliefs_over_three_states():
    assert checked(*several_states(0)).pvalue > 0.05
    assert checked(*several_states(0, signal=0.4)).pvalue == pytest.approx(0.005, abs=5e-5)


def test_isotonic_estimate_uses_calibrated_beliefs():
    belief, action, truth, context = arrays()
    raw = checked(belief, action, truth, context, n_permutations=49)
    result = checked(belief, action, truth, context, n_permutations=49, isotonic=True)
    calibrated = IsotonicRegression(out_of_bounds="clip").fit_transform(belief, truth)
    plain = checked(calibrated, action, truth, context, n_permutations=1)
    assert result.settings["isotonic"] is True
    values = [nearest(each) for each in (result, plain, raw)]
    assert values[0] == values[1] != values[2]
    assert (result.statistic, result.pvalue) == (raw.statistic, raw.pvalue)
    hit = np.where(truth == 1, "hit", "miss")
    named = checked(belief, action, hit, context, n_permutations=49, isotonic=True, positive="hit")
    assert named.details.equals(result.details)
    with pytest.raises(InputError, match="positive='hit' or positive='miss'"):
        checked(belief, action, hit, context, isotonic=True)
    with pytest.raises(InputError, match="isotonic=True calibrates the belief in one of two"):
        checked(*several_states(0), isotonic=True)
    # Squared beliefs calibrate to the same values.
    options = {"isotonic": True, "published": True, "n_bootstraps": 30}
    one, other = (checked(p, action, truth, context, **options) for p in (belief, belief**2))
    assert (one.statistic, one.interval) == (other.statistic, other.interval)


def test_too_few_contexts_to_exchange_are_refused():
    assert "9 contexts are fewer" in checked(*arrays(n_contexts=9)).reason
    belief = np.repeat(np.arange(10) / 9, 4)  # .11 apart
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.permutation([0, 1] * 5), 4)
    result = checked(belief, rng.integers(0, 2, 40), truth, np.repeat(np.arange(10), 4))
    assert math.isnan(result.pvalue)
    assert "similar belief" in result.reason


def test_what_distinguishes_nothing_leaves_the_size_of_the_information():
    """Breaks if choices less what is explained are counted on a smaller scale: a sixth."""
    rng = np.random.default_rng(0)
    belief = rng.uniform(size=400).round(2)
    truth = (rng.random(400) < belief).astype(int)
    action = rng.random(400) < 0.5 * belief + 0.5 * truth
    plain, other = (
        checked(belief, action, truth, np.arange(400), **how).statistic
        for how in ({}, {"group": np.zeros(400)})
    )
    assert 0.5 * plain < other < 1.2 * plain


def test_of_several_actions_a_group_leaves_the_size_of_the_information_too():
    rng = np.random.default_rng(0)
    belief = rng.uniform(size=400).round(2)
    truth = (rng.random(400) < belief).astype(int)
    action = 3 * (rng.random(400) < 0.5 * belief + 0.5 * truth) + rng.integers(3, size=400)
    plain, grouped = (
        checked(belief, action.astype(str), truth, np.arange(400), group=group).statistic
        for group in (None, np.arange(400) % 4)
    )
    assert 0.5 * plain < grouped < 1.2 * plain
