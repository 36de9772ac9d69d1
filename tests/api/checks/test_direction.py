"""monotone_direction_test: two actions, coherent choosers without IIA, humps, and choices that no
order fits."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence import monotone_choice_test, monotone_direction_test, simulate


def agent(name, seed=1, n_contexts=200):
    runs = simulate(
        name, n_contexts=n_contexts, n_reps=5, prompts=["standard"], iterated=False, rng=seed
    )
    return runs["p"], runs["action"], runs["context"]


def probit(seed, n_contexts=200, n_reps=5):
    """Coherent chooser with shocks of yes and defer that nearly coincide: yes displaces defer,
    whose share against no falls."""
    rng = np.random.default_rng(seed)
    belief, context = rng.integers(0, 21, n_contexts) / 20, np.repeat(np.arange(n_contexts), n_reps)
    utility = np.stack([np.full(n_contexts, 0.3), 0.5 * belief + 0.25, 2 * belief - 0.5], axis=1)
    factor = np.linalg.cholesky([[1, 0, 0], [0, 1, 0.97], [0, 0.97, 1]])
    utility += 0.5 * rng.normal(size=utility.shape) @ factor.T
    chosen = np.argmax(utility[context] + rng.normal(size=(context.size, 3)) @ factor.T, axis=1)
    return belief[context], np.array(["no", "defer", "yes"])[chosen], context


@pytest.mark.parametrize(
    ("name", "n_contexts", "rejected"), [("nonmonotone", 50, True), ("rational", 200, False)]
)
def test_two_actions_reduce_to_the_pairwise_test_in_either_direction(name, n_contexts, rejected):
    """The statistic is equal; the p-values come from different draws of the same distribution.

    The pairwise interval is for the direction that it chose; this one allows for the choice, so
    that it holds the other.
    """
    belief, action, context = agent(name, n_contexts=n_contexts)
    action = np.where(action == "yes", "yes", "not yes")
    pairwise = monotone_choice_test(
        belief, action, pair=("yes", "not yes"), context=context, direction="either", rng=1
    )
    result = monotone_direction_test(belief, action, context=context, rng=1)
    assert result.statistic == pytest.approx(pairwise.statistic, abs=1e-12)
    assert result.pvalue == pytest.approx(pairwise.pvalue, abs=0.02)
    assert (result.pvalue <= 0.05) is rejected
    assert result.interval.low < pairwise.interval.low + 0.03
    assert result.interval.high > pairwise.interval.high - 0.03
    width, of_pair = (each.interval.high - each.interval.low for each in (result, pairwise))
    assert width < 1.5 * of_pair


def test_two_bins_and_two_actions_are_a_t_test():
    """20 and 10 of 40: the better of both directions rises, so that the drop is of -.25."""
    belief = np.repeat([0.2, 0.8], 40)
    action = np.repeat(["a", "b", "a", "b"], [20, 20, 10, 30])
    result = monotone_direction_test(belief, action, n_bins=2, n_draws=40_000, rng=2)
    error = math.sqrt((0.25 + 0.1875) / 39)
    assert result.statistic == pytest.approx(-0.25)
    assert result.pvalue == pytest.approx(stats.t.cdf(0.25 / error, 39), abs=0.005)
    reach = stats.t.ppf(0.975, 39) * error
    assert result.interval.low == pytest.approx(-0.25 - reach, abs=0.02)


@pytest.mark.slow
def test_a_coherent_chooser_for_whom_irrelevant_alternatives_matter_passes():
    """The pairwise test takes this chooser for incoherent; forty such data sets reject more than
    five times once in a hundred at .05."""
    rejected = pairwise = 0
    for seed in range(40):
        *arrays, context = probit(seed)
        options = {"context": context, "n_draws": 199, "rng": seed}
        rejected += monotone_direction_test(*arrays, **options).pvalue <= 0.05
        if seed < 5:
            found = monotone_choice_test(*arrays, pair=("defer", "no"), **options)
            pairwise += found.pvalue <= 0.05
    assert rejected <= stats.binom.ppf(0.99, 40, 0.05)
    assert pairwise == 5


def test_humped_choices_fit_no_order():
    """The shares of yes and no rise and fall by .7; a test over sets alone would let defer, which
    hardly moves, explain them."""
    for seed in range(2):
        belief, action, context = agent("nonmonotone", seed)
        result = monotone_direction_test(belief, action, context=context, n_draws=999, rng=seed)
        assert result.pvalue <= 0.01
        assert result.interval.low > 0


def test_the_order_of_a_rational_chooser_is_found():
    belief, action, context = agent("rational")
    result = monotone_direction_test(belief, action, context=context, n_draws=999, rng=1)
    assert result.details.sort_values("direction")["action"].tolist() == ["no", "defer", "yes"]
    assert result.pvalue > 0.2
    assert result.details["share_0"].sum() == pytest.approx(1.0)


def test_four_actions():
    rng = np.random.default_rng(3)
    belief = rng.random(600)
    utility = 4 * np.outer(belief - 0.5, [-1.0, -0.3, 0.3, 1.0]) + rng.gumbel(size=(600, 4))
    ordered = np.argmax(utility, axis=1)
    humped = np.where(np.abs(belief - 0.5) < 0.25, rng.integers(0, 2, 600), rng.integers(2, 4, 600))
    assert monotone_direction_test(belief, ordered, n_draws=199, rng=0).pvalue > 0.2
    assert monotone_direction_test(belief, humped, n_draws=199, rng=0).pvalue <= 0.01


def test_copies_of_rows_in_a_context_do_not_sharpen_the_test():
    rng = np.random.default_rng(8)
    belief, action = rng.random(60), rng.integers(0, 3, 60)
    once = monotone_direction_test(belief, action, rng=0)
    copied = monotone_direction_test(
        np.repeat(belief, 20), np.repeat(action, 20), context=np.repeat(np.arange(60), 20), rng=0
    )
    ignored = monotone_direction_test(np.repeat(belief, 20), np.repeat(action, 20), rng=0)
    assert copied.pvalue == pytest.approx(once.pvalue, abs=0.05)
    assert ignored.pvalue < copied.pvalue / 3


def test_bins_of_too_few_contexts_are_left_out_and_the_others_keep_their_order():
    """Twelve contexts below .2, two at .5, twelve above .8: shares 3/4 and 1/4 of the first.

    Breaks if the row of a bin is counted in its neighbour, or if the bin in the middle stays.
    """
    belief = np.concatenate([np.full(12, 0.1), [0.5, 0.5], np.full(12, 0.9)])
    action = np.array(["a"] * 9 + ["b"] * 3 + ["b", "b"] + ["a"] * 3 + ["b"] * 9)
    result = monotone_direction_test(belief, action, n_bins=13, n_draws=199, rng=0)
    assert result.settings["mean_beliefs"] == pytest.approx([0.1, 0.9])
    shares = result.details.set_index("action")
    assert shares["share_0"].to_dict() == {"a": 0.75, "b": 0.25}
    assert shares["share_1"].to_dict() == {"a": 0.25, "b": 0.75}
    # The order in which b is higher fits, with .5 to spare.
    assert result.statistic == pytest.approx(-0.5)
    belief, action = np.append(belief, 0.5), np.append(action, "a")  # three are enough
    result = monotone_direction_test(belief, action, n_bins=13, n_draws=199, rng=0)
    assert result.settings["mean_beliefs"] == pytest.approx([0.1, 0.5, 0.9])


def test_an_action_that_only_bins_of_too_few_contexts_show_is_none():
    belief = np.concatenate([np.full(12, 0.1), [0.5, 0.5], np.full(12, 0.9)])
    action = ["a"] * 12 + ["b"] * 2 + ["a"] * 12
    result = monotone_direction_test(belief, action, n_bins=13, rng=0)
    assert result.reason == "only one action was seen ('a') in the bins with 3 contexts"
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
