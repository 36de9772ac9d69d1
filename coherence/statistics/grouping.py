"""Groups of contexts that lie close together in several columns.

Blocks for permutations must be narrow, because exchanging contexts across a block assumes that
nothing changes within it: they come from complete-linkage clustering, whose clusters have a known
diameter. Bins for counting must be well filled: they come from repeated splits at the median.
Distances combine by their maximum, as in the nearest-neighbour estimates; equal rows always stay
together.
"""

import heapq

import numpy as np
from scipy.cluster.hierarchy import linkage

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import RESOLUTION, as_levels

# distinct rows clustered at once; more are first split, since clustering takes the square of their
# number in memory
CLUSTERED = 1_000


def _split(points: Codes, weight: Codes) -> tuple[Codes, Codes] | None:
    """Cut distinct points in two at the weighted median of their widest column.

    Ties stay on one side; None if all are equal.
    """
    column = points[:, int(np.argmax(np.ptp(points, axis=0)))]
    values, inverse = np.unique(column, return_inverse=True)
    if values.size < 2:
        return None
    # The cut that leaves the number of contexts on both sides most alike.
    below = np.cumsum(np.bincount(inverse, weights=weight))[:-1]
    left = inverse <= int(np.argmin(np.abs(below - weight.sum() / 2)))
    return np.flatnonzero(left), np.flatnonzero(~left)


def _cells(points: Codes, weight: Codes, n_cells: int, measure: Codes, enough: int) -> list[Codes]:
    """Split the cell of largest measure until there are `n_cells` or none exceeds `enough`."""
    # The ticket breaks ties of measure: arrays cannot be compared, and equal runs must be equal.
    heap: list[tuple[int, int, Codes]] = [(-int(measure.sum()), 0, np.arange(len(points)))]
    whole: list[Codes] = []
    ticket = 1
    while heap and len(heap) + len(whole) < n_cells and -heap[0][0] > enough:
        _, _, rows = heapq.heappop(heap)
        # Points that are all equal stay whole, however many contexts they hold.
        halves = _split(points[rows], weight[rows])
        if halves is None:
            whole.append(rows)
            continue
        for half in halves:
            heapq.heappush(heap, (-int(measure[rows[half]].sum()), ticket, rows[half]))
            ticket += 1
    return whole + [rows for _, _, rows in heap]


def _clusters(points: Codes, weight: Codes, size: int, widest: int) -> Codes:
    """Cut the tree of complete linkage from the top.

    Clusters are narrower than `widest`, and small unless a cut would leave a point alone.
    """
    n = len(points)
    if n == 1:
        return np.zeros(1, dtype=np.int64)
    # Rows of scipy's linkage: two children, the diameter of their union (that is what complete
    # linkage measures), and a count; node n + i is made by row i.
    merges = linkage(points / RESOLUTION, method="complete", metric="chebyshev")
    contexts = np.concatenate([weight, np.zeros(n - 1, dtype=np.int64)])
    for step, (left, right) in enumerate(merges[:, :2].astype(np.int64)):
        contexts[n + step] = contexts[left] + contexts[right]
    block = np.empty(n, dtype=np.int64)
    open_nodes, n_blocks = [(2 * n - 2, -1)], 0
    while open_nodes:
        node, label = open_nodes.pop()
        if label < 0:
            children = merges[node - n, :2].astype(np.int64) if node >= n else None
            diameter = merges[node - n, 2] if node >= n else 0.0
            if children is not None and (
                diameter > widest / RESOLUTION + 1e-12
                or (contexts[node] > 2 * size and contexts[children].min() > 1)
            ):
                open_nodes += [(int(child), -1) for child in children]
                continue
            # Nothing below needs a cut: the whole branch is one block.
            label, n_blocks = n_blocks, n_blocks + 1
        if node < n:
            block[node] = label
        else:
            open_nodes += [(int(child), label) for child in merges[node - n, :2]]
    return block


def vector_blocks(summary: Floats, *, size: int, span: float) -> Codes:
    """Group contexts into narrow blocks.

    Parameters
    ----------
    summary : ndarray, shape (n_contexts, n_columns)
        One row per context.
    size : int
        Contexts wanted in a block; blocks that hold more than twice as many are cut where that
        leaves no context alone.
    span : float
        Largest difference, in any column, within a block.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Block of each context; a context without a near neighbour has a block of its own.
    """
    points, inverse, counts = np.unique(
        as_levels(summary), axis=0, return_inverse=True, return_counts=True
    )
    block = np.empty(len(points), dtype=np.int64)
    n_blocks = 0
    for rows in _cells(
        points, counts, len(points), np.ones(len(points), dtype=np.int64), CLUSTERED
    ):
        clusters = _clusters(points[rows], counts[rows], size, round(span * RESOLUTION))
        block[rows] = clusters + n_blocks
        n_blocks += int(clusters.max()) + 1
    return block[inverse.ravel()]


def vector_bins(summary: Floats, n_bins: int) -> Codes:
    """Group contexts into bins of nearly equal size.

    The fullest bin is split at the median of its widest column until there are enough.

    Parameters
    ----------
    summary : ndarray, shape (n_contexts, n_columns)
        One row per context.
    n_bins : int
        Bins wanted; there are fewer where rows tie.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Bin of each context.
    """
    points, inverse, counts = np.unique(
        as_levels(summary), axis=0, return_inverse=True, return_counts=True
    )
    bins = np.empty(len(points), dtype=np.int64)
    for number, rows in enumerate(_cells(points, counts, n_bins, counts, 1)):
        bins[rows] = number
    return bins[inverse.ravel()]
