"""Expected gains of bets with two sides, and which sets of choices count as right.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?", sections 4.2.1 and 4.3
and the appendix. One side of a bet wins a thing (the prize), the other loses one; a choice is to
stake money on the winning side, on the losing side, or not at all. A prediction is a set of
choices, written as a code: the sum of 1, 2 and 4 for the first, second and third choice, so that 0
is the empty set and 7 all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coherence.inputs import Codes, Floats, require

Rule = Literal["side", "outcome"]
Truths = NDArray[np.bool_]

BET_CHOICES = ("win", "lose", "none")
"""Stake on the side that wins the prize, on the side that loses a thing, or do not bet; this order
makes the codes."""
VALUE_CHOICES = ("high", "low", "same")
MEMBERS: Truths = np.array(
    [[code >> choice & 1 for choice in range(3)] for code in range(8)], dtype=bool
)
"""Shape (8, 3): which choices are in the set with each code."""
_CONSISTENT = np.array(
    [False, True, True, True, True, False, False, False]
)  # not empty, and "none" only by itself
GRID: Floats = np.arange(101) / 100
"""Thresholds tried, section 4.2.1."""
NO_CHOICE = -1
_ROUNDING = 1e-9  # relative to the amounts; gains that differ by less are equal


def expected_gains(
    prize: ArrayLike,
    loss: ArrayLike,
    stake: ArrayLike,
    *,
    chance: ArrayLike = 0.5,
    payout: ArrayLike = 0.0,
    rule: Rule = "side",
) -> Floats:
    """Return the expected gains of betting on the winning side, on the losing side, on both with half the stake each, and of not betting.

    Parameters
    ----------
    prize : array-like, shape (n,) or ()
        Value of the thing that is won if the winning side comes up.
    loss : array-like
        Value of the thing that is lost if the other side comes up.
    stake : array-like
        Money put down; it comes back if the side bet on comes up.
    chance : array-like
        Probability of the winning side, in [0, 1].
    payout : array-like
        What is paid on top of a stake that comes back, per unit of it, at least 0; the paper's bets
        have 0.
    rule : {"side", "outcome"}
        "side": a thing changes hands only if the side bet on comes up, as in the tables of the
        paper's appendix. "outcome": whoever bets gets whatever comes up, as its section 4.3.3 says
        at one place.

    Returns
    -------
    ndarray, shape (n, 4)
        Win, lose, both, none, in the unit of the values.

    Raises
    ------
    InputError
        A value, stake or payout that is negative or not finite, a chance outside [0, 1], or an
        unknown rule.

    References
    ----------
    Tang and Kejriwal, tables 7 and 8, with H = 100, L = 1 and a stake of 20.

    Examples
    --------
    >>> expected_gains(100, 1, 20).tolist()
    [[40.0, -10.5, 14.75, 0.0]]
    >>> expected_gains(1, 100, 20).tolist()
    [[-9.5, -60.0, -34.75, 0.0]]
    >>> expected_gains(100, 1, 20, rule="outcome").tolist()
    [[39.5, 39.5, 39.5, 0.0]]
    """
    amounts = {"prize": prize, "loss": loss, "stake": stake, "payout": payout}
    values = {
        name: np.atleast_1d(np.asarray(value, dtype=np.float64)) for name, value in amounts.items()
    }
    for name, array in values.items():
        wrong = ~(np.isfinite(array) & (array >= 0))
        require(
            not wrong.any(),
            f"{name} must hold finite numbers of at least 0; the first other value is "
            f"{array[wrong][:1]}.",
        )
    p = np.atleast_1d(np.asarray(chance, dtype=np.float64))
    outside = ~((p >= 0) & (p <= 1))
    require(
        not outside.any(),
        f"chance must hold probabilities in [0, 1]; the first other value is {p[outside][:1]}. "
        "Divide percentages by 100.",
    )
    require(rule in ("side", "outcome"), f"rule must be 'side' or 'outcome'; received {rule!r}.")
    prize, loss, stake, payout, p = np.broadcast_arrays(
        values["prize"], values["loss"], values["stake"], values["payout"], p
    )
    on_winning = stake * (p * payout - (1 - p))
    on_losing = stake * ((1 - p) * payout - p)
    if rule == "side":
        win, lose = p * prize + on_winning, on_losing - (1 - p) * loss
    else:
        thing = p * prize - (1 - p) * loss
        win, lose = thing + on_winning, thing + on_losing
    return np.column_stack([win, lose, (win + lose) / 2, np.zeros_like(win)])


@dataclass(frozen=True, eq=False)
class BetTruths:
    """Which sets of choices count as right, one row per bet and one column per code.

    Parameters
    ----------
    best : ndarray of bool, shape (n, 3)
        Single choices of largest expected gain: the truth of the standard method. More than one
        where gains are equal.
    strict : ndarray of bool, shape (n, 8)
        Nothing but choices of largest gain.
    positive : ndarray of bool, shape (n, 8)
        Consistent sets with a gain above 0. A bet without any is not asked of a model, see `asked`.
    non_negative : ndarray of bool, shape (n, 8)
        Consistent sets with a gain of at least 0.
    """

    best: Truths
    strict: Truths
    positive: Truths
    non_negative: Truths

    def sets(self) -> Mapping[str, Truths]:
        """Return the truths of the threshold method by name, from the narrowest to the widest."""
        return {
            "strict": self.strict,
            "positive gain": self.positive,
            "non-negative gain": self.non_negative,
        }


def bet_truths(gains: ArrayLike) -> BetTruths:
    """Return which sets of choices are right, given the expected gains.

    A set is consistent if it is not empty and holds "do not bet" only by itself; any other is wrong
    throughout.

    Parameters
    ----------
    gains : array-like, shape (n, 4)
        As from `expected_gains`.

    Returns
    -------
    BetTruths
        For every bet.

    Examples
    --------
    >>> truths = bet_truths(expected_gains([100, 1], [1, 100], 20))
    >>> {name: random_rate(right) for name, right in truths.sets().items()}
    {'strict': 0.125, 'positive gain': 0.25, 'non-negative gain': 0.25}
    """
    values = np.asarray(gains, dtype=np.float64)
    require(
        values.ndim == 2 and values.shape[1] == 4,
        f"gains must have shape (n, 4): win, lose, both, none; received {values.shape}.",
    )
    slack = _ROUNDING * np.maximum(1.0, np.abs(values).max(axis=1, keepdims=True))
    singles = values[:, [0, 1, 3]]
    best = singles >= singles.max(axis=1, keepdims=True) - slack
    by_code = np.full((len(values), 8), -np.inf)
    by_code[:, [1, 2, 3, 4]] = values[:, [0, 1, 2, 3]]
    only_best = np.stack([best[:, members].all(axis=1) for members in MEMBERS], axis=1)
    return BetTruths(best, only_best & _CONSISTENT, by_code > slack, by_code >= -slack)


def value_truths(n: int) -> dict[str, Truths]:
    """Return which sets of answers to "which is worth more" are right: section 4.3.2.

    Parameters
    ----------
    n : int
        Number of questions.

    Returns
    -------
    dict of str to ndarray of bool, shape (n, 8)
        "normal": the high thing alone. "weak normal": or with "the same". "weak": anything but a
        contradiction (both things, or all three answers) and no answer.

    Examples
    --------
    >>> {name: random_rate(right) for name, right in value_truths(25).items()}
    {'normal': 0.125, 'weak normal': 0.25, 'weak': 0.625}
    """
    right = {"normal": [1], "weak normal": [1, 5], "weak": [1, 2, 4, 5, 6]}
    return {name: np.tile(np.isin(np.arange(8), codes), (n, 1)) for name, codes in right.items()}


def asked(right: Truths) -> NDArray[np.bool_]:
    """Return which questions have a right set at all; the others are left out of this truth."""
    return np.asarray(right.any(axis=1))


def random_rate(right: Truths) -> float:
    """Return how often a guess is right that takes each of the choices, or of the sets, equally often; by enumeration.

    Parameters
    ----------
    right : ndarray of bool, shape (n, 3) or (n, 8)
        Right choices, or right sets; questions without any are left out.

    Returns
    -------
    float
        In [0, 1]; NaN where no question is left.
    """
    kept = right[asked(right)]
    return float(kept.mean()) if kept.size else float("nan")


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


def set_codes(members: ArrayLike) -> Codes:
    """Return the codes of sets given as booleans, shape (n, 3)."""
    return np.asarray(np.asarray(members, dtype=bool) @ np.array([1, 2, 4]), dtype=np.int64)


def is_right(codes: Codes, right: Truths) -> NDArray[np.bool_]:
    """Return whether each prediction is right.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Choices with `right` of shape (n, 3), where `NO_CHOICE` is wrong; codes of sets with shape
        (n, 8).
    right : ndarray of bool
        As from `bet_truths` or `value_truths`.

    Returns
    -------
    ndarray of bool, shape (n,)
        Right or not.
    """
    found = right[np.arange(len(codes)), np.maximum(codes, 0)]
    return np.asarray(found & (codes != NO_CHOICE))


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
    accuracy = np.array(
        [
            is_right(threshold_sets(values[kept], threshold), right[kept]).mean()
            for threshold in GRID
        ]
    )
    best = GRID[accuracy == accuracy.max()]
    return Threshold(float(np.median(best)), float(accuracy.max()), int(best.size))


def believed_best(belief: Codes, gains: ArrayLike, swapped: ArrayLike) -> Truths:
    """Return the choices that are rational given a model's own answer on which thing is worth more: section 4.4.2.

    Parameters
    ----------
    belief : ndarray of int, shape (n,)
        Place in `VALUE_CHOICES` of the answer on the two things of each bet, or `NO_CHOICE`.
    gains : array-like, shape (n, 4)
        Expected gains with the values as they are: rational if the answer is "high".
    swapped : array-like, shape (n, 4)
        The same with the two values exchanged: rational if it is "low".

    Returns
    -------
    ndarray of bool, shape (n, 3)
        Rational choices; not to bet if the answer is "same", none where there is no answer.
    """
    answers = np.asarray(belief)
    rational = np.where((answers == 0)[:, None], bet_truths(gains).best, bet_truths(swapped).best)
    rational[answers == 2] = [False, False, True]
    rational[answers == NO_CHOICE] = False
    return rational


def _as_scores(scores: Any) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    require(
        values.ndim == 2 and values.shape[1] == 3,
        f"scores must have shape (n, 3), one column per choice; received {values.shape}.",
    )
    return values
