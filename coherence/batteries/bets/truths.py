"""Which choices in bets with two sides are right, predictions out of scores, tests of shares right.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?", sections 4.2.1, 4.3.2,
4.3.3, 4.4.2 and the appendix. One side of a bet wins a thing (the prize), the other loses one; a
choice is to stake money on the winning side, on the losing side, or not at all. Their bets have
even chances and pay nothing beyond the thing and the stake; here the side that is bet on may also
pay `payout` per unit of stake. A prediction is a set of choices, written as a code: the sum of 1, 2
and 4 for the first, second and third choice, so that 0 is the empty set and 7 all three.

Every high thing meets every low one, so two questions that share a thing depend on each other, and
the binomial distribution is too narrow. The paper's z test, which takes answers as independent and
estimates the variance from the sample, stands beside an exact test and an interval that allows for
both crossings.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from coherence.errors import InputError
from coherence.inputs import (
    Codes,
    Floats,
    as_codes,
    as_numbers,
    as_probabilities,
    check_level,
    require,
    require_yes_no,
    whole_number,
)
from coherence.result import Interval
from coherence.statistics.shares import exact_interval


def switching_chance(
    prize: ArrayLike, loss: ArrayLike, stake: ArrayLike, *, payout: ArrayLike = 0.0
) -> Floats:
    """Return the chance of the winning side above which a bet on it is the best choice.

    All gains are linear in the chance p, and at p = 1 the winning side gains the most. So it is
    best above the larger of two chances: where its gain is 0, ``X / (H + (1 + b) X)``, and where it
    equals that of the losing side, ``((1 + b) X - L) / (H + 2 (1 + b) X - L)``, with prize H, loss
    L, stake X and payout b. The second exists only where the losing side returns more than it
    loses, (1 + b) X > L; elsewhere the winning side is ahead of it at every chance.
    """
    prize, loss, stake, payout = (
        np.asarray(value, dtype=np.float64) for value in (prize, loss, stake, payout)
    )
    returned = (1 + payout) * stake
    # No chance makes the sides equal where the losing one returns less than it loses: then 0.
    ahead = np.maximum(returned - loss, 0)
    sides_equal = ahead / (prize + returned + ahead)
    return np.maximum(stake / (prize + returned), sides_equal)


def expected_gains(
    prize: ArrayLike,
    loss: ArrayLike,
    stake: ArrayLike,
    *,
    chance: ArrayLike = 0.5,
    payout: ArrayLike = 0.0,
) -> Floats:
    """Return the expected gains of each choice in a bet with two sides.

    A thing changes hands only if the side bet on comes up, as in the tables of the paper's
    appendix; its section 4.3.3 says at one place that it does in any case.

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

    Returns
    -------
    ndarray, shape (n, 4)
        Of betting on the winning side, on the losing side, on both with half the stake each, and
        of not betting; in the unit of the values.

    Raises
    ------
    InputError
        A value, stake or payout that is negative or not finite, or a chance outside [0, 1].

    References
    ----------
    Tang and Kejriwal, tables 7 and 8, with H = 100, L = 1 and a stake of 20.

    Examples
    --------
    >>> expected_gains(100, 1, 20).tolist()
    [[40.0, -10.5, 14.75, 0.0]]
    >>> expected_gains(1, 100, 20).tolist()
    [[-9.5, -60.0, -34.75, 0.0]]
    """
    amounts = {"prize": prize, "loss": loss, "stake": stake, "payout": payout}
    values = {name: np.atleast_1d(as_numbers(value, name)) for name, value in amounts.items()}
    for name, array in values.items():
        wrong = ~(np.isfinite(array) & (array >= 0))
        require(
            not wrong.any(),
            f"{name} must hold finite numbers of at least 0; the first other value is "
            f"{array[wrong][:1]}.",
        )
    p = as_probabilities(np.atleast_1d(chance), "chance")
    try:
        prize, loss, stake, payout, p = np.broadcast_arrays(*values.values(), p)
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in (*values.values(), p))
        raise InputError(
            "prize, loss, stake, payout and chance must be of one length or single numbers; "
            f"received shapes {shapes}."
        ) from None
    # Tables 7 and 8: a stake is lost on the side that does not come up, and the thing changes hands
    # with the side that does.
    on_winning = stake * (p * payout - (1 - p))
    on_losing = stake * ((1 - p) * payout - p)
    win, lose = p * prize + on_winning, on_losing - (1 - p) * loss
    # Half the stake on each side: gains are linear in the stake, so that "both" lies half-way.
    return np.column_stack([win, lose, (win + lose) / 2, np.zeros_like(win)])


def bet_gains(bets: pd.DataFrame, *, swapped: bool = False) -> Floats:
    """Return the expected gains of a table of bets; `swapped`, what is lost is the prize."""
    return expected_gains(*_amounts(bets, swapped), chance=bets["chance"], payout=payouts(bets))


def break_evens(bets: pd.DataFrame) -> Floats:
    """Return the chances above which the winning side is best, see `switching_chance`."""
    return switching_chance(*_amounts(bets), payout=payouts(bets))


def payouts(bets: pd.DataFrame) -> Floats:
    """Return what is paid on top of a stake, per unit of it; 0 where the table does not say."""
    if "payout" not in bets.columns:
        return np.zeros(len(bets))
    return bets["payout"].fillna(0.0).to_numpy(dtype=np.float64)


def _amounts(bets: pd.DataFrame, swapped: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return what is won, what is lost, and the stake."""
    high_is_won = (bets["wins"] == "high").to_numpy() != swapped
    high, low, stake = bets[["high_value", "low_value", "stake"]].to_numpy(dtype=np.float64).T
    return np.where(high_is_won, high, low), np.where(high_is_won, low, high), stake


Truths = NDArray[np.bool_]

BET_CHOICES = ("win", "lose", "none")
"""Stake on the side that wins the prize, on the side that loses a thing, or do not bet; this order
makes the codes."""
VALUE_CHOICES = ("high", "low", "same")
NO_CHOICE = -1
MEMBERS: Truths = np.array(
    [[code >> choice & 1 for choice in range(3)] for code in range(8)], dtype=bool
)
"""Shape (8, 3): which choices are in the set with each code."""
# Not empty, and "none" only by itself (section 4.3.3: other sets are wrong under every truth).
_CONSISTENT = np.isin(np.arange(8), [1, 2, 3, 4])
_ROUNDING = 1e-9  # relative to the amounts; gains that differ by less are equal


def best_choices(gains: ArrayLike) -> Truths:
    """Return the single choices of largest expected gain, more than one where gains are equal.

    The truth of the standard method, shape (n, 3).
    """
    values = np.asarray(gains, dtype=np.float64)
    singles = values[:, [0, 1, 3]]
    return np.asarray(singles >= singles.max(axis=1, keepdims=True) - _slack(values))


def right_roles(questions: pd.DataFrame) -> list[str]:
    """Return the role of the right option of every question, for training."""
    roles = np.full(len(questions), "high", dtype=object)
    is_bet = (questions["kind"] != "value").to_numpy()
    if is_bet.any():
        best = best_choices(bet_gains(questions[is_bet]))
        roles[is_bet] = np.array(BET_CHOICES, dtype=object)[best.argmax(axis=1)]
    return [str(role) for role in roles]


def bet_truths(gains: ArrayLike) -> dict[str, Truths]:
    """Return which sets of choices are right, from the narrowest truth to the widest.

    One row per bet and one column per code. A set is consistent if it is not empty and holds "do
    not bet" only by itself; any other is wrong throughout. Strictly right are sets of nothing but
    choices of largest gain. A bet without any right set is not asked of a model, see `asked`.
    """
    values, best = np.asarray(gains, dtype=np.float64), best_choices(gains)
    # A set is bet on as a whole: code 3 is both sides with half the stake each. Sets that cannot be
    # carried out stay at minus infinity.
    by_code = np.full((len(values), 8), -np.inf)
    by_code[:, [1, 2, 3, 4]] = values[:, [0, 1, 2, 3]]
    only_best = np.stack([best[:, members].all(axis=1) for members in MEMBERS], axis=1)
    slack = _slack(values)
    return {
        "strict": only_best & _CONSISTENT,
        "positive gain": by_code > slack,
        "non-negative gain": by_code >= -slack,
    }


def _slack(gains: Floats) -> Floats:
    """Return by how much equal gains, sums of products of amounts, may differ in rounding."""
    return np.asarray(_ROUNDING * np.maximum(1.0, np.abs(gains).max(axis=1, keepdims=True)))


def value_truths(n: int) -> dict[str, Truths]:
    """Return which sets of answers to "which is worth more" are right: section 4.3.2."""
    # Codes: 1 is "high", 2 "low", 4 "the same", 5 "high" with "the same", 6 "low" with it.
    right = {"normal": [1], "weak normal": [1, 5], "weak": [1, 2, 4, 5, 6]}
    return {name: np.tile(np.isin(np.arange(8), codes), (n, 1)) for name, codes in right.items()}


def asked(right: Truths) -> NDArray[np.bool_]:
    """Return which questions have a right set at all; the others are left out of this truth."""
    return np.asarray(right.any(axis=1))


def random_rate(right: Truths) -> float:
    """Return how often a guess is right that takes each choice, or each set, equally often."""
    kept = right[asked(right)]
    return float(kept.mean()) if kept.size else float("nan")


def set_codes(members: ArrayLike) -> Codes:
    """Return the codes of sets given as booleans, shape (n, 3)."""
    return np.asarray(np.asarray(members, dtype=bool) @ np.array([1, 2, 4]), dtype=np.int64)


def is_right(codes: Codes, right: Truths) -> NDArray[np.bool_]:
    """Return whether each prediction is right."""
    chosen = right[np.arange(len(codes)), np.maximum(codes, 0)]
    return np.asarray(chosen & (codes != NO_CHOICE))


def believed_best(belief: Codes, gains: ArrayLike, swapped: ArrayLike) -> Truths:
    """Return the choices that are rational given a model's own answer on values: section 4.4.2."""
    answers = np.asarray(belief)
    rational = np.where((answers == 0)[:, None], best_choices(gains), best_choices(swapped))
    rational[answers == 2] = [False, False, True]
    rational[answers == NO_CHOICE] = False
    return rational


THRESHOLDS: Floats = np.arange(101) / 100
"""Thresholds tried, section 4.2.1."""


def standard_choices(scores: ArrayLike) -> Codes:
    """Return the choice with the largest score of each question: the standard method."""
    values = np.asarray(scores, dtype=np.float64)
    # `argmax` would take the first of equal scores, and the order of options would decide.
    largest = values.max(axis=1, keepdims=True)
    alone = (values == largest).sum(axis=1) == 1
    return np.where(alone, values.argmax(axis=1), NO_CHOICE).astype(np.int64)


def threshold_sets(scores: ArrayLike, threshold: float) -> Codes:
    """Return the set of all choices whose score is above a threshold: the threshold method."""
    return set_codes(np.asarray(scores) > threshold)


def tune_threshold(scores: Floats, right: Truths) -> tuple[float, float]:
    """Return the median of the best thresholds of development questions, and its accuracy.

    Section 4.2.1.
    """
    kept = asked(right)
    predicted = (threshold_sets(scores[kept], threshold) for threshold in THRESHOLDS)
    accuracy = np.array([is_right(codes, right[kept]).mean() for codes in predicted])
    return float(np.median(THRESHOLDS[accuracy == accuracy.max()])), float(accuracy.max())


_METHOD = "exact binomial at the effective sample size, high and low things as crossed clusters"


def z_test(n_right: int, n: int, chance: float) -> tuple[float, float]:
    """Test as the paper does whether a share of right answers exceeds a chance rate.

    Null: answers are independent and right with probability `chance`; the variance is estimated at
    the observed share. Returns z, infinite at a share of 0 or 1, where that variance is 0, and the
    probability of a standard normal above it.

    Tang and Kejriwal, tables 5 and 9 to 19; the formula is the one that gives their p-values.
    """
    share = n_right / n
    spread = math.sqrt(share * (1 - share) / (n - 1))
    gap = share - chance
    # At a share of 0 or 1 the limit: what the paper prints as "1.00" and "<.001".
    at_the_end = math.copysign(math.inf, gap) if gap != 0 else math.nan
    z = gap / spread if spread > 0 else at_the_end
    return z, float(stats.norm.sf(z))


def exact_test(n_right: int, chances: ArrayLike) -> float:
    """Test exactly whether there are more right answers than random guesses would give.

    Null: every answer is an independent guess that is right with its own known probability.

    Parameters
    ----------
    n_right : int
        Right answers.
    chances : array-like, shape (n,)
        For each question the probability that a guess is right, in [0, 1]; where they differ, the
        number of right guesses is no binomial, and its distribution is computed by convolution.

    Returns
    -------
    float
        Probability of at least `n_right` right guesses.

    Raises
    ------
    InputError
        No questions, more right answers than questions, or a probability outside [0, 1].

    Examples
    --------
    >>> round(exact_test(13, [1 / 3] * 25), 4)
    0.0415
    """
    p = as_probabilities(chances, "chances")
    whole_number(n_right, "n_right", 0)
    require(p.ndim == 1, f"chances must have shape (n,); received {p.shape}.")
    require(n_right <= p.size, f"n_right must be at most {p.size}; received {n_right}.")
    # Equal chances: the binomial is faster than a convolution, and exact far out.
    if np.ptp(p) < 1e-12:
        return float(stats.binom.sf(n_right - 1, p.size, p[0]))
    distribution = np.ones(1)
    for value in p:
        distribution = np.convolve(distribution, [1 - value, value])
    return float(min(distribution[n_right:].sum(), 1.0))


def crossed_interval(
    right: ArrayLike, first: ArrayLike, second: ArrayLike, *, level: float = 0.95
) -> Interval:
    """Return an interval for the share of right answers when questions share things of two kinds.

    Parameters
    ----------
    right : array-like of bool, shape (n,)
        Right answers.
    first, second : array-like, shape (n,)
        The high and the low thing of each question; at least two of each.
    level : float
        Nominal coverage.

    Returns
    -------
    Interval
        For the share that things and questions like these would have. NaN at both ends where there
        are fewer than two things of a kind.

    Notes
    -----
    The variance is the sum of those of the sums over high and over low things, with nothing taken
    off for pairs that are in both (Davezies, D'Haultfoeuille and Guyonvarch 2021; this errs on the
    side of too large), no less than that of independent answers. It gives an effective number of
    answers, at which an exact binomial interval is taken with a t correction for the few things
    (Korn and Graubard 1998). The degrees of freedom of the t are those of Satterthwaite (1946) for
    a sum of two variances, each with what the kurtosis of its own sums leaves: one thing in fifteen
    that is always wrong tells little about the variance. Where all answers are right, or all wrong,
    they show no variance; then the number of free means of an additive layout, the things of both
    kinds less one, is the effective number.

    Examples
    --------
    >>> high, low = np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5)
    >>> interval = crossed_interval(high < 3, high, low)  # right for three of five high things
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.04, 0.99)
    """
    check_level(level)
    values = as_numbers(right, "right")
    require(
        values.ndim == 1 and values.size > 0,
        f"right must hold one answer per question; received shape {values.shape}.",
    )
    require_yes_no(values, "right")
    n, share = values.size, float(values.mean())
    sides = [as_codes(side, name, n)[0] for name, side in (("first", first), ("second", second))]
    n_things = min(int(side.max()) + 1 for side in sides)
    if n_things < 2:
        return Interval(math.nan, math.nan, level, _METHOD)
    # Davezies, D'Haultfoeuille and Guyonvarch: a variance over each kind of things, added up.
    residual = values - share
    parts = [_clustered_variance(residual, side) for side in sides]
    variance = max(sum(part for part, _ in parts), float(residual @ residual) / n / (n - 1))
    if variance < 1e-15:
        free_means = sum(int(side.max()) + 1 for side in sides) - 1
        return Interval(*exact_interval(share, float(min(free_means, n)), level), level, _METHOD)
    # Korn and Graubard: the number of independent answers that would have this variance.
    effective = min(share * (1 - share) / variance, n)
    # Answers that differ within every thing and not between things leave both parts at 0, and no t
    # correction to make.
    spread = sum(part**2 / freedom for part, freedom in parts)
    freedom = sum(part for part, _ in parts) ** 2 / spread if spread > 1e-30 else n - 1
    tail = (1 + level) / 2
    effective *= float(stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, freedom)) ** 2
    return Interval(*exact_interval(share, effective, level), level, _METHOD)


def _clustered_variance(residual: Floats, cluster: np.ndarray) -> tuple[float, float]:
    """Return the variance of the mean from sums over clusters, and its degrees of freedom."""
    totals = np.bincount(cluster, weights=residual)
    squares = totals**2
    count, second = totals.size, float(squares.mean())
    excess = max(float((squares**2).mean()) / second**2 - 3, 0.0) if second > 0 else 0.0
    # The variance of an estimated variance grows with the excess kurtosis: (excess + 2 n / (n - 1))
    # / n, and degrees of freedom are 2 divided by it.
    return float(count / (count - 1) * squares.sum() / residual.size**2), 2 / (
        excess / count + 2 / (count - 1)
    )
