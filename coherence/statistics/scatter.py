"""Scatter of repeated beliefs: how far reports of one and the same evidence lie apart.

A report that scatters around the belief acted on is a poor copy of it, and an action that follows
the belief then seems to know more than the report says. What scatters is the smallest sign of it
that a table can show.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats, as_codes

MISLEADING = 0.03
"""Standard deviation above which rational agents were seen to fail too often."""


@dataclass(frozen=True)
class Scatter:
    """Scatter of the beliefs of a table within groups of equal evidence."""

    # Standard deviation within groups, pooled; NaN where no group has two beliefs. Of beliefs over
    # several states, that of the state in which they scatter most.
    sd: float
    n_groups: int  # groups with at least two beliefs
    across: str = "repetitions"  # what differs within a group: "repetitions" or "wordings"

    @property
    def misleads(self) -> bool:
        """Whether tests that take reports as exact may reject because of it."""
        return self.sd > MISLEADING


def scatter_within(belief: Floats, group: ArrayLike, *, across: str = "repetitions") -> Scatter:
    """Pool the variance of beliefs within groups."""
    codes, _ = as_codes(group, "group")
    sizes = np.bincount(codes)
    n_groups = int((sizes > 1).sum())
    if not n_groups:
        return Scatter(math.nan, 0, across)
    columns = belief.reshape(len(belief), -1).T
    squares = 0.0
    for column in columns:
        away = column - (np.bincount(codes, weights=column) / sizes)[codes]
        away[np.abs(away) < 1e-12] = 0.0  # equal beliefs, whose mean is off by the last digit
        squares = max(squares, float(away @ away))
    # One degree of freedom goes for the mean of each group.
    return Scatter(math.sqrt(squares / (sizes[sizes > 1] - 1).sum()), n_groups, across)
