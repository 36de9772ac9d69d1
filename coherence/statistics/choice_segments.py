"""Ranges of belief in which choices are alike, found from beliefs and choices alone.

Choices of a deterministic agent change in steps: between two thresholds all contexts choose alike
or follow something else than the belief. Blocks of contexts that straddle a step mix contexts that
choose for different reasons, and what such a block shows of the dependence is too small. Steps are
found by binary segmentation (Vostrikova 1981), a split where the likelihood of the choices gains
more than half the parameters times the logarithm of the number of contexts (Schwarz 1978).
Realised states play no part, so that exchanges of states within ranges keep their level.
"""

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import RESOLUTION, as_levels
from coherence.statistics.resample import BLOCK_SPAN, context_blocks

MOST_SEGMENTS = 10
FEWEST_CONTEXTS = 5  # of a segment: fewer are hardly exchanged
TINY = 1e-9  # of a row: less than this is what rounding leaves of an empty cell


def _likelihood(counts: Floats) -> Floats:
    """Multinomial log likelihood of rows of counts at their own shares, over the last axis."""
    some = counts > TINY
    share = counts / np.maximum(counts.sum(axis=-1, keepdims=True), TINY)
    return np.asarray((np.where(some, counts, 0.0) * np.log(np.where(some, share, 1.0))).sum(-1))


def _best_split(chosen: Floats, contexts: Codes, start: int, stop: int) -> tuple[float, int]:
    """Gain and position of the best split of levels `start` to `stop`; -inf where there is none.

    `chosen` and `contexts` are running sums over levels, from none to all.
    """
    cuts = np.arange(start + 1, stop)
    held = contexts[cuts] - contexts[start], contexts[stop] - contexts[cuts]
    cuts = cuts[np.minimum(*held) >= FEWEST_CONTEXTS]
    if cuts.size == 0:
        return -np.inf, start
    gain = _likelihood(chosen[cuts] - chosen[start]) + _likelihood(chosen[stop] - chosen[cuts])
    best = int(np.argmax(gain))
    return float(gain[best] - _likelihood(chosen[stop] - chosen[start])), int(cuts[best])


def choice_segments(summary: Floats, chosen: Floats) -> Codes:
    """Cut the range of belief where the shares of actions change.

    Parameters
    ----------
    summary : ndarray, shape (n_contexts,)
        Belief of each context.
    chosen : ndarray, shape (n_contexts, n_actions)
        How often each context chose each action, or the sums of their probabilities.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Segment of each context, numbered from 0 in the order of belief. Equal beliefs share one.
    """
    levels, level_of, counts = np.unique(
        as_levels(summary), return_inverse=True, return_counts=True
    )
    by_level = [np.bincount(level_of, weights=column) for column in chosen.T]
    running = np.zeros((levels.size + 1, chosen.shape[1]))
    running[1:] = np.cumsum(np.stack(by_level, axis=1), axis=0)
    contexts = np.concatenate(([0], np.cumsum(counts)))
    # Rows of a context may all be one choice: likelihoods count them in full, the bar as one.
    rows_per_context = chosen.sum() / len(chosen)
    enough = (chosen.shape[1] - 1) / 2 * np.log(len(chosen)) * rows_per_context
    edges = [0, levels.size]
    splits = [_best_split(running, contexts, 0, levels.size)]
    while len(splits) < MOST_SEGMENTS:
        best = int(np.argmax([gain for gain, _ in splits]))
        gain, cut = splits[best]
        if gain <= enough:
            break
        edges.insert(best + 1, cut)
        splits[best : best + 1] = [
            _best_split(running, contexts, *edges[part : part + 2]) for part in (best, best + 1)
        ]
    return np.searchsorted(edges, level_of, side="right") - 1


def segment_blocks(summary: Floats, segments: Codes) -> Codes:
    """Group contexts of similar belief into blocks that straddle no segment.

    Parameters
    ----------
    summary : ndarray, shape (n_contexts,)
        Belief of each context.
    segments : ndarray of int, shape (n_contexts,)
        Segment of each context, numbered from 0.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Block of each context; within a segment they are those of
        `coherence.statistics.resample.context_blocks`, save that a last context left over joins
        the block before it where that stays narrow.
    """
    blocks = np.empty(summary.size, dtype=np.int64)
    n_blocks = 0
    for segment in range(int(segments.max()) + 1):
        members = np.flatnonzero(segments == segment)
        inside = context_blocks(summary[members])
        last = int(inside.max())
        levels = as_levels(summary[members])
        alone = np.count_nonzero(inside == last) == 1
        if alone and np.ptp(levels[inside >= last - 1]) <= round(BLOCK_SPAN * RESOLUTION):
            inside[inside == last] = max(last - 1, 0)
        blocks[members] = inside + n_blocks
        n_blocks += int(inside.max()) + 1
    return blocks


def segment_bins(centres: Floats, segments: Codes, n_bins: int) -> Codes:
    """Split segments at their medians until there are enough bins.

    Parameters
    ----------
    centres : ndarray, shape (n_contexts,)
        Belief of each context; equal values stay together.
    segments : ndarray of int, shape (n_contexts,)
        Segment of each context.
    n_bins : int
        Bins wanted; there are fewer where beliefs tie, and more where segments are more.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Bin of each context, in the order of belief.
    """
    bins = [np.flatnonzero(segments == code) for code in range(int(segments.max()) + 1)]
    whole: list[Codes] = []
    while bins and len(bins) + len(whole) < n_bins:
        members = bins.pop(int(np.argmax([rows.size for rows in bins])))
        values, counts = np.unique(centres[members], return_counts=True)
        if values.size < 2:
            whole.append(members)
            continue
        # The cut that leaves the number of contexts on both sides most alike.
        cut = int(np.argmin(np.abs(np.cumsum(counts)[:-1] - members.size / 2)))
        below = centres[members] <= values[cut]
        bins += [members[below], members[~below]]
    codes = np.empty(centres.size, dtype=np.int64)
    for code, members in enumerate(sorted(bins + whole, key=lambda rows: float(centres[rows[0]]))):
        codes[members] = code
    return codes
