"""Heaps of reports: values that stand for more than the step of their scale, as 50 when unsure.

Reports that miss round numbers by a hair, as those of a slider do, are these numbers.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.difference_sequences import layout_of, too_few_neighbours
from coherence.statistics.evaluation import EvaluationData, one_dimensional
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


STEPS, ENDS = (0.05, 0.1, 0.25), 0.05  # of scales; left out, where beliefs may be dense
MISSED, A_HAIR = 1e-3, 0.4  # chance of so many that lie near; of a step, how far those that are
SEVERAL = 2  # numbers that are missed, from which all are, the ends too
OFF_CENTRE = 3.0  # standard errors of the mean distance, with its sign


def round_numbers(belief: Floats, context: Codes) -> tuple[Floats, bool]:
    """Take reports for the round numbers that they miss by a hair; also tell whether any do.

    Of contexts' middle reports, where finer than whole percents, half lie within a quarter of a
    step around multiples of it, along any smooth density. Where more do than chance allows, and on
    average on it, around several multiples, all reports within .4 of a step are taken for these; of
    the finest step also around all multiples together, or around one, for which they are taken.
    """
    ordered, sizes = belief[np.lexsort((belief, context))], np.bincount(context)
    below, above = (ordered[np.cumsum(sizes) - sizes + at // 2] for at in (sizes - 1, sizes))
    # Of two middle ones that nearer to one half, so that a belief in the other state is the same.
    middle = np.where(np.abs(below - 0.5) <= np.abs(above - 0.5), below, above)
    # Values that come again are not missed by chance: they are those of equal evidence.
    middle = np.unique(middle[(middle > ENDS) & (middle < 1 - ENDS) & ~in_percents(middle)])
    for step in STEPS:
        at = np.round(middle / step).astype(np.int64)
        found = np.zeros(round(1 / step) + 1, dtype=bool)
        for number in np.unique(at):
            found[number] = _missed(middle[at == number], step, MISSED / len(found))
        several = found.sum() >= SEVERAL
        if step == STEPS[0]:
            several |= _missed(middle[~found[at]], step, MISSED)
        if several or (step == STEPS[0] and found.any()):
            found |= several
            at = np.round(belief / step).astype(np.int64)
            nearest = np.round(step * at, 9)
            taken = found[at] & (np.abs(belief - nearest) <= A_HAIR * step) & ~in_percents(belief)
            return np.where(taken, nearest, belief), bool(taken.any())
    return belief, False


def _missed(values: Floats, step: float, chance: float) -> bool:
    """Tell whether values lie nearer to multiples of a step than chance allows, and around them.

    Beliefs that all lie close together are dense there, but hardly around a round number.
    """
    away = values / step - np.round(values / step)
    if stats.binom.sf((np.abs(away) <= 0.25).sum() - 1, len(away), 0.5) >= chance:
        return False
    return bool(abs(away.mean()) <= OFF_CENTRE * away.std() / np.sqrt(len(away)))


def in_percents(belief: Floats) -> NDArray[np.bool_]:
    """Tell which beliefs are whole percents."""
    return np.asarray(np.abs(100 * belief - np.round(100 * belief)) < 1e-6)


MOSTLY, REPEATED = 0.5, 3  # share of whole percents; cases a value of a scale of words


def unrounded(data: EvaluationData, belief: Floats) -> bool:
    """Tell whether beliefs were computed, finer than whole percents, and hardly repeat."""
    few = REPEATED * len(np.unique(np.round(belief, 6))) > len(belief)
    return data.computed and few and float(in_percents(belief).mean()) < MOSTLY


def in_round_numbers(data: EvaluationData) -> tuple[EvaluationData, bool]:
    """Take beliefs in one of two states for `round_numbers`; also tell whether any are.

    These are rounded, even if they were computed.
    """
    belief, taken = round_numbers(one_dimensional(data, "sufficiency_test"), data.context)
    return (replace(data, belief=belief, computed=False) if taken else data), taken


def outside_heaps(
    data: EvaluationData, contexts: Contexts
) -> tuple[Contexts, NDArray[np.bool_], bool]:
    """Leave contexts in heaps out where enough others are left; also tell which, and whether."""
    heap = in_heaps(contexts.belief) & (not unrounded(data, contexts.belief))
    kept = contexts.subset(~heap)
    apart = not (heap.any() and too_few_neighbours(layout_of(kept.belief, kept.group)))
    return (kept if apart else contexts), heap, apart
