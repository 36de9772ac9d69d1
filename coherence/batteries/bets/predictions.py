"""From scores of choices to predictions: the standard and the threshold method.

After Tang and Kejriwal, section 4.2.1. Every choice of a question is scored apart. The standard
method predicts the choice of the largest score; the threshold method every choice whose score is
above a threshold that was tuned on development questions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coherence.batteries.bets.truths import NO_CHOICE, Truths, asked, is_right, set_codes
from coherence.inputs import Codes, Floats, require

THRESHOLDS: Floats = np.arange(101) / 100
"""Thresholds tried, section 4.2.1."""


def standard_choices(scores: ArrayLike) -> Codes:
    """Return the choice with the largest score of each question: the standard method."""
    values = _as_scores(scores)
    # `argmax` would take the first of equal scores, and the order of options would decide.
    largest = values.max(axis=1, keepdims=True)
    alone = (values == largest).sum(axis=1) == 1
    return np.where(alone, values.argmax(axis=1), NO_CHOICE).astype(np.int64)


def threshold_sets(scores: ArrayLike, threshold: float) -> Codes:
    """Return the set of all choices whose score is above a threshold: the threshold method."""
    return set_codes(_as_scores(scores) > threshold)


@dataclass(frozen=True)
class Threshold:
    """A tuned threshold."""

    value: float  # median of the thresholds of largest accuracy
    accuracy: float  # accuracy at any of those, on the questions it was tuned on
    n_best: int  # how many of the 101 have it


def tune_threshold(scores: ArrayLike, right: Truths) -> Threshold:
    """Choose the threshold on development questions: section 4.2.1."""
    values, kept = _as_scores(scores), asked(right)
    require(
        bool(kept.any()),
        "right must hold a right set for at least one question; no question has any. "
        "Tune on other questions.",
    )
    outside = ~((values >= 0) & (values <= 1))
    require(
        not outside.any(),
        "scores must be in [0, 1] to be compared with a threshold; "
        f"{int(outside.sum())} are not, or are missing.",
    )
    predicted = (threshold_sets(values[kept], threshold) for threshold in THRESHOLDS)
    accuracy = np.array([is_right(codes, right[kept]).mean() for codes in predicted])
    best = THRESHOLDS[accuracy == accuracy.max()]
    return Threshold(float(np.median(best)), float(accuracy.max()), int(best.size))


def _as_scores(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    require(
        values.ndim == 2 and values.shape[1] == 3,
        f"scores must have shape (n, 3), one column per choice; received {values.shape}.",
    )
    return values
