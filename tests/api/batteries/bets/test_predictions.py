"""Predictions from scores: ties, thresholds, and what cannot be tuned."""

import numpy as np
import pytest

from coherence import expected_gains
from coherence.batteries.bets.truths import (
    NO_CHOICE,
    bet_truths,
    is_right,
    standard_choices,
    threshold_sets,
    tune_threshold,
    value_truths,
)


def test_shared_or_missing_scores_are_no_choice():
    scores = [[0.2, 0.5, 0.3], [0.4, 0.4, 0.1], [np.nan, 0.4, 0.1]]
    assert standard_choices(scores).tolist() == [1, NO_CHOICE, NO_CHOICE]
    assert is_right(standard_choices(scores), np.ones((3, 3), dtype=bool)).tolist() == [
        True,
        False,
        False,
    ]


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


def test_bets_without_a_right_set_do_not_tune():
    truths = bet_truths(expected_gains([100, 1], [1, 100], 20))
    scores = np.array([[0.9, 0.1, 0.1], [0.9, 0.9, 0.9]])
    assert tune_threshold(scores, truths["positive gain"]) == tune_threshold(
        scores[:1], truths["positive gain"][:1]
    )


def test_the_standard_choice_is_that_of_the_largest_score_in_any_order():
    rng = np.random.default_rng(0)
    scores = rng.random((50, 3))
    order = rng.permutation(3)
    assert (order[standard_choices(scores[:, order])] == standard_choices(scores)).all()
    assert (standard_choices(scores) == scores.argmax(axis=1)).all()
