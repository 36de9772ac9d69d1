"""What `cmi_test` conditions on, and the estimate and statistic that follow from it.

One belief in one of two states allows a search along a line; beliefs over several states, and
features of the evidence, need one in several columns (`coherence.statistics.knn_general`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.inputs import Codes, Floats, require
from coherence.statistics.bins import belief_bins
from coherence.statistics.choice_segments import choice_segments, segment_bins, segment_blocks
from coherence.statistics.choices import ChoiceData, one_dimensional
from coherence.statistics.cmi_statistics import (
    TABLE_ROWS,
    Statistic,
    calibrated,
    calibrated_statistic,
    general_statistic,
    one_dimensional_statistic,
    policy_statistic,
    searched_policy_statistic,
    searched_statistic,
    sorted_information,
)
from coherence.statistics.conditioning import Conditioning, gather_conditioning
from coherence.statistics.grouping import vector_bins
from coherence.statistics.information import BinnedCounts, information_bins
from coherence.statistics.knn_general import general_information
from coherence.statistics.resample import context_blocks, context_means, context_sums

TEST_SHARE = 0.15  # neighbours of the test statistic, as a share of the rows
# The same given several columns, as a share of the mean number of rows with one action and one
# truth.
CELL_SHARE = 0.6


def neighbours_for_test(n_rows: int, k: int) -> int:
    """Return the number of neighbours of the test statistic.

    Three neighbours estimate with little bias but with so much variance that a test has hardly any
    power. A permutation test keeps its level whatever the statistic, so the test uses a fixed share
    of the rows, chosen before the data are seen.

    Parameters
    ----------
    n_rows : int
        Rows of the unit.
    k : int
        Neighbours of the estimate, the smallest number used.

    Returns
    -------
    int
        ``max(k, round(.15 * n_rows))``.

    Examples
    --------
    >>> neighbours_for_test(1000, 3)
    150
    """
    return max(k, round(TEST_SHARE * n_rows))


def neighbours_for_general_test(n_rows: int, n_cells: int, k: int) -> int:
    """Return the number of neighbours of the test statistic given several columns.

    In several dimensions a neighbourhood widens faster, and more actions and truths leave fewer
    rows that share both.

    Parameters
    ----------
    n_rows : int
        Rows of the unit.
    n_cells : int
        Actions times truths.
    k : int
        Neighbours of the estimate, the smallest number used.

    Returns
    -------
    int
        ``max(k, round(.6 * n_rows / n_cells))``.

    Examples
    --------
    >>> neighbours_for_general_test(1000, 9, 3)
    67
    """
    return max(k, round(CELL_SHARE * n_rows / n_cells))


@dataclass(frozen=True)
class Problem:
    """Validated data, what is conditioned on, and how beliefs are treated.

    Parameters
    ----------
    data : ChoiceData
        Belief, action, truth and context.
    given : Conditioning
        Columns that are conditioned on.
    belief : ndarray, shape (n,), or None
        The belief, where it is one number and all that is conditioned on.
    isotonic : bool
        Whether it is replaced by its isotonic calibration.
    """

    data: ChoiceData
    given: Conditioning
    belief: Floats | None
    isotonic: bool

    def estimate(self, rows: Codes, k: int) -> float:
        """Return the nearest-neighbour estimate in nats from a choice of rows, repeats allowed."""
        action, truth = (
            np.unique(codes[rows], return_inverse=True)[1]
            for codes in (self.data.action, self.data.truth)
        )
        if self.belief is None:
            conditioning = self.given
            return general_information(
                conditioning.continuous[rows], conditioning.stratum[rows], action, truth, k
            )
        belief = self.belief[rows]
        if self.isotonic:
            belief = calibrated(belief, self.data.truth[rows])
        return sorted_information(belief, action, truth, k)

    @property
    def summary(self) -> Floats:
        """Row by which contexts are compared: their mean belief, or their means of all columns."""
        if self.belief is None:
            return self.given.summary
        return context_means(self.belief, self.data.context, self.data.n_contexts)

    @cached_property
    def segments(self) -> Codes:
        """Range of belief of each context within which choices are alike, shape (n_contexts,).

        One for all where several columns are conditioned on.
        """
        data = self.data
        if self.belief is None:
            return np.zeros(data.n_contexts, dtype=np.int64)
        chosen = [context_sums(column, data.context, data.n_contexts) for column in data.share.T]
        return choice_segments(self.summary, np.stack(chosen, axis=1))

    @cached_property
    def blocks(self) -> Codes:
        """Block of each context, within which its state may be exchanged, shape (n_contexts,)."""
        if self.belief is None:
            return context_blocks(self.summary)
        return segment_blocks(self.summary, self.segments)

    @cached_property
    def counts(self) -> BinnedCounts:
        """Counts, for any arrangement of the states, in bins that lie within segments."""
        n_bins = information_bins(self.data.n_contexts)
        centres = self._centres
        return self._counts(
            vector_bins(centres, n_bins)
            if self.belief is None
            else segment_bins(centres[:, 0], self.segments, n_bins)
        )

    @cached_property
    def halves(self) -> BinnedCounts:
        """Counts in two halves of the contexts."""
        centres = self._centres
        return self._counts(
            vector_bins(centres, 2) if self.belief is None else belief_bins(centres[:, 0], 2)
        )

    @property
    def _centres(self) -> Floats:
        """Every context at the centre of its block: bins never cut through equal values."""
        columns = self.summary.reshape(self.data.n_contexts, -1).T
        n_blocks = int(self.blocks.max()) + 1
        means = [context_means(column, self.blocks, n_blocks)[self.blocks] for column in columns]
        return np.stack(means, axis=1)

    def _counts(self, bins: Codes) -> BinnedCounts:
        data = self.data
        return BinnedCounts(self.blocks, bins, data.context, data.share, len(data.states))

    def statistic(self, k: int) -> tuple[Statistic, int | None]:
        """Choose the nearest-neighbour statistic by what is conditioned on and how many rows.

        Parameters
        ----------
        k : int
            Neighbours of the estimate.

        Returns
        -------
        statistic : callable
            Truth -> estimate and statistic of the test.
        k_test : int or None
            Neighbours of the latter; None where so many rows would take too long.
        """
        data = self.data
        if data.policy is not None:
            return self._policy_statistic(data.policy, k)
        if self.belief is not None:
            many = min(neighbours_for_test(data.n_rows, k), data.n_rows - 1)
            k_test = many if data.n_rows <= TABLE_ROWS else None
            build = calibrated_statistic if self.isotonic else one_dimensional_statistic
            return build(self.belief, data.action, k, k_test), k_test
        if data.n_rows > TABLE_ROWS:
            return searched_statistic(self.given, data.action, k), None
        n_cells = len(data.actions) * len(data.states)
        k_test = min(neighbours_for_general_test(data.n_rows, n_cells, k), data.n_rows - 1)
        return general_statistic(self.given, data.action, k, k_test), k_test

    def _policy_statistic(self, policy: Floats, k: int) -> tuple[Statistic, int | None]:
        n_rows = self.data.n_rows
        if n_rows > TABLE_ROWS:
            return searched_policy_statistic(self.given, policy, k), None
        k_test = min(neighbours_for_test(n_rows, k), n_rows - 1)
        return policy_statistic(self.given, policy, k, k_test), k_test


def pose(
    data: ChoiceData, condition_on: ArrayLike | pd.DataFrame | None, isotonic: bool
) -> Problem:
    """Gather what is conditioned on.

    Parameters
    ----------
    data : ChoiceData
        Validated belief, action, truth and context.
    condition_on : DataFrame or array-like, shape (n,) or (n, n_features), or None
        Features of the evidence.
    isotonic : bool
        Whether the belief is to be calibrated.

    Returns
    -------
    Problem
        What `cmi_test` studies.

    Raises
    ------
    InputError
        Features that break their rule, or nothing that can be calibrated.
    """
    several = data.belief.ndim == 2 and data.belief.shape[1] > 2
    belief = None if several or condition_on is not None else one_dimensional(data, "cmi_test")
    if isotonic:
        require(
            belief is not None and len(data.states) <= 2,
            "isotonic=True calibrates the belief in one of two states; received more states or "
            "features to condition on. Leave it out.",
        )
        require(
            data.policy is None,
            "isotonic=True takes chosen actions; received probabilities of actions. Leave it out.",
        )
    columns = data.belief if several else one_dimensional(data, "cmi_test")
    conditioning = gather_conditioning(columns, condition_on, data.context, data.n_contexts)
    return Problem(data, conditioning, belief, isotonic)
