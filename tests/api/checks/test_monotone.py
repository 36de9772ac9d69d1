"""monotone_choice_test: bins, Fisher's test, the order-restricted p-value, directions."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import monotone_choice_test, simulate


def columns(name, seed=1):
    runs = simulate(name, n_contexts=200, n_reps=5, prompts=["standard"], iterated=False, rng=seed)
    return runs["p"], runs["action"], runs["context"]


def test_either_direction_accepts_a_falling_share_and_rejects_a_hump():
    found = {}
    for name in ("rational", "nonmonotone"):
        belief, action, context = columns(name)
        for direction in ("either", "increasing"):
            options = {"pair": ("no", "yes"), "context": context, "direction": direction, "rng": 1}
            found[name, direction] = monotone_choice_test(belief, action, **options)
    falling = found["rational", "either"]
    assert falling.pvalue > 0.5
    assert falling.settings["direction_tested"] == "decreasing"
    assert found["rational", "increasing"].pvalue < 0.001
    assert found["nonmonotone", "either"].pvalue < 0.01


def test_shares_by_hand():
    belief = np.repeat([0.1, 0.5, 0.9], 40)
    action = np.concatenate(
        [["a"] * 30 + ["b"] * 10, ["a"] * 20 + ["b"] * 20, ["b"] * 30 + ["c"] * 10]
    )
    result = monotone_choice_test(belief, action, pair=("a", "b"), n_bins=3, rng=0)
    shares = result.details[["share_j", "share_k"]].to_numpy().tolist()
    assert shares == [[0.75, 0.5], [0.75, 0.0], [0.5, 0.0]]
    assert result.statistic == 0.75
    assert result.n_rows == 110
    assert result.pvalue <= 0.001


def test_separated_shares_do_not_divide_by_zero():
    """All no below, all yes above: monotone, and reversed a certain violation."""
    belief = np.concatenate([np.linspace(0, 0.4, 50), np.linspace(0.6, 1, 50)])
    action = ["no"] * 50 + ["yes"] * 50
    assert monotone_choice_test(belief, action, pair=("yes", "no"), rng=0).pvalue > 0.9
    assert monotone_choice_test(belief, action, pair=("no", "yes"), rng=0).pvalue <= 0.001
    # Shares .1, .5, .9: the largest drop is a rise of .4, not 0 outside its own interval.
    belief = np.repeat([0.1, 0.5, 0.9], 200)
    action = np.concatenate([np.repeat(["yes", "no"], [k, 200 - k]) for k in (20, 100, 180)])
    result = monotone_choice_test(belief, action, pair=("yes", "no"), n_bins=3, rng=0)
    assert result.statistic == pytest.approx(-0.4)
    assert result.interval.low < result.statistic < result.interval.high < 0


def hump():
    """Shares of yes .25, .75 and .375 in three bins of 40 choices."""
    belief = np.repeat([0.1, 0.5, 0.9], 40)
    counts = (10, 30, 15)
    return belief, np.concatenate([np.repeat(["yes", "no"], [k, 40 - k]) for k in counts])


@pytest.mark.parametrize(
    ("direction", "violating", "significant"),
    [("increasing", [(1, 2)], [(1, 2)]), ("decreasing", [(0, 1), (0, 2)], [(0, 1)])],
)
def test_published_fraction_counts_the_pairs_that_fishers_test_rejects(
    direction, violating, significant
):
    """Of three pairs of bins only those against the order are tested, each for itself."""
    belief, action = hump()
    result = monotone_choice_test(
        belief, action, pair=("yes", "no"), direction=direction, n_bins=3, published=True, rng=0
    )
    pairs, counts = result.details.set_index(["bin_j", "bin_k"]), (10, 30, 15)
    for j, k in violating:
        order = (j, k) if direction == "increasing" else (k, j)
        table = [[counts[number], 40 - counts[number]] for number in order]
        exact = stats.fisher_exact(table, alternative="greater")
        assert pairs.loc[(j, k), "pvalue"] == pytest.approx(exact.pvalue)
    assert pairs.index[pairs["violation"]].tolist() == violating
    assert pairs.index[pairs["significant"]].tolist() == significant
    assert result.statistic == len(significant) / 3
    assert (result.unit, result.pvalue, result.interval) == ("fraction of bin pairs", None, None)


def test_falling_is_rising_against_one_minus_the_belief():
    belief, action = hump()
    order = np.random.default_rng(4).permutation(belief.size)

    def fit(belief, action, pair=("yes", "no"), **options):
        return monotone_choice_test(belief, action, pair=pair, n_bins=3, rng=0, **options)

    falling = fit(belief, action, direction="decreasing")
    for other in (
        fit(1 - belief, action),
        fit(belief, action, pair=("no", "yes")),
        fit(belief[order], action[order], direction="decreasing"),
    ):
        assert other.statistic == pytest.approx(falling.statistic)
        assert other.pvalue == pytest.approx(falling.pvalue, abs=0.01)
        assert other.interval.low == pytest.approx(falling.interval.low, abs=0.02)


def test_one_bin_or_one_action_of_the_pair_leave_nothing_to_test():
    belief = np.repeat([0.1, 0.9], 20)
    action = np.array(["yes", "no"] * 10 + ["defer"] * 20)
    result = monotone_choice_test(belief, action, pair=("yes", "no"), n_bins=2, rng=0)
    assert math.isnan(result.statistic)
    reason = "fewer than two belief bins have 3 contexts with a choice from the pair"
    assert result.reason == reason
    assert (result.n_rows, result.n_contexts) == (20, 20)
    offered = pd.Series(["yes", "no"] * 20, dtype=pd.CategoricalDtype(["defer", "no", "yes"]))
    result = monotone_choice_test(np.linspace(0, 1, 40), offered, pair=("yes", "defer"), rng=0)
    assert result.reason == "of 'yes' and 'defer' only 'yes' was chosen"


def policies_in_step(fall, n_contexts, noise=0.0):
    """Two beliefs in every context, between which the probability of yes falls."""
    rng = np.random.default_rng(1)
    context, belief = np.repeat(np.arange(n_contexts), 2), np.tile([0.3, 0.7], n_contexts)
    level = np.repeat(rng.uniform(0.15, 0.95, n_contexts), 2)
    fallen = np.repeat(fall + noise * rng.normal(size=n_contexts), 2)
    yes = level - np.tile([0.0, 1.0], n_contexts) * fallen
    policy = pd.DataFrame({"yes": yes, "no": 1 - yes})
    return monotone_choice_test(belief, policy, pair=("yes", "no"), context=context, rng=1)


def test_a_drop_that_all_contexts_share_to_the_last_digit_is_not_taken_for_certain():
    """It had no variance, the least possible p-value, and an interval without width."""
    small = policies_in_step(0.01, 10)
    assert small.statistic == pytest.approx(0.01)
    assert small.pvalue > 0.2
    assert small.interval.low < 0 < 0.05 < small.interval.high


def test_a_drop_that_all_contexts_nearly_share_is_judged_alike():
    """A little noise must not make it more certain than none: there is no cliff between them."""
    known = [policies_in_step(0.1, 12, noise) for noise in (0.0, 1e-6, 1e-5, 1e-4, 1e-3)]
    np.testing.assert_allclose([result.pvalue for result in known], known[0].pvalue, atol=0.01)
    for result in known:
        assert result.interval.low == pytest.approx(known[0].interval.low, abs=0.005)
