"""Binned information: the jackknife in closed form against leaving contexts out one by one."""

import math

import numpy as np
import pytest

from coherence.statistics.information import BinnedCounts, information_bins


def plug_in(bins, context, action, truth):
    """I(A; T | B) from joint frequencies, cell by cell."""
    rows = bins[context]
    total = 0.0
    for b in np.unique(rows):
        for a in np.unique(action):
            for t in np.unique(truth):
                both = ((rows == b) & (action == a) & (truth == t)).mean()
                if both:
                    parts = ((rows == b) & (action == a)).mean() * (
                        (rows == b) & (truth == t)
                    ).mean()
                    total += both * math.log(both * (rows == b).mean() / parts)
    return total


def of_rows(bins, context, action, truth, blocks=None):
    """Counts of chosen actions; every bin is one block unless blocks are named."""
    share = np.eye(action.max() + 1)[action]
    blocks = bins if blocks is None else blocks
    return BinnedCounts(blocks, bins, context, share, int(truth.max()) + 1)


def divergence(blocks, bins, context, action, truth):
    """Sum over cells of a bin of p log(p / product of margins of its blocks), by hand."""
    block, bin_, total = blocks[context], bins[context], 0.0
    for b in np.unique(bins):
        for a in np.unique(action):
            for t in np.unique(truth):
                both = ((bin_ == b) & (action == a) & (truth == t)).mean()
                expected = sum(
                    ((block == each) & (action == a)).mean()
                    * ((block == each) & (truth == t)).mean()
                    / (block == each).mean()
                    for each in np.unique(block[bin_ == b])
                )
                total += both * math.log(both / expected) if both else 0.0
    return total


@pytest.mark.parametrize("n_blocks", [3, 6])
def test_equals_leaving_out_each_context(n_blocks):
    """Blocks that are bins, and bins of two blocks each."""
    rng = np.random.default_rng(0)
    blocks = np.arange(24) % n_blocks
    bins = blocks // (n_blocks // 3)
    context = np.concatenate([np.arange(24), rng.integers(0, 24, 30)])
    action, state = rng.integers(0, 3, 54), rng.integers(0, 2, 24)
    truth = state[context]
    result = of_rows(bins, context, action, truth, blocks).estimate(state)
    left_out = []
    for gone in range(24):
        keep = context != gone
        left_out.append(divergence(blocks, bins, context[keep], action[keep], truth[keep]))
    by_hand = divergence(blocks, bins, context, action, truth)
    assert result.plug_in == pytest.approx(by_hand)
    if n_blocks == 3:
        assert result.plug_in == pytest.approx(plug_in(bins, context, action, truth))
    assert result.corrected == pytest.approx(24 * result.plug_in - 23 * np.mean(left_out))
    assert result.standard_error == pytest.approx(
        math.sqrt(23 / 24 * ((left_out - np.mean(left_out)) ** 2).sum())
    )
    everything = of_rows(bins, context, action, truth, blocks).divergences(state[None])
    assert everything.in_bins == pytest.approx([by_hand])
    assert everything.throughout == pytest.approx(
        [divergence(blocks, 0 * bins, context, action, truth)]
    )


def along(blocks, context, action, truth):
    """Sum over cells of (p - product of margins of blocks) times the log lift of the latter."""
    block = blocks[context]
    expected = np.zeros((action.max() + 1, truth.max() + 1))
    counted = np.zeros_like(expected)
    for a, t in np.ndindex(*expected.shape):
        counted[a, t] = ((action == a) & (truth == t)).mean()
        for each in np.unique(block):
            inside = block == each
            shares = (action[inside] == a).mean(), (truth[inside] == t).mean()
            expected[a, t] += inside.mean() * shares[0] * shares[1]
    total = 0.0
    for a, t in np.ndindex(*expected.shape):
        if expected[a, t]:
            lift = expected[a, t] / (expected[a].sum() * expected[:, t].sum())
            total += (counted[a, t] - expected[a, t]) * math.log(lift)
    return total


@pytest.mark.parametrize("n_states", [2, 3])
def test_many_arrangements_at_once_are_each_as_by_hand(n_states):
    """Contexts of unequal sizes; one that is alone in its block does not count."""
    rng = np.random.default_rng(6)
    blocks = np.array([*np.repeat(np.arange(6), 5), 6])
    bins = np.minimum(blocks, 5) // 2
    context = np.concatenate([np.arange(31), rng.integers(0, 31, 40)])
    action = np.minimum(blocks[context] // 3 + rng.integers(0, 2, 71), 2)
    states = np.stack(
        [rng.permutation(np.maximum(blocks // 2 - 1, 0) * (n_states - 1) // 2) for _ in range(4)]
    )
    states[:, :n_states] = np.arange(n_states)
    counts = BinnedCounts(blocks, bins, context, np.eye(3)[action], n_states)
    together = counts.divergences(states)
    inside = blocks[context] < 6
    for number, state in enumerate(states):
        rows = context[inside], action[inside], state[context][inside]
        assert together.in_bins[number] == pytest.approx(divergence(blocks, bins, *rows))
        assert together.throughout[number] == pytest.approx(divergence(blocks, 0 * bins, *rows))
        assert together.along[number] == pytest.approx(along(blocks, *rows), abs=1e-12)
        assert counts.estimate(state).plug_in == pytest.approx(together.in_bins[number])


def test_going_further_with_the_belief_has_a_sign():
    """High blocks go with action 1 and state 1; within them the action follows the state, or flees.

    A dependence between two actions that the belief does not distinguish leaves it at 0.
    """
    blocks, state = np.repeat([0, 1], 8), np.tile([0, 1], 8)
    state[:2] = 0
    state[-2:] = 1
    action = blocks.copy()
    action[[7, 8]] = [1, 0]
    assert state[7] == 1
    assert state[8] == 0
    every = np.arange(16)
    follows = of_rows(blocks, every, action, state).divergences(state[None])
    action[[7, 8]], action[[6, 9]] = [0, 1], [1, 0]
    flees = of_rows(blocks, every, action, state).divergences(state[None])
    assert follows.along[0] > 0.01
    assert flees.along[0] < -0.005
    neutral = np.where(np.tile([0, 1, 0, 1], 4) == 1, 2, 3)
    aside = of_rows(blocks, every, neutral, np.tile([0, 1], 8)).divergences(
        np.tile([0, 1], 8)[None]
    )
    assert aside.throughout[0] > 0.5
    assert aside.along[0] == pytest.approx(0, abs=1e-12)


def test_what_belief_brings_within_a_bin_is_no_information():
    """Low beliefs go with the first action and mostly with the first state, high ones likewise.

    One bin of both: the counts depend, those given the block do not.
    """
    blocks, state = np.repeat([0, 1], 10), np.tile([0, 0, 0, 0, 1], 4)
    state[10:] = 1 - state[10:]
    action, context = blocks.copy(), np.arange(20)
    assert plug_in(0 * blocks, context, action, state) > 0.1
    estimate = of_rows(0 * blocks, context, action, state, blocks).estimate(state)
    assert estimate.corrected == pytest.approx(0, abs=1e-12)
    assert estimate.plug_in == pytest.approx(0, abs=1e-12)


def test_contexts_without_a_like_are_left_out():
    rng = np.random.default_rng(4)
    blocks = np.array([0] * 8 + [1] * 8 + [2])
    state, action = rng.integers(0, 2, 17), rng.integers(0, 2, 17)
    every = np.arange(17)
    with_it = of_rows(blocks, every, action, state).estimate(state)
    without = of_rows(blocks[:16], every[:16], action[:16], state[:16]).estimate(state[:16])
    assert with_it == without


@pytest.mark.parametrize(
    ("n_contexts", "n_bins"), [(1, 2), (23, 2), (24, 3), (80, 10), (159, 19), (160, 20), (9999, 20)]
)
def test_there_is_a_bin_for_every_eight_contexts(n_contexts, n_bins):
    assert information_bins(n_contexts) == n_bins


def test_bins_are_those_that_were_used():
    bins = np.array([0, 3, 1, 3, 0, 1])
    state = np.array([1, 0, 0, 1, 0, 1])
    result = of_rows(bins, np.arange(6), np.array([0, 1, 0, 1, 1, 1]), state).estimate(state)
    assert result.n_bins == 3


def test_bias_is_removed_under_independence():
    """Independent coins in ten bins of thirty, where theory has a bias of 10 / (2 * 300)."""
    rng = np.random.default_rng(1)
    every, draws = np.arange(300), []
    for _ in range(600):
        action, state = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
        draws.append(of_rows(every % 10, every, action, state).estimate(state))
    assert np.mean([draw.plug_in for draw in draws]) == pytest.approx(10 / 600, rel=0.1)
    assert abs(np.mean([draw.corrected for draw in draws])) < 0.002


def test_known_information():
    """A state copied with probability .9 into the action: log 2 - H(.9) nats in every bin."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 20000)
    action = np.where(rng.random(20000) < 0.9, truth, 1 - truth)
    every = np.arange(20000)
    result = of_rows(every % 5, every, action, truth).estimate(truth)
    exact = math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    assert abs(result.corrected - exact) < 3 * result.standard_error
