"""Nearest-neighbour information against a distance matrix, knncmi and closed forms."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, rel_entr
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import mutual_info_score

from coherence.statistics.knn import RESOLUTION, as_levels, calibrated, nearest_information
from coherence.statistics.permutation import chosen, local_information, moved, ranked

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "knncmi_several_columns.json").read_text(encoding="utf-8")
)


def differ(codes):
    return RESOLUTION * (codes[:, None] != codes)


def brute_force(belief, action, truth, k):
    """Mesner and Shalizi (2021), algorithm 1, from the full distance matrices."""
    levels = as_levels(belief.reshape(len(belief), -1))
    given = np.abs(levels[:, None] - levels).max(axis=2)
    by_action, by_truth = np.maximum(given, differ(action)), np.maximum(given, differ(truth))
    joint, total = np.maximum(by_action, by_truth), 0.0
    for row in range(len(levels)):
        radius = np.sort(joint[row])[k]  # position 0 is the row itself
        counts = [(d[row] <= radius).sum() - 1 for d in (joint, by_action, by_truth, given)]
        together, with_action, with_truth, alone = map(digamma, counts)
        total += together - with_action - with_truth + alone
    return total / len(levels)


@given(
    n=st.integers(9, 60),
    k=st.integers(1, 7),
    grid=st.sampled_from([None, 2, 4, 20]),
    n_columns=st.integers(1, 3),
    n_states=st.integers(2, 3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=200, deadline=None)
def test_one_belief_and_several(n, k, grid, n_columns, n_states, seed):
    """Breaks if the search misses the nearest window or a tie is counted on one side only."""
    rng = np.random.default_rng(seed)
    belief = rng.random((n, n_columns)) * rng.choice([0.3, 1.0, 3.0])
    if grid:
        belief = np.where(rng.random((n, 1)) < 0.7, np.round(belief * grid) / grid, belief)
    action, truth = rng.integers(0, 3, n), rng.integers(0, n_states, n)
    exact = pytest.approx(brute_force(belief, action, truth, k), abs=1e-10)
    shuffled = rng.permutation(n)
    for rows in (np.arange(n), shuffled):
        assert nearest_information(belief[rows], action[rows], truth[rows], k) == exact


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['kind']}-{case['k']}")
def test_equals_the_reference_implementation(case):
    """Made by knncmi; see golden/README.md."""
    columns = (np.array(case[name]) for name in ("z", "a", "t"))
    assert nearest_information(*columns, case["k"]) == pytest.approx(case["nats"], abs=1e-10)


def test_a_grid_that_floating_point_splits_is_still_tied():
    """.15 and .05 + .1 differ in the last bit: -.00998 for -.01199 at n = 1000."""
    rng = np.random.default_rng(3)
    steps = rng.integers(0, 21, 300)
    action, truth = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    summed = np.array([sum([0.05] * step) for step in steps])
    assert (summed != steps / 20).any()
    exact = nearest_information(steps / 20, action, truth, 3)
    assert nearest_information(summed, action, truth, 3) == exact


def test_calibration_equals_scikit_learn():
    rng = np.random.default_rng(5)
    belief = np.round(rng.random(300), 2)
    truth = (rng.random(300) < belief**2).astype(int)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(belief, truth).predict(belief)
    assert calibrated(belief, truth) == pytest.approx(fitted, abs=1e-12)


# Information in windows against scikit-learn's of the contexts that a window holds.


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_states", [2, 3])
def test_information_is_the_mean_over_windows_of_that_of_their_tables(n_columns, n_states):
    """Breaks if a window loses ties or its farthest context, or a level counts once."""
    rng = np.random.default_rng(n_columns)
    summary = np.sort(rng.integers(0, 11, (50, n_columns)) / 10, axis=0)
    action, states = rng.integers(0, 3, 50), rng.integers(0, n_states, (4, 50))
    found = local_information(summary, chosen(np.eye(3)[action]), n_states)(states)
    expected = np.zeros(4)
    for centre in summary:
        distance = np.abs(summary - centre).max(axis=1).round(9)
        near = distance <= np.sort(distance)[14]  # 30% of 50
        expected += [mutual_info_score(state[near], action[near]) for state in states]
    assert found[:, 0] == pytest.approx(expected / 50, abs=1e-12)


def test_what_is_left_of_shares_is_counted_about_their_mean():
    """Breaks if what lies further from the polynomial than a share can gives no number."""
    share, left = np.full((20, 2), 0.5), np.tile([0.2, -0.2], (20, 1))
    left[:9] = (-0.3, 0.3)  # of states 0
    states = np.repeat([1, 0], [11, 9])[::-1][None]
    of_first = np.array([0.225, 0.725])  # less the mean of what is left, -.025
    counts = np.stack([of_first, 1 - of_first], axis=1) * [[9], [11]] / 20
    apart = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    found = local_information(np.zeros(20), moved(share, left), 2)(states)
    assert found == pytest.approx(np.full((1, 1), rel_entr(counts, apart).sum()), abs=1e-12)
    assert np.isfinite(local_information(np.zeros(20), moved(share, 4 * left), 2)(states)).all()


def test_repetitions_share_the_weight_of_their_context():
    """Every row twice, or a context three times as often: the same information."""
    rng = np.random.default_rng(3)
    summary, states = np.sort(rng.random(40)), rng.integers(0, 2, (3, 40))
    policy, context = rng.dirichlet([1, 1, 1], 40), np.arange(40)
    once = local_information(summary, ranked(policy, context), 2)(states)
    times = rng.integers(1, 4, 40)
    often = ranked(np.repeat(policy, times, axis=0), np.repeat(context, times))
    assert local_information(summary, often, 2)(states) == pytest.approx(once, abs=1e-12)


def test_policies_are_told_apart_by_the_quarters_of_their_window():
    rng = np.random.default_rng(4)
    policy = rng.dirichlet([1, 1, 1], 40)
    states = rng.integers(0, 2, (3, 40))
    quarters = pd.DataFrame(policy).apply(lambda share: pd.qcut(share, 4, labels=False))
    expected = [
        np.mean([mutual_info_score(state, quarters[action]) for action in quarters])
        for state in states
    ]
    one_belief = local_information(np.zeros(40), ranked(policy, np.arange(40)), 2)(states)
    assert one_belief == pytest.approx(np.array([expected]).T, abs=1e-12)
