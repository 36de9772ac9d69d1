"""Ranges of belief with choices alike: where they are cut, and the blocks and bins inside."""

import math

import numpy as np
import pytest

from coherence.statistics.choice_segments import (
    FEWEST_CONTEXTS,
    MOST_SEGMENTS,
    choice_segments,
    segment_bins,
    segment_blocks,
)
from coherence.statistics.resample import context_blocks


def counts_of(action, n_actions=2, repetitions=1):
    return repetitions * np.eye(n_actions)[action]


def test_steps_are_found_where_they_are():
    """Three options, slips in one of thirty, and no order among the contexts."""
    rng = np.random.default_rng(0)
    belief = rng.permutation(np.arange(300) / 300)
    action = np.digitize(belief, [0.3, 0.7])
    action = np.where(rng.random(300) < 1 / 30, rng.integers(0, 3, 300), action)
    segments = choice_segments(belief, counts_of(action, 3))
    edges = [belief[segments == code].min() for code in range(segments.max() + 1)]
    assert edges == pytest.approx([0, 0.3, 0.7], abs=0.02)


def test_equal_beliefs_share_a_segment():
    belief = np.repeat([0.1, 0.05 + 0.1, 0.15, 0.9], 20)
    segments = choice_segments(belief, counts_of(np.repeat([0, 1, 1, 0], 20)))
    assert segments.tolist() == np.repeat([0, 1, 1, 2], 20).tolist()


@pytest.mark.parametrize("repetitions", [1, 5])
def test_a_split_has_to_gain_the_logarithm_of_the_contexts_however_often_they_repeat(repetitions):
    """Twenty contexts, of which the last ten choose otherwise now and then, gain as is computed.

    The gain of the cut in the middle is set against log(20) / 2, one free share; repetitions of a
    context that all choose alike count once.
    """
    belief = np.arange(20) / 20
    for n_other in range(1, 11):
        action = np.zeros(20, dtype=int)
        action[10 : 10 + n_other] = 1
        segments = choice_segments(belief, counts_of(action, 2, repetitions))
        best = -math.inf
        for cut in range(FEWEST_CONTEXTS, 20 - FEWEST_CONTEXTS + 1):
            parts = action[:cut], action[cut:], action
            low, high, whole = (
                sum(
                    np.log((part == code).mean()) * (part == code).sum()
                    for code in (0, 1)
                    if (part == code).any()
                )
                for part in parts
            )
            best = max(best, low + high - whole)
        assert (segments.max() > 0) == (best > math.log(20) / 2)


def test_segments_are_neither_tiny_nor_many():
    belief = np.arange(400) / 400
    lonely = np.zeros(400, dtype=int)
    lonely[200:203] = 1
    assert np.bincount(choice_segments(belief, counts_of(lonely))).min() >= FEWEST_CONTEXTS
    stripes = np.arange(400) // 20 % 2
    assert choice_segments(belief, counts_of(stripes)).max() + 1 == MOST_SEGMENTS


def test_smooth_choices_and_too_few_contexts_are_left_whole():
    rng = np.random.default_rng(1)
    belief = rng.random(200)
    constant = (rng.random(200) < 0.4).astype(int)
    assert choice_segments(belief, counts_of(constant)).tolist() == [0] * 200
    few = 2 * FEWEST_CONTEXTS - 1
    action = (np.arange(few) > 3).astype(int)
    assert choice_segments(np.arange(few) / few, counts_of(action)).tolist() == [0] * few


def test_blocks_stay_inside_segments_and_leave_nobody_alone_who_has_a_neighbour():
    belief = np.arange(34) / 400
    segments = np.repeat([0, 1], 17)
    blocks = segment_blocks(belief, segments)
    # Blocks of eight leave one context over in each segment; it joins the last of them.
    assert np.bincount(blocks).tolist() == [8, 9, 8, 9]
    apart = belief.copy()
    apart[16] += 0.2
    apart[17:] += 0.3
    assert np.bincount(segment_blocks(apart, segments)).tolist() == [8, 8, 1, 8, 9]
    assert segment_blocks(belief[:16], 0 * segments[:16]).tolist() == (
        context_blocks(belief[:16]).tolist()
    )
    assert segment_blocks(np.array([0.1, 0.9]), np.array([0, 1])).tolist() == [0, 1]


def test_bins_split_the_fullest_segment_at_its_median():
    centres = np.concatenate([np.arange(40) / 100, 0.5 + np.arange(20) / 100])
    segments = np.repeat([0, 1], [40, 20])
    assert np.bincount(segment_bins(centres, segments, 4)).tolist() == [20, 20, 10, 10]
    order = np.random.default_rng(0).permutation(60)
    assert (
        segment_bins(centres[order], segments[order], 4).tolist()
        == segment_bins(centres, segments, 4)[order].tolist()
    )
    # None through equal beliefs, never fewer than segments.
    tied = np.repeat([0.1, 0.2, 0.3], [5, 30, 5])
    assert segment_bins(tied, np.zeros(40, dtype=int), 9).tolist() == (
        np.repeat([0, 1, 2], [5, 30, 5]).tolist()
    )
    assert segment_bins(centres, segments, 1).tolist() == segments.tolist()
