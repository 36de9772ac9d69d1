"""Bins of equal beliefs: quantile bins that never cut through equal values."""

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import as_levels


def belief_bins(belief: Floats, n_bins: int) -> Codes:
    """Cut beliefs into quantile bins, fewer where ties make quantiles coincide."""
    levels = as_levels(belief)
    ranked, n_bins = np.sort(levels), min(n_bins, levels.size)  # no more bins than rows
    # Inner quantiles, rounded up in whole numbers: .6 * 100 would land a row too far.
    last_in_bin = -(-levels.size * np.arange(1, n_bins) // n_bins) - 1
    edges = np.unique(ranked[last_in_bin])
    return np.unique(np.searchsorted(edges, levels, side="left"), return_inverse=True)[1]
