"""Which sets of choices count as right, and how often a guess would be.

After Tang and Kejriwal, sections 4.3.2, 4.3.3 and 4.4.2. A prediction is a set of choices, written
as a code: the sum of 1, 2 and 4 for the first, second and third choice, so that 0 is the empty set
and 7 all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coherence.inputs import Codes, require

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


@dataclass(frozen=True, eq=False)
class BetTruths:
    """Which sets of choices count as right, one row per bet and one column per code."""

    # shape (n, 3): single choices of largest expected gain: the truth of the standard method. More
    # than one where gains are equal.
    best: Truths
    strict: Truths  # shape (n, 8): nothing but choices of largest gain
    # shape (n, 8): consistent sets with a gain above 0. A bet without any is not asked of a model,
    # see `asked`.
    positive: Truths
    non_negative: Truths  # shape (n, 8): consistent sets with a gain of at least 0

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
    """
    values = np.asarray(gains, dtype=np.float64)
    require(
        values.ndim == 2 and values.shape[1] == 4,
        f"gains must have shape (n, 4): win, lose, both, none; received {values.shape}.",
    )
    # Gains are sums of products of amounts, and equal ones may differ in their last bits.
    slack = _ROUNDING * np.maximum(1.0, np.abs(values).max(axis=1, keepdims=True))
    singles = values[:, [0, 1, 3]]
    best = singles >= singles.max(axis=1, keepdims=True) - slack
    # A set is bet on as a whole: code 3 is both sides with half the stake each. Sets that cannot be
    # carried out stay at minus infinity.
    by_code = np.full((len(values), 8), -np.inf)
    by_code[:, [1, 2, 3, 4]] = values[:, [0, 1, 2, 3]]
    only_best = np.stack([best[:, members].all(axis=1) for members in MEMBERS], axis=1)
    return BetTruths(best, only_best & _CONSISTENT, by_code > slack, by_code >= -slack)


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
    rational = np.where((answers == 0)[:, None], bet_truths(gains).best, bet_truths(swapped).best)
    rational[answers == 2] = [False, False, True]
    rational[answers == NO_CHOICE] = False
    return rational
