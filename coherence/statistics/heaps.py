"""Heaps of reports: values that stand for more than the step of their scale, as 50 when unsure."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coherence.inputs import Floats
from coherence.statistics.difference_sequences import layout_of, too_few_neighbours
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.permutation import Contexts

NEAR_A_HEAP, IN_A_HEAP = 0.15, 6  # distance in belief; fewest cases
HEAP, TIMES_OTHERS, TIMES_GAPS = 0.08, 3.0, 4.0  # share of cases; multiples of medians
BY_CHANCE = 0.01  # probability of any such heap where beliefs fall on values by chance (Poisson)


def in_heaps(belief: Floats) -> NDArray[np.bool_]:
    """Tell which beliefs stand for more than the step of their scale.

    Of at least 8% and 6 of them, and three times as frequent as others nearby, or as all others and
    alone in a hole; more frequent than the mean of the others allows by chance.
    """
    values, of, counts = np.unique(np.round(belief, 6), return_inverse=True, return_counts=True)
    heap, inner = np.zeros(len(values), dtype=bool), np.diff(values)
    for at in np.flatnonzero(counts >= max(IN_A_HEAP, HEAP * len(belief))):
        away = np.abs(values - values[at])
        near = (away > 0) & (away < NEAR_A_HEAP + 1e-9)
        among = near.sum() >= 3 and counts[at] >= TIMES_OTHERS * np.median(counts[near])
        alone = len(values) > 3 and counts[at] >= TIMES_OTHERS * np.median(counts)
        alone = alone and away[away > 0].min() >= TIMES_GAPS * np.median(inner)
        if among or alone:
            mean = np.mean(counts[near] if among else np.delete(counts, at))
            heap[at] = stats.poisson.sf(counts[at] - 1, mean) * len(values) < BY_CHANCE
    return np.asarray(heap[of.ravel()])


MOSTLY, REPEATED = 0.5, 3  # share of whole percents; cases a value of a scale of words


def unrounded(data: EvaluationData, belief: Floats) -> bool:
    """Tell whether beliefs were computed, finer than whole percents, and hardly repeat."""
    percents = np.abs(100 * belief - np.round(100 * belief)) < 1e-6
    few = REPEATED * len(np.unique(np.round(belief, 6))) > len(belief)
    return data.computed and few and float(percents.mean()) < MOSTLY


def outside_heaps(
    data: EvaluationData, contexts: Contexts
) -> tuple[Contexts, NDArray[np.bool_], bool]:
    """Leave contexts in heaps out where enough others are left; also tell which, and whether."""
    heap = in_heaps(contexts.belief) & (not unrounded(data, contexts.belief))
    kept = contexts.subset(~heap)
    apart = not (heap.any() and too_few_neighbours(layout_of(kept.belief, kept.group)))
    return (kept if apart else contexts), heap, apart
