"""Heaps of reports: values that stand for more than the step of their scale, as 50 when unsure.

Reports that miss round numbers by a hair, as those of a slider do, are these numbers.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coherence.errors import listing
from coherence.inputs import Codes, Floats
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.permutation import Contexts
from coherence.statistics.sequences import layout_of, too_few_neighbours

NEAR_A_HEAP, IN_A_HEAP = 0.15, 6  # distance in belief; fewest cases
HEAP, TIMES_OTHERS, TIMES_GAPS = 0.04, 3.0, 4.0  # share of cases; multiples of medians
BY_CHANCE = 0.01  # probability of any such heap where beliefs fall on values by chance (Poisson)


def in_heaps(belief: Floats) -> NDArray[np.bool_]:
    """Tell which beliefs stand for more than the step of their scale.

    Of at least 4% and 6 of them, and three times as frequent as what most others nearby say, or as
    all others and alone in a hole; more frequent than the mean of the others allows by chance.
    """
    values, of, counts = np.unique(np.round(belief, 6), return_inverse=True, return_counts=True)
    heap, inner = np.zeros(len(values), dtype=bool), np.diff(values)
    for at in np.flatnonzero(counts >= max(IN_A_HEAP, HEAP * len(belief))):
        away = np.abs(values - values[at])
        near = (away > 0) & (away < NEAR_A_HEAP + 1e-9)
        # As frequent as the value that half of the cases nearby say or exceed.
        among = near.sum() >= 3 and counts[at] >= TIMES_OTHERS * np.median(
            np.repeat(counts[near], counts[near])
        )
        alone = len(values) > 3 and counts[at] >= TIMES_OTHERS * np.median(counts)
        alone = alone and away[away > 0].min() >= TIMES_GAPS * np.median(inner)
        if among or alone:
            mean = np.mean(counts[near] if among else np.delete(counts, at))
            heap[at] = stats.poisson.sf(counts[at] - 1, mean) * len(values) < BY_CHANCE
    return np.asarray(heap[of.ravel()])


STEPS, HAIRS = (0.05, 0.1, 0.25), (0.005, 0.01, 0.02)  # of scales; how far numbers are missed
ENDS = 0.02  # left out, where beliefs may be dense
MISSED, A_HAIR = 0.01, 0.4  # chance of any so dense; of the way to the next, how far at most
OFF_CENTRE = 4.0  # standard errors of the mean distance, with its sign


def round_numbers(belief: Floats, context: Codes) -> tuple[Floats, bool]:
    """Take cases for the round numbers that their mean reports miss by a hair; also tell whether.

    Along any smooth density as many mean reports lie within a hair of a number as between one and
    two hairs away. Where more do than chance allows, and on average on it, around one number or
    around all multiples of a step together, reports of cases within two hairs are taken for it.
    """
    mean = np.bincount(context, belief) / np.bincount(context)
    inner = (mean > ENDS) & (mean < 1 - ENDS) & ~multiples(mean, STEPS[0])
    # Values finer than percents that come again are those of equal evidence.
    finer = np.bincount(context, ~multiples(belief, 0.01)) > 0
    missing = np.append(np.unique(mean[inner & finer]), mean[inner & ~finer])
    numbers = np.round(STEPS[0] * np.arange(round(1 / STEPS[0]) + 1), 9)
    around = [(np.array([number]), math.inf) for number in numbers]
    around += [(numbers[multiples(numbers, step)], step) for step in STEPS]
    chance = MISSED / (len(around) * len(HAIRS))
    missed, reach, least = np.zeros(0), 0.0, 1.0
    for of, step in around:
        for hair in HAIRS:
            whole = of[np.abs(of - 0.5) <= 0.5 - ENDS - 2 * hair + 1e-9]  # no band is cut off
            if hair > step / 4 or not len(whole):
                continue
            away = missing - whole[np.abs(missing[:, None] - whole).argmin(axis=1)]
            by_chance = _chance_of(away, hair)
            if by_chance < chance and _centred(away, hair):
                missed = np.union1d(missed, of)
                if by_chance < least:
                    reach, least = 2 * hair, by_chance
    if not len(missed):
        return belief, False
    reach = min(reach, A_HAIR * float(np.diff(missed, append=math.inf).min()))
    nearest = missed[np.abs(mean[:, None] - missed).argmin(axis=1)]
    taken = np.abs(mean - nearest) <= reach + 1e-9
    if not np.ptp(np.where(taken, nearest, mean)):  # all beliefs lie close together
        return belief, False
    rounded = np.where(taken[context], nearest[context], belief)
    return rounded, bool((rounded != belief).any())


def _chance_of(away: Floats, hair: float) -> float:
    """Return the chance that of values within two hairs so many lie within one."""
    within, beyond = ((np.abs(away) <= times * hair + 1e-9).sum() for times in (1, 2))
    return float(stats.binom.sf(within - 1, beyond, 0.5))


def _centred(away: Floats, hair: float) -> bool:
    """Tell whether values lie around a number, and are not merely dense in its neighbourhood."""
    near = away[np.abs(away) <= 2 * hair + 1e-9]
    return bool(abs(near.mean()) <= OFF_CENTRE * near.std() / np.sqrt(len(near)))


def multiples(belief: Floats, step: float) -> NDArray[np.bool_]:
    """Tell which beliefs are multiples of a step."""
    return np.asarray(np.abs(belief / step - np.round(belief / step)) < 1e-6)


MOSTLY, REPEATED = 0.5, 3  # share of whole percents; cases a value of a scale of words


def unrounded(data: EvaluationData, belief: Floats) -> bool:
    """Tell whether beliefs were computed, finer than whole percents, and hardly repeat."""
    few = REPEATED * len(np.unique(np.round(belief, 6))) > len(belief)
    return data.computed and few and float(multiples(belief, 0.01).mean()) < MOSTLY


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
    heap = in_heaps(contexts.belief)
    kept = contexts.subset(~heap)
    apart = not (heap.any() and too_few_neighbours(layout_of(kept.belief, kept.group)))
    return (kept if apart else contexts), heap, apart


def said_by_many(belief: Floats, n: int) -> str:
    """Say how many of n cases have these beliefs, which stand for more than their step."""
    said = [f"{100 * value:g}%" for value in np.unique(np.round(belief, 6))]
    values = said[0] if len(said) == 1 else f"one of {listing(said)}"
    stand = "stands for more than its step" if len(said) == 1 else "stand for more than their step"
    return f"{len(belief)} of {n} cases say {values}, which {stand}"
