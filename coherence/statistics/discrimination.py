"""Whether beliefs are higher where the state came true: the area under the ROC curve.

With its variance where observations come in clusters (Obuchowski 1997, Biometrics 53, 567-578,
equations 2 to 5): the rows of a context share its state and its belief nearly.
"""

import numpy as np
from scipy import stats

from coherence.inputs import Codes, Floats

FEWEST = 5  # clusters with the state, and without it, below which a variance says little


def clustered_auc(
    belief: Floats, state: Floats, cluster: Codes, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the area under the curve and its interval; NaN where there are too few clusters.

    `state` is 1 or 0, `cluster` numbers the independent clusters of rows.
    """
    with_state = state == 1
    clusters = [np.unique(cluster[rows]) for rows in (with_state, ~with_state)]
    if min(map(len, clusters)) < FEWEST:
        return np.nan, np.nan, np.nan
    n_with, n_without = int(with_state.sum()), int((~with_state).sum())
    ranks = stats.rankdata(belief)
    # The share of the other rows that a row lies above, ties by half: its placement value.
    placement = np.empty(len(belief))
    for rows, n_others in ((with_state, n_without), (~with_state, n_with)):
        placement[rows] = (ranks[rows] - stats.rankdata(belief[rows])) / n_others
    placement[~with_state] = 1 - placement[~with_state]
    area = float(placement[with_state].mean())
    n_clusters = int(cluster.max()) + 1
    deviation = placement - area
    sums = [
        np.bincount(cluster[rows], weights=deviation[rows], minlength=n_clusters)
        for rows in (with_state, ~with_state)
    ]
    n_all = len(np.unique(cluster))
    variance = sum(
        len(inside) / (len(inside) - 1) * float(each @ each) / size**2
        for inside, each, size in zip(clusters, sums, (n_with, n_without), strict=True)
    )
    variance += 2 * n_all / (n_all - 1) * float(sums[0] @ sums[1]) / (n_with * n_without)
    width = float(stats.norm.isf((1 - level) / 2)) * np.sqrt(max(variance, 0.0))
    return area, area - width, area + width
