"""What knows contexts: permutations, bootstraps, jackknife groups and folds never split one.

Repetitions of a context share the evidence, the realised state and whatever else the model makes of
it, so the context is the unit of resampling everywhere (Cameron and Miller 2015, section III).
"""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from coherence.inputs import Codes, Floats
from coherence.statistics.grouping import vector_blocks
from coherence.statistics.knn import RESOLUTION, as_levels

Seed = np.random.Generator | int | None

BLOCK_SIZE = 8  # contexts per permutation block where beliefs do not tie
VECTOR_BLOCK_SIZE = 4  # the same in several columns, where as many contexts would spread wider
NUMBERS_HELD = 2_000_000  # numbers of resamples that are in memory together
EXCHANGED_STATES = 200_000  # states in a portion of exchanges
BLOCK_SPAN = 0.1  # widest difference in belief within a block that joins different beliefs


def as_generator(rng: Seed) -> np.random.Generator:
    """Return a generator for a seed, a generator or None (fresh entropy)."""
    try:
        if isinstance(rng, bool):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            "rng must be None, a whole number of at least 0 or a numpy.random.Generator; received "
            f"{rng!r}."
        ) from None


def permutation_pvalue(observed: float, permuted: Floats, *, exact: bool = False) -> float:
    """Return (1 + b) / (1 + B), where b of B permuted values are at least the observed one.

    Parameters
    ----------
    observed : float
        Statistic on the data; large values speak against the null.
    permuted : ndarray
        Statistic on permuted data.
    exact : bool
        `permuted` holds every arrangement, the observed one included, so that the p-value is the
        plain share b / B.

    Returns
    -------
    float
        p-value; never 0 (Phipson and Smyth 2010).
    """
    # Equal statistics differ in the last bits when they are summed in another order.
    margin = 1e-12 * max(1.0, abs(observed))
    as_large = np.count_nonzero(permuted >= observed - margin)
    return float(as_large / permuted.size if exact else (1 + as_large) / (1 + permuted.size))


def combined_pvalue(
    observed: Floats, permuted: Floats, weights: Floats, *, exact: bool = False
) -> float:
    """Combine several statistics of the same permutations into one p-value.

    Every arrangement, the observed one among them, is scored by the weighted sum over statistics of
    1 / sqrt(share of arrangements whose statistic is at least as large). That lies between Fisher's
    sum of logarithms, which a few statistics without evidence drown, and the smallest share, which
    makes nothing of several that agree. The score is itself ranked among the arrangements, so that
    the level is exact however the statistics depend on each other.

    Parameters
    ----------
    observed : ndarray, shape (n_statistics,)
        Statistics on the data; large values speak against the null.
    permuted : ndarray, shape (n_permutations, n_statistics)
        Statistics on permuted data.
    weights : ndarray, shape (n_statistics,)
        Weights, positive.
    exact : bool
        `permuted` holds every arrangement, the observed one included.

    Returns
    -------
    float
        p-value; never 0.

    References
    ----------
    Vovk and Wang (2020), Combining p-values via averaging, for means of powers; Pesarin and Salmaso
    (2010), Permutation Tests for Complex Data, section 4.2, for the ranking.
    """
    every = permuted if exact else np.concatenate([observed[None], permuted])
    scores: Floats = np.zeros(1 + len(permuted))
    for column, weight in enumerate(weights):
        values = np.concatenate([observed[None, column], permuted[:, column]])
        # The same margin for ties as in `permutation_pvalue`.
        reached = values - 1e-12 * np.maximum(1.0, np.abs(values))
        below = np.searchsorted(np.sort(every[:, column]), reached, side="left")
        scores += weight / np.sqrt(1.0 - below / len(every))
    return permutation_pvalue(float(scores[0]), scores[1:], exact=exact)


def context_sums(values: Floats, context: Codes, n_contexts: int) -> Floats:
    """Sum row values by context, shape (n_contexts,)."""
    return np.bincount(context, weights=values, minlength=n_contexts).astype(np.float64)


def context_means(values: Floats, context: Codes, n_contexts: int) -> Floats:
    """Average row values by context, shape (n_contexts,)."""
    sizes: Floats = np.bincount(context, minlength=n_contexts).astype(np.float64)
    return context_sums(values, context, n_contexts) / sizes


def context_blocks(summary: Floats, *, size: int | None = None, span: float = BLOCK_SPAN) -> Codes:
    """Group contexts of similar belief into blocks within which they may be exchanged.

    Contexts with equal belief always share a block. Neighbouring beliefs are joined until a block
    holds `size` contexts, as long as it stays narrower than `span`; an isolated context keeps a
    block of its own and is never moved. Rows of several columns are grouped by
    `coherence.statistics.grouping.vector_blocks`, narrower than `span` in every column.

    Parameters
    ----------
    summary : ndarray, shape (n_contexts,) or (n_contexts, n_columns)
        One belief, or one row of beliefs and features, per context.
    size : int, optional
        Contexts wanted in a block: 8 by default, 4 in several columns.
    span : float
        Largest difference of beliefs within a block.

    Returns
    -------
    ndarray of int, shape (n_contexts,)
        Block of each context.
    """
    if summary.ndim == 2:
        return vector_blocks(summary, size=size or VECTOR_BLOCK_SIZE, span=span)
    size = size or BLOCK_SIZE
    values, level_of, counts = np.unique(
        as_levels(summary), return_inverse=True, return_counts=True
    )
    widest = round(span * RESOLUTION)
    block_of_level = np.empty(values.size, dtype=np.int64)
    block, start, n_held = 0, 0, 0
    for position, value in enumerate(values):
        # A level that fills a block by itself starts one: joined to its neighbours, contexts of
        # equal belief would be exchanged with others for nothing.
        full = n_held >= size or counts[position] >= size
        if n_held and (full or value - values[start] > widest):
            block, start, n_held = block + 1, position, 0
        block_of_level[position] = block
        n_held += int(counts[position])
    return block_of_level[level_of]


def count_arrangements(blocks: Codes, state: Codes, limit: int) -> int:
    """Count the distinct arrangements of states that permutations within blocks can reach.

    Parameters
    ----------
    blocks, state : ndarray of int, shape (n_contexts,)
        Block and state of each context.
    limit : int
        Counting stops once this number is exceeded.

    Returns
    -------
    int
        Product over blocks of the multinomial coefficients, the observed arrangement included; some
        number above `limit` if it is larger.
    """
    table = np.zeros((int(blocks.max()) + 1, int(state.max()) + 1), dtype=np.int64)
    np.add.at(table, (blocks, state), 1)
    total = 1
    for counts in table:
        # A multinomial coefficient as a product of binomials, one state after the other.
        placed = 0
        for count in counts:
            placed += int(count)
            total *= math.comb(placed, int(count))
        if total > limit:
            break
    return total


def _orders(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """Every distinct sequence in which code i occurs ``counts[i]`` times."""
    if not any(counts):
        yield ()
    for code, count in enumerate(counts):
        if count:
            rest = [*counts[:code], count - 1, *counts[code + 1 :]]
            yield from ((code, *tail) for tail in _orders(rest))


def _all_arrangements(blocks: Codes, state: Codes) -> Codes:
    """Sources of every distinct arrangement, in lexicographic order of the states within blocks."""
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    fixed = [rows for rows in members if np.unique(state[rows]).size == 1]
    mixed = [rows for rows in members if np.unique(state[rows]).size > 1]
    base = np.empty(blocks.size, dtype=np.int64)
    for rows in fixed:
        base[rows] = rows
    choices = []
    for rows in mixed:
        # Contexts of equal state are interchangeable: any of them may give it, each one once.
        givers = rows[np.argsort(state[rows], kind="stable")]
        sources = []
        for order in _orders(np.bincount(state[rows]).tolist()):
            source = np.empty(rows.size, dtype=np.int64)
            source[np.argsort(order, kind="stable")] = givers
            sources.append(source)
        choices.append(sources)
    arrangements = []
    for chosen in product(*choices):
        arrangement = base.copy()
        for rows, source in zip(mixed, chosen, strict=True):
            arrangement[rows] = source
        arrangements.append(arrangement)
    return np.array(arrangements)


def permute_contexts(
    blocks: Codes, n_permutations: int, rng: np.random.Generator, *, state: Codes | None = None
) -> Codes:
    """Draw permutations that move contexts only within their block, or list all if few.

    Parameters
    ----------
    blocks : ndarray of int, shape (n_contexts,)
        Block of each context.
    n_permutations : int
        Number of draws.
    rng : Generator
        Source of randomness; not used when arrangements are listed.
    state : ndarray of int, shape (n_contexts,), optional
        What is moved. If given, and if it has at most `n_permutations` distinct arrangements within
        blocks (`count_arrangements`), each arrangement is returned exactly once, the observed one
        included; the p-value is then the share of them (``exact=True`` in `permutation_pvalue`),
        because all are equally likely under the null.

    Returns
    -------
    ndarray of int, shape (n_permutations or number of arrangements, n_contexts)
        Row b holds, for each context, the context whose state it receives.
    """
    if state is not None and count_arrangements(blocks, state, n_permutations) <= n_permutations:
        return _all_arrangements(blocks, state)
    home = np.argsort(blocks, kind="stable")
    # Sorting random keys that carry the block number shuffles every block at once.
    keys = rng.random((n_permutations, blocks.size)) + blocks[home]
    permuted = np.empty((n_permutations, blocks.size), dtype=np.int64)
    permuted[:, home] = home[np.argsort(keys, axis=1)]
    return permuted


def exchanged_states(
    blocks: Codes, state: Codes, n_permutations: int, rng: np.random.Generator
) -> Iterator[Codes]:
    """Exchange states within blocks, in portions that a cache holds; list all if they are few.

    Parameters
    ----------
    blocks, state : ndarray of int, shape (n_contexts,)
        Block and state of each context.
    n_permutations : int
        Number of draws. If there are no more distinct arrangements than that, each of them comes
        once, the observed one included, as in `permute_contexts`.
    rng : Generator
        Source of randomness; not used when arrangements are listed.

    Yields
    ------
    ndarray of int, shape (n_portion, n_contexts)
        Arrangements of the states.
    """
    if count_arrangements(blocks, state, n_permutations) <= n_permutations:
        yield state[_all_arrangements(blocks, state)]
        return
    home = np.argsort(blocks, kind="stable")
    # One sort of whole numbers shuffles every block and carries the states along: the block comes
    # first, then random bits, then the state. 40 random bits hardly ever tie.
    state_bits = max(int(state.max()).bit_length(), 1)
    random_bits = 63 - state_bits - int(blocks.max()).bit_length()
    packed = (blocks[home] << (63 - int(blocks.max()).bit_length())) | state[home]
    portion = max(1, EXCHANGED_STATES // blocks.size)
    for start in range(0, n_permutations, portion):
        shape = (min(portion, n_permutations - start), blocks.size)
        keys = rng.integers(0, 1 << random_bits, size=shape) << state_bits
        keys |= packed
        keys.sort(axis=1)
        exchanged = np.empty(shape, dtype=np.int64)
        exchanged[:, home] = keys & ((1 << state_bits) - 1)
        yield exchanged


def jackknife_groups(n_contexts: int, n_groups: int, rng: np.random.Generator) -> Codes:
    """Deal contexts at random into groups of nearly equal size, shape (n_contexts,)."""
    return rng.permutation(np.arange(n_contexts) % min(n_groups, n_contexts))


def jackknife_variance(estimates: Floats) -> float:
    """Delete-a-group jackknife variance from the leave-one-group-out estimates (Kott 2001)."""
    return float((estimates.size - 1) * np.mean((estimates - estimates.mean()) ** 2))


def context_folds(context: Codes, n_contexts: int, n_folds: int, rng: np.random.Generator) -> Codes:
    """Assign every row the fold of its context, contexts dealt at random, shape (n_rows,)."""
    return jackknife_groups(n_contexts, n_folds, rng)[context]


def bootstrap_counts(
    n_contexts: int, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how often each context enters each bootstrap sample, shape (n_resamples, n_contexts)."""
    return rng.multinomial(n_contexts, np.full(n_contexts, 1 / n_contexts), size=n_resamples)


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the central `level` range of bootstrap draws, leaving undefined draws out."""
    low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_ratio(
    numerator: Floats, denominator: Floats, *, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Bootstrap a ratio of sums over contexts.

    Parameters
    ----------
    numerator, denominator : ndarray, shape (n_contexts,)
        Sums of each context.
    n_resamples : int
        Bootstrap samples.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (n_resamples,)
        Resampled ratios.
    """
    portion = max(1, NUMBERS_HELD // numerator.size)
    ratios = []
    for start in range(0, n_resamples, portion):
        counts = bootstrap_counts(numerator.size, min(portion, n_resamples - start), rng)
        ratios.append(np.asarray(counts @ numerator) / np.asarray(counts @ denominator))
    return np.concatenate(ratios)


def sign_flip_pvalue(gaps: Floats, *, n_flips: int, rng: np.random.Generator) -> float:
    """Test two-sidedly that independent gaps have mean zero, by random signs.

    Parameters
    ----------
    gaps : ndarray, shape (n_contexts,)
        One gap per context.
    n_flips : int
        Random sign assignments; all of them are used when there are fewer than that.
    rng : Generator
        Source of the signs.

    Returns
    -------
    float
        p-value; NaN when every gap is zero.
    """
    gaps = gaps[np.abs(gaps) > 1e-12]  # a zero gap is unchanged by its sign; rounding makes none
    if gaps.size == 0:
        return float("nan")
    # The sum of squares is the same for every flip, so |sum| orders them as the studentised mean.
    observed = abs(float(gaps.sum()))
    if 2**gaps.size <= n_flips:  # row i spells the signs of assignment i in binary
        bits = np.arange(2**gaps.size)[:, None] >> np.arange(gaps.size)
        flipped = np.abs((1.0 - 2.0 * (bits & 1)) @ gaps)
        return float(np.mean(flipped >= observed * (1 - 1e-12)))
    portion = max(1, NUMBERS_HELD // gaps.size)
    sums = []
    for start in range(0, n_flips, portion):
        size = min(portion, n_flips - start), gaps.size
        sums.append(np.abs(rng.choice([-1.0, 1.0], size=size) @ gaps))
    return permutation_pvalue(observed, np.concatenate(sums))
