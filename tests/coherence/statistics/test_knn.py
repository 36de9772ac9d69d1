"""The sorted nearest-neighbour estimate against a distance matrix and reference values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from coherence.statistics.knn import RESOLUTION, as_levels, conditional_information


def brute_force(belief, action, truth, k):
    """Mesner and Shalizi (2021), algorithm 1, from the full distance matrices."""
    levels = as_levels(belief)
    by_belief = np.abs(levels[:, None] - levels[None, :])
    by_action = np.maximum(by_belief, RESOLUTION * (action[:, None] != action[None, :]))
    by_truth = np.maximum(by_belief, RESOLUTION * (truth[:, None] != truth[None, :]))
    joint = np.maximum(by_action, by_truth)
    total = 0.0
    for row in range(len(levels)):
        radius = np.sort(joint[row])[k]  # position 0 is the row itself
        joint_n, action_n, truth_n, belief_n = (
            (d[row] <= radius).sum() - 1 for d in (joint, by_action, by_truth, by_belief)
        )
        total += digamma(joint_n) - digamma(action_n) - digamma(truth_n) + digamma(belief_n)
    return total / len(levels)


def estimate(belief, action, truth, k):
    order = np.argsort(as_levels(belief), kind="stable")
    return conditional_information(as_levels(belief)[order], action[order], truth[order], k)


@given(
    n=st.integers(8, 60),
    k=st.integers(1, 7),
    grid=st.sampled_from([None, 2, 20, 4]),
    n_actions=st.integers(2, 4),
    n_states=st.integers(2, 3),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=150, deadline=None)
def test_equals_brute_force_on_untied_tied_and_mixed_beliefs(n, k, grid, n_actions, n_states, seed):
    """Breaks if the bisection misses the nearest window or a tie is counted on one side only."""
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    if grid:
        mixed = rng.random(n) < 0.7
        belief = np.where(mixed, np.round(belief * grid) / grid, belief)
    action, truth = rng.integers(0, n_actions, n), rng.integers(0, n_states, n)
    assert estimate(belief, action, truth, k) == pytest.approx(
        brute_force(belief, action, truth, k), abs=1e-10
    )


def test_levels_are_steps_of_a_billionth():
    levels = as_levels(np.array([0.0, 0.15, 0.05 + 0.1, 1.0, 1e-9]))
    assert levels.tolist() == [0, 150_000_000, 150_000_000, 10**9, 1]


def test_a_grid_that_floating_point_splits_is_still_tied():
    """.15 and .05 + .1 differ in the last bit.

    Treated as different, they change the estimate: -.00998 for -.01199 at n = 1000.
    """
    rng = np.random.default_rng(3)
    steps = rng.integers(0, 21, 300)
    action, truth = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    summed = np.array([sum([0.05] * step) for step in steps])
    assert (summed != steps / 20).any()
    assert estimate(summed, action, truth, 3) == estimate(steps / 20, action, truth, 3)


def test_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(4)
    belief, action, truth = (
        np.round(rng.random(200), 1),
        rng.integers(0, 3, 200),
        rng.integers(0, 2, 200),
    )
    shuffled = rng.permutation(200)
    assert estimate(belief, action, truth, 3) == pytest.approx(
        estimate(belief[shuffled], action[shuffled], truth[shuffled], 3), abs=1e-14
    )


@pytest.mark.parametrize(("n_actions", "n_states"), [(257, 1), (128, 2), (40, 20)])
def test_many_cells_are_told_apart(n_actions, n_states):
    """Codes of up to 256 cells fit in a byte; one more must not wrap around."""
    rng = np.random.default_rng(7)
    belief = rng.integers(0, 3, 700) / 2
    action = np.arange(700) % n_actions
    truth = rng.integers(0, n_states, 700)
    expected = brute_force(belief, action, truth, 1)
    assert estimate(belief, action, truth, 1) == pytest.approx(expected, abs=1e-10)


def test_is_not_clipped_at_zero():
    """Under independence the estimate must be able to fall below 0."""
    rng = np.random.default_rng(5)
    values = [
        estimate(rng.random(100), rng.integers(0, 3, 100), rng.integers(0, 2, 100), 3)
        for _ in range(20)
    ]
    assert min(values) < 0


def test_finds_the_information_of_a_copied_state():
    """The action is the state, the belief 1/2 all around: the entropy of a fair coin."""
    rng = np.random.default_rng(6)
    belief, truth = rng.uniform(0.49, 0.51, 4000), rng.integers(0, 2, 4000)
    assert estimate(belief, truth, truth, 3) == pytest.approx(np.log(2), abs=0.02)
