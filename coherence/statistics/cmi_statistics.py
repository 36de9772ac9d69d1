"""The statistics of `cmi_test` as functions of the truth alone, so that permutations cost little.

What does not change when truths are exchanged (sorted beliefs, neighbours, bins) is computed once.
Estimates follow Mesner and Shalizi (2021), algorithm 1; see `coherence.statistics.knn` and
`coherence.statistics.knn_general`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import isotonic_regression

from coherence.inputs import Codes, Floats
from coherence.statistics.conditioning import Conditioning
from coherence.statistics.knn import SortedNeighbours, as_levels, conditional_information
from coherence.statistics.knn_general import general_information, neighbour_table
from coherence.statistics.knn_policies import policy_information, policy_neighbours, scaled_policies

# Above this the table of all neighbours would take more than 200 MB, and a thousand searches in
# one belief, many seconds.
TABLE_ROWS = 2_000

Statistic = Callable[[Codes, bool], tuple[float, float]]
"""Takes the truth of each row and whether the estimate is wanted; returns the nearest-neighbour
estimate (else NaN) and the one with many neighbours (NaN where it would take too long)."""


def sorted_information(belief: Floats, action: Codes, truth: Codes, k: int) -> float:
    """Estimate I(action; truth | belief) for beliefs in any order, shape (n,)."""
    levels = as_levels(belief)
    order = np.argsort(levels, kind="stable")
    return conditional_information(levels[order], action[order], truth[order], k)


def calibrated(belief: Floats, truth: Codes) -> Floats:
    """Replace beliefs by the isotonic regression of the second state on them.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        Stated probability of the second state.
    truth : ndarray of int, shape (n,)
        Codes 0 and 1.

    Returns
    -------
    ndarray, shape (n,)
        Non-decreasing function of the belief with least squared error; rows of equal belief stay
        equal.
    """
    # Equal beliefs are pooled first; scipy's regression would order them as they happen to come.
    _, level, counts = np.unique(as_levels(belief), return_inverse=True, return_counts=True)
    share = np.bincount(level, weights=(truth == 1).astype(np.float64)) / counts
    return np.asarray(isotonic_regression(share, weights=counts).x, dtype=np.float64)[level]


def _with_both(
    information: Callable[[Codes, Sequence[int]], list[float]], k: int, k_test: int | None
) -> Statistic:
    """Estimate with `k` neighbours only where it is wanted: permutations need `k_test` alone."""

    def statistic(truth: Codes, with_estimate: bool) -> tuple[float, float]:
        wanted = [k] if with_estimate else []
        wanted += [] if k_test is None else [k_test]
        estimates = information(truth, wanted) if wanted else []
        return (
            estimates[0] if with_estimate else math.nan,
            math.nan if k_test is None else estimates[-1],
        )

    return statistic


def one_dimensional_statistic(
    belief: Floats, action: Codes, k: int, k_test: int | None
) -> Statistic:
    """Nearest-neighbour estimates given one belief, with few and with many neighbours."""
    levels = as_levels(belief)
    order = np.argsort(levels, kind="stable")
    prepared = SortedNeighbours(levels[order], action[order])
    return _with_both(lambda truth, sizes: prepared.information(truth[order], sizes), k, k_test)


def calibrated_statistic(belief: Floats, action: Codes, k: int, k_test: int | None) -> Statistic:
    """Nearest-neighbour estimates given the calibrated belief."""

    def statistic(truth: Codes, with_estimate: bool) -> tuple[float, float]:
        if not with_estimate and k_test is None:
            return math.nan, math.nan
        # The calibration uses the truth, so that it belongs to what is permuted: it is fitted anew.
        return one_dimensional_statistic(calibrated(belief, truth), action, k, k_test)(
            truth, with_estimate
        )

    return statistic


def general_statistic(conditions: Conditioning, action: Codes, k: int, k_test: int) -> Statistic:
    """Nearest-neighbour estimates given several columns, from a table of all neighbours."""
    table = neighbour_table(conditions.continuous, conditions.stratum, action)
    return _with_both(table.information, k, k_test)


def searched_statistic(conditions: Conditioning, action: Codes, k: int) -> Statistic:
    """Nearest-neighbour estimate alone, where a table of neighbours would not fit."""

    def statistic(truth: Codes, with_estimate: bool) -> tuple[float, float]:
        # Searched for anew: trees take little memory, but too long for every permutation.
        estimate = (
            general_information(conditions.continuous, conditions.stratum, action, truth, k)
            if with_estimate
            else math.nan
        )
        return estimate, math.nan

    return statistic


def policy_statistic(conditions: Conditioning, share: Floats, k: int, k_test: int) -> Statistic:
    """Nearest-neighbour estimates of the information between policies and truths."""
    table = policy_neighbours(conditions.continuous, conditions.stratum, scaled_policies(share))
    return _with_both(table.information, k, k_test)


def searched_policy_statistic(conditions: Conditioning, share: Floats, k: int) -> Statistic:
    """Nearest-neighbour estimate for policies, where a table of neighbours would not fit."""
    scaled = scaled_policies(share)

    def statistic(truth: Codes, with_estimate: bool) -> tuple[float, float]:
        estimate = (
            policy_information(conditions.continuous, conditions.stratum, scaled, truth, k)
            if with_estimate
            else math.nan
        )
        return estimate, math.nan

    return statistic
