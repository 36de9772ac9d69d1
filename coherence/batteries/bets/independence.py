"""Independent units of the answers to a ladder.

Every bet is about a high and a low thing. Where each high thing goes with one low thing, the pairs
are independent units. Where both vary, two bets depend on each other if they share either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import Codes, as_codes, require

INDEPENDENT, PAIRS = "every answer by itself", "pairs of things"
CROSSED = "high and low things, crossed"


@dataclass(frozen=True, eq=False)
class Units:
    """What depends on what."""

    name: str  # `INDEPENDENT`, `PAIRS` or `CROSSED`
    sides: tuple[Codes, ...]  # codes of the clusters of each answer, one array per kind of cluster

    def reach(self, n_parameters: int, level: float) -> float:
        """Return how far a log-likelihood may lie below its maximum at this level."""
        if not self.sides:
            # Wilks: twice the log-likelihood ratio is chi-squared.
            return float(stats.chi2.ppf(level, n_parameters)) / 2
        # With few clusters F takes the place of chi-squared, as t does of the normal.
        return n_parameters * float(stats.f.ppf(level, n_parameters, self.freedom)) / 2

    @property
    def freedom(self) -> float:
        """Degrees of freedom: clusters of the scarcer kind, less one; infinite without clusters."""
        # Codes count from 0: the largest is the number of clusters less one.
        return min((int(side.max()) for side in self.sides), default=np.inf)


def units_of(first: ArrayLike | None, second: ArrayLike | None, n: int) -> Units:
    """Return the units of answers about things of two kinds."""
    require((first is None) == (second is None), "first and second must both be given, or neither.")
    if first is None or second is None:
        return Units(INDEPENDENT, ())
    high, low = as_codes(first, "first", n)[0], as_codes(second, "second", n)[0]
    n_high, n_low = int(high.max()) + 1, int(low.max()) + 1
    require(
        min(n_high, n_low) > 1,
        "first and second must hold two or more different things each; "
        f"they hold {n_high} and {n_low}.",
    )
    n_pairs = np.unique(high * n_low + low).size
    return Units(PAIRS, (high,)) if n_pairs == n_high == n_low else Units(CROSSED, (high, low))
