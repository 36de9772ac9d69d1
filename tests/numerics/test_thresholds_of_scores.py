"""Predictions from scores: ties, thresholds, and what cannot be tuned."""

import numpy as np
import pytest

from coherence.batteries.bets.truths import (
    is_right,
    threshold_sets,
    tune_threshold,
    value_truths,
)


def test_threshold_is_the_median_of_the_best():
    right = value_truths(2)["normal"]
    scores = np.array([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3]])
    # Right for .40 <= t < .80: forty thresholds, whose median lies between .59 and .60.
    assert tune_threshold(scores, right) == (pytest.approx(0.595), 1.0)
    by_hand = [is_right(threshold_sets(scores, t / 100), right).mean() for t in range(101)]
    assert sum(share == 1 for share in by_hand) == 40


def test_a_score_must_be_above_the_threshold():
    assert threshold_sets([[0.5, 0.4, 0.6]], 0.5).tolist() == [4]
    assert threshold_sets([[0.5, 0.4, 0.6]], 1.0).tolist() == [0]
