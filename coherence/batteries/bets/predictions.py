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
    """Return the choice with the largest score of each question: the standard method.

    Parameters
    ----------
    scores : array-like, shape (n, 3)
        One score per choice; a row with a missing score has no choice.

    Returns
    -------
    ndarray of int, shape (n,)
        0, 1 or 2; `NO_CHOICE` where the largest score is shared or a score is missing.

    Examples
    --------
    >>> standard_choices([[0.1, 0.7, 0.2], [0.4, 0.4, 0.2]]).tolist()
    [1, -1]
    """
    values = _as_scores(scores)
    # `argmax` would take the first of equal scores, and the order of options would decide.
    largest = values.max(axis=1, keepdims=True)
    alone = (values == largest).sum(axis=1) == 1
    return np.where(alone, values.argmax(axis=1), NO_CHOICE).astype(np.int64)


def threshold_sets(scores: ArrayLike, threshold: float) -> Codes:
    """Return the set of all choices whose score is above a threshold: the threshold method.

    Parameters
    ----------
    scores : array-like, shape (n, 3)
        Scores in [0, 1], each choice by itself.
    threshold : float
        In [0, 1].

    Returns
    -------
    ndarray of int, shape (n,)
        Codes of the sets.

    Examples
    --------
    >>> threshold_sets([[0.6, 0.2, 0.5], [0.1, 0.2, 0.3]], 0.4).tolist()
    [5, 0]
    """
    return set_codes(_as_scores(scores) > threshold)


@dataclass(frozen=True)
class Threshold:
    """A tuned threshold.

    Parameters
    ----------
    value : float
        Median of the thresholds of largest accuracy.
    accuracy : float
        Accuracy at any of those, on the questions it was tuned on.
    n_best : int
        How many of the 101 have it.
    """

    value: float
    accuracy: float
    n_best: int


def tune_threshold(scores: ArrayLike, right: Truths) -> Threshold:
    """Choose the threshold on development questions: section 4.2.1.

    Parameters
    ----------
    scores : array-like, shape (n, 3)
        Scores in [0, 1].
    right : ndarray of bool, shape (n, 8)
        Right sets; questions without any are left out.

    Returns
    -------
    Threshold
        The grid is 0, 0.01, ..., 1. With several best values the paper takes their median, which
        lies between two of them if they are even in number, and need not be best itself if they are
        not neighbours.

    Raises
    ------
    InputError
        No question has a right set, or a score is missing or outside [0, 1].

    Examples
    --------
    >>> from coherence.batteries.bets.truths import value_truths
    >>> tune_threshold([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3]], value_truths(2)["normal"])
    Threshold(value=0.595, accuracy=1.0, n_best=40)
    """
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
