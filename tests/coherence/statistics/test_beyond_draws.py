"""p-values where no draw was as extreme as the data. Breaks if one is too small, or stays there."""

import itertools

import numpy as np
import pytest
from scipy import stats

import coherence
from coherence.statistics.beyond_draws import beyond_draws, drops_bound, signs_bound
from coherence.statistics.directions import best_fit, choice_vectors
from coherence.statistics.drops import largest_drop
from coherence.statistics.resample import sign_flip_pvalue

SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=14)))
SHAPES = {
    "equal": np.ones(14),
    "two": np.eye(14)[0] + np.eye(14)[1],
    "one large": np.array([3.0, *np.ones(13)]),
    "falling": 0.7 ** np.arange(14),
    "normal": np.random.default_rng(1).normal(size=14),
    "heavy": np.random.default_rng(2).standard_t(2, size=14),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bound_on_signs_is_above_the_p_value_over_all_of_them(shape):
    sums = np.abs(SIGNS @ SHAPES[shape]) / np.linalg.norm(SHAPES[shape])
    for value in np.unique(sums.round(9)):
        exact = np.mean(sums >= value - 1e-8)
        assert signs_bound(value) >= exact, value


def test_bound_on_signs_is_tight():
    # Two equal terms agree half of the time, where their sum is the root of 2.
    assert signs_bound(np.sqrt(2)) == pytest.approx(0.5)


def test_draws_decide_where_one_was_as_extreme():
    assert beyond_draws([2 / 100, 1 / 100], [1e-9, 1e-9], 99).tolist() == [0.02, 1e-9]
    assert beyond_draws(1 / 100, 3.0, 99) == 0.01
    assert beyond_draws(1 / 100, 0.0, 99) > 0


def test_size_holds_on_both_sides_of_the_smallest_share_of_draws():
    rng = np.random.default_rng(3)
    found = np.array(
        [sign_flip_pvalue(gaps, n_flips=99, rng=rng) for gaps in rng.normal(size=(20_000, 25))]
    )
    for level in (0.05, 0.01, 0.005, 0.001):
        n_rejected = np.count_nonzero(found <= level)
        assert n_rejected <= stats.binom.ppf(0.9999, found.size, level), level
    assert found.min() < 0.005


def test_size_of_drops_holds_on_both_sides():
    rng = np.random.default_rng(4)
    one = {"degrees": 8, "isotonic": False, "n_draws": 99, "rng": rng}
    spread = np.sqrt(8 / rng.chisquare(8, size=5_000))[:, None]
    found = np.array(
        [largest_drop(x, np.eye(4), **one).pvalue for x in rng.normal(size=(5_000, 4)) * spread]
    )
    for level in (0.05, 0.01, 0.005, 0.001):
        assert np.count_nonzero(found <= level) <= stats.binom.ppf(0.9999, found.size, level), level
    assert 0 < found.min() < 0.01


def test_bound_on_drops_is_that_of_bonferroni():
    assert drops_bound(3.0, 6, 10) == pytest.approx(6 * stats.t.sf(3.0, 10))


def test_a_clear_effect_survives_a_correction_over_thousands_of_tests():
    runs = coherence.simulate("leaky", n_contexts=1_000, n_reps=2, iterated=False, rng=1)
    rows = runs[runs["action"].notna()]
    covary = coherence.residual_covariance_test(
        rows["p"], rows["action"], rows["theta"], context=rows["context"], rng=1
    )
    agent = coherence.fit_rational_agent(
        rows["p"], rows["action"], rows["theta"], context=rows["context"]
    )
    assert covary.pvalue < 1e-9
    assert agent.test(rng=1).pvalue < 1e-9
    belief, action = np.repeat([0.2, 0.5, 0.8], 300), np.repeat(["act", "act", "wait"], 300)
    falling = coherence.monotone_choice_test(belief, action, pair=("act", "wait"), rng=1)
    assert falling.pvalue < 1e-9
    gaps = np.random.default_rng(5).normal(0.1, 0.1, size=300)
    assert sign_flip_pvalue(gaps, n_flips=999, rng=np.random.default_rng(1)) < 1e-9


def test_directions_go_below_the_draws_too():
    # Up and down again with the belief: no direction rises.
    bins = np.repeat(np.arange(3), 200)
    chosen = np.repeat([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9]], 200, axis=0)
    drawn = (np.random.default_rng(6).random(600) < chosen[:, 0]).astype(float)
    shares = np.column_stack([drawn, 1 - drawn])
    scan, _ = choice_vectors(bins, shares, np.arange(600), 999, np.random.default_rng(7))
    for rule in ("dominance", "direction"):
        assert 0 < best_fit(scan, rule)[0].pvalue < 1e-9
