"""Ranks of several estimates from one set of contexts, with all that chance may have made of them.

Mogstad, Romano, Shaikh and Wilhelm (2024): a model's rank lies between one more than the number of
models that are surely below it and the number of those that are not surely above. "Surely" holds
for all pairs at once, by the stepdown of Romano and Wolf (2005) over the one-sided comparisons of
all ordered pairs, whose joint distribution is normal with the covariance that shared contexts give.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.mean_interval import difference_interval, difference_pvalue

N_DRAWS = 9_999
LEVEL = 0.95


@dataclass(frozen=True)
class Pairs:
    """Differences of all pairs of columns, first less second."""

    # first, second: shape (n_pairs,): columns
    first: Codes
    second: Codes
    # difference, low, high: shape (n_pairs,): mean difference and the ends of its own 95% interval;
    # NaN where no context shows how far off it may be
    difference: Floats
    low: Floats
    high: Floats
    pvalue: Floats  # shape (n_pairs,): of no difference, each alone; NaN where no context differs
    pvalue_ranks: Floats  # shape (n_pairs,): adjusted for all pairs

    def apart(self, *, level: float = LEVEL) -> set[tuple[int, int]]:
        """Return the pairs that are told apart, the lower column first."""
        sure = np.flatnonzero(self.pvalue_ranks <= 1 - level)
        both = [(int(self.first[pair]), int(self.second[pair])) for pair in sure]
        return {
            (a, b) if self.difference[pair] < 0 else (b, a)
            for pair, (a, b) in zip(sure, both, strict=True)
        }


def compare_pairs(values: Floats, rng: np.random.Generator, *, n_draws: int = N_DRAWS) -> Pairs:
    """Compare the means of several columns with rows in common.

    Assumes independent contexts; what models share in a context may depend in any way. Each pair is
    tested alone by `coherence.statistics.mean_interval.difference_pvalue`, which allows for skewed
    and heavy-tailed differences; the joint distribution of the normal scores of these p-values is
    taken as normal, with the correlations of the differences.

    Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with applications to mobility
    across neighbourhoods and academic achievement across countries, Review of Economic Studies
    91(1); Romano and Wolf (2005), JASA 100(469), for the stepdown.
    """
    first, second = np.triu_indices(values.shape[1], 1)
    return _compare(values, first, second, rng, n_draws)


def sizes_apart(
    values: Floats, rng: np.random.Generator, *, n_draws: int = N_DRAWS
) -> set[tuple[int, int]]:
    """Return the pairs whose means are surely not equally far from 0, the closer one first.

    Two means are equally far from 0 where they are equal or opposite: both are tested, in one
    stepdown over all differences and sums, and both have to be rejected (an intersection-union
    test).
    """
    n_models = values.shape[1]
    first, second = np.triu_indices(n_models, 1)
    both = _compare(
        np.hstack([values, -values]),
        np.tile(first, 2),
        np.concatenate([second, second + n_models]),
        rng,
        n_draws,
    )
    distance = np.abs(values.mean(axis=0))
    # Of equal or opposite columns one p-value is NaN, and so is the larger.
    pvalue = np.maximum(*np.split(both.pvalue_ranks, 2))
    return {
        (int(a), int(b)) if distance[a] < distance[b] else (int(b), int(a))
        for a, b, sure in zip(first, second, pvalue <= 1 - LEVEL, strict=True)
        if sure
    }


def _compare(
    values: Floats, first: Codes, second: Codes, rng: np.random.Generator, n_draws: int
) -> Pairs:
    differences = values[:, first] - values[:, second]
    columns = list(differences.T)
    pvalue = np.array([difference_pvalue(column) for column in columns])
    difference = np.where(np.isnan(pvalue), 0.0, differences.mean(axis=0))
    intervals = [difference_interval(column) for column in columns]
    low, high = np.array(
        [(np.nan, np.nan) if each is None else (each.low, each.high) for each in intervals]
    ).T
    score = np.sign(difference) * stats.norm.isf(
        np.fmin(np.where(np.isnan(pvalue), 1, pvalue) / 2, 0.5)
    )
    centred = values - values.mean(axis=0)
    spread = np.sqrt(((centred[:, first] - centred[:, second]) ** 2).sum(axis=0))
    # Drawn by model, so that differences depend on each other as those of the data do.
    root = np.linalg.qr(centred, mode="r")
    drawn = rng.standard_normal((n_draws, len(root))) @ root
    moved = spread > 1e-12 * max(1.0, float(np.abs(values).max()))
    of_pairs = (drawn[:, first] - drawn[:, second]) / np.where(moved, spread, np.inf)
    return Pairs(
        first, second, difference, low, high, pvalue, _stepdown(score, of_pairs, np.isnan(pvalue))
    )


def _stepdown(score: Floats, drawn: Floats, nothing: Codes) -> Floats:
    """Adjust for both directions of all pairs; once one direction is sure, the other one stays."""
    order = np.argsort(-np.abs(score), kind="stable")
    adjusted = np.full(score.size, np.nan)
    # From the end of the order: what is left of the comparisons when a pair's turn comes.
    largest = np.full(len(drawn), -np.inf)
    against = np.full(len(drawn), -np.inf)
    signed = drawn[:, order] * -np.where(score[order] < 0, -1.0, 1.0)
    # Opposite directions of the pairs before this one.
    opposite = np.maximum.accumulate(np.column_stack([against, signed[:, :-1]]), axis=1)
    for place in range(score.size - 1, -1, -1):
        pair = order[place]
        largest = np.maximum(largest, np.abs(drawn[:, pair]))
        reached = np.maximum(largest, opposite[:, place]) >= abs(score[pair]) - 1e-12
        adjusted[pair] = (1 + np.count_nonzero(reached)) / (1 + len(drawn))
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return np.where(nothing, np.nan, adjusted)


def rank_intervals(n_models: int, apart: set[tuple[int, int]]) -> tuple[Codes, Codes]:
    """Return the lowest and the highest rank that each model may have, 1 for the smallest value."""
    low, high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models)
    for smaller, larger in apart:
        low[larger] += 1
        high[smaller] -= 1
    return low, high


def letters(order: Sequence[int], apart: set[tuple[int, int]]) -> list[str]:
    """Give models letters, of which any two share one unless they are told apart.

    Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons,
    Journal of Computational and Graphical Statistics 13(2).
    """
    groups = [frozenset(order)]
    for pair in sorted(apart):
        split = []
        for group in groups:
            both = set(pair) <= group
            split += [group - {pair[0]}, group - {pair[1]}] if both else [group]
        # A group within another says nothing more.
        groups = [
            group
            for at, group in enumerate(split)
            if not any(group < other for other in split) and group not in split[:at]
        ]
    place = {model: at for at, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[model] for model in group))
    names = [_letter(number) for number in range(len(groups))]
    return [
        "".join(name for name, group in zip(names, groups, strict=True) if model in group)
        for model in sorted(order)
    ]


def _letter(number: int) -> str:
    """Return a to z, then a1 to z1, a2 and so on."""
    again, letter = divmod(number, 26)
    return chr(ord("a") + letter) + (str(again) if again else "")
