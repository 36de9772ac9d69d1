"""One null for belief sufficiency: realised states are exchangeable at equal belief.

Whole contexts trade their states with contexts of like belief (Runge 2018, local permutation, with
the context as the cluster), within their group where one is named. What is computed on each
arrangement is up to the test. Assumes that nothing but the state is lost by the trade: within a
block the chance of a state is about the same.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import xlogy

from coherence.inputs import MIN_CONTEXTS, Codes, Floats, to_nine_decimals
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.knn import RESOLUTION, as_levels
from coherence.statistics.resample import LONGER, context_means, near_level

BLOCK = 4  # contexts that a block of different beliefs holds at the least
# Ways of cutting beliefs into blocks, over which p-values are averaged, half of them from either
# end: whether a belief is that of a state or of its absence must not matter.
CUTS = 4
WIDEST = 0.1  # difference in belief between neighbours beyond which they are not joined
NEIGHBOURS = 32  # of a context, among which those of its block are looked for
# States in a batch of arrangements, which a cache holds, and arrangements of many contexts.
BATCH, FEWEST = 200_000, 32
WINDOW_SHARE, WINDOW = 0.3, 8  # contexts of a window, as a share of all and at the least
CENTRES = 60  # contexts about which windows lie, spread evenly over all of them
QUARTERS = 4


@dataclass(frozen=True)
class Contexts:
    """One row per context, in an order that their contents give: no name or row order enters."""

    belief: Floats  # shape (n_contexts,) or (n_contexts, n_states): mean over repetitions
    share: Floats  # shape (n_contexts, n_actions): mean of choices or policies
    state: Codes  # shape (n_contexts,): realised state
    group: Codes | None  # shape (n_contexts,), or None: what contexts share beyond their belief
    order: Codes  # shape (n_contexts,): code of each context in the data
    rows: Codes  # shape (n_contexts,): repetitions
    exact: Floats | None = None  # shape (n_contexts,): exact posterior of the second state

    @property
    def truth(self) -> Floats:
        """The exact posterior where it is given, else the realised state of two, 0 or 1."""
        return self.state.astype(np.float64) if self.exact is None else self.exact

    def subset(self, kept: NDArray[Any]) -> "Contexts":
        """Return some of the contexts, or all in this order."""
        parts: dict[str, Any] = {
            name: None if x is None else x[kept] for name, x in vars(self).items()
        }
        return Contexts(**parts)


def contexts_of(data: EvaluationData) -> Contexts:
    """Gather what each context holds, sorted by beliefs (to 1e-9), choices and states."""
    n = data.n_contexts
    belief = to_nine_decimals(context_means(data.belief, data.context, n))
    if belief.ndim == 2 and belief.shape[1] == 2:
        belief = belief[:, 1]
    share = context_means(data.share, data.context, n)
    state = np.zeros(n, dtype=np.int64)
    state[data.context] = data.truth
    rows = np.bincount(data.context)
    columns = as_levels(belief.reshape(n, -1)).T
    # Labels count by how often they occur and what is believed there, never by their names.
    indicators = state[:, None] == np.arange(len(data.states))
    by_state = np.argsort(_label_order(indicators.astype(np.float64), columns))
    by_action = _label_order(share, columns)
    of_belief = context_means(data.belief**2, data.context, n).reshape(n, -1)
    keys = [*columns, *as_levels(share).T[by_action], by_state[state], rows]
    keys += [*as_levels(of_belief).T]
    exact = None
    if data.exact is not None:
        exact = to_nine_decimals(context_means(data.exact, data.context, n))
        keys.append(as_levels(exact))
    numbers = None if data.group is None else _groups(data.group, keys)
    if numbers is not None and np.unique(numbers).size == n:
        numbers = None  # groups of one context say nothing that contexts do not
    order = np.lexsort(keys[::-1])
    return Contexts(
        belief[order],
        share[order],
        state[order],
        None if numbers is None else numbers[order],
        order,
        rows[order],
        None if exact is None else exact[order],
    )


def _label_order(share: Floats, columns: Codes) -> Codes:
    """Positions of labels by their total, and then by the beliefs at which they occur."""
    totals = as_levels(share.sum(axis=0))
    return np.lexsort([*as_levels(columns / RESOLUTION @ share), -totals])


def _groups(group: Codes, keys: list[Codes]) -> Codes:
    """Number groups by what they hold."""
    sums = [np.bincount(group, weights=key.astype(np.float64)) for key in keys]
    order = np.lexsort([*sums, np.bincount(group)])
    return np.argsort(order)[group]


GROUP_IS_CASE = (
    "each of {n} groups has one state, so that nothing is left to compare within it: the group is "
    "the case. Name it as context (--context), with rep numbered anew within it or left out, and "
    "who judged it as person (--person)"
)


def settled_by_groups(contexts: Contexts) -> str:
    """Say that groups of several contexts have one state each; empty where they do not."""
    if contexts.group is None:
        return ""
    values = contexts.state if contexts.exact is None else as_levels(contexts.exact)
    states = pd.Series(values).groupby(contexts.group).nunique()
    return GROUP_IS_CASE.format(n=len(states)) if len(states) > 1 and states.max() == 1 else ""


def permutation_blocks(summary: Floats, group: Codes | None = None) -> list[Codes]:
    """Put contexts of a group and like belief into blocks, within which states are exchangeable.

    Equal beliefs (to 1e-9) stay together, and neighbouring ones are joined until a block holds
    four contexts, unless more than a tenth of the range lies between two of them. Of several
    columns, each context is joined with its nearest neighbours. Where the borders fall is
    arbitrary: there are up to four ways of cutting, two from either end, which differ in where the
    first block ends or in which column is followed backwards, so that no single context moves all
    borders of the result.
    """
    group = np.zeros(len(summary), dtype=np.int64) if group is None else group
    cuts: list[Codes] = []
    for cut in range(CUTS):
        blocks, n_blocks = np.empty(len(summary), dtype=np.int64), 0
        for number in np.unique(group):
            rows = np.flatnonzero(group == number)
            inside = _blocks(summary[rows], cut)
            blocks[rows] = inside + n_blocks
            n_blocks += int(inside.max()) + 1
        blocks = pd.factorize(blocks)[0]  # the same blocks have the same numbers, from either end
        if not any(np.array_equal(blocks, other) for other in cuts):
            cuts.append(blocks)
    return cuts


def _blocks(summary: Floats, cut: int) -> Codes:
    columns = summary.reshape(len(summary), -1)
    levels = ordered_levels(columns)
    # From either end of the first column, and of the others.
    levels[:, 0] *= 1 - 2 * (cut % 2)
    levels[:, 1:] *= 1 - 2 * (cut // 2)
    points, point_of, counts = np.unique(levels, axis=0, return_inverse=True, return_counts=True)
    line = columns.shape[1] == 1
    joined = _along_a_line(points, counts, cut // 2) if line else _nearest(points, counts)
    return np.asarray(joined[point_of.ravel()])


def ordered_levels(columns: Floats) -> Codes:
    """Return columns on a grid of 1e-9, those that vary most first, whatever they are called."""
    levels = as_levels(columns)
    return np.asarray(levels[:, np.argsort(-levels.std(axis=0), kind="stable")])


def _along_a_line(points: Codes, counts: Codes, start: int) -> Codes:
    values, widest = points[:, 0], round(WIDEST * RESOLUTION)
    full = BLOCK + start  # what the first block holds
    block_of, sizes = np.zeros(values.size, dtype=np.int64), [0]
    for at, count in enumerate(counts.tolist()):
        apart = at > 0 and values[at] - values[at - 1] > widest
        if apart or sizes[-1] >= full:
            full = BLOCK
            # What is left of a row of neighbours joins the block before it.
            if apart and len(sizes) > 1 and sizes[-1] < BLOCK:
                _join_last(values, block_of, sizes, at, widest)
            sizes.append(0)
        block_of[at] = len(sizes) - 1
        sizes[-1] += count
    if len(sizes) > 1 and sizes[-1] < BLOCK:
        _join_last(values, block_of, sizes, values.size, widest)
    return np.unique(block_of, return_inverse=True)[1]


def _join_last(values: Codes, block_of: Codes, sizes: list[int], end: int, widest: int) -> None:
    last = int(block_of[end - 1])
    begin = int(np.searchsorted(block_of[:end], last))
    if values[begin] - values[begin - 1] <= widest:
        block_of[begin:end] = block_of[begin - 1]


def _nearest(points: Codes, counts: Codes) -> Codes:
    """Join each point, in turn, with the nearest ones that have no block yet."""
    n, widest = len(points), WIDEST * RESOLUTION
    tree = cKDTree(points.astype(np.float64))
    distance, near = map(
        np.asarray, tree.query(points, k=list(range(1, min(NEIGHBOURS, n) + 1)), p=np.inf)
    )
    block_of, n_blocks = np.full(n, -1), 0
    for at in range(n):
        if block_of[at] >= 0:
            continue
        close = near[at][distance[at] <= widest + 0.5]
        free = close[block_of[close] < 0]
        enough = int(np.searchsorted(np.cumsum(counts[free]), BLOCK)) + 1
        taken = close[block_of[close] >= 0]
        if counts[free].sum() < BLOCK and taken.size:
            block_of[free] = block_of[taken[0]]
            continue
        block_of[free[:enough]] = n_blocks
        n_blocks += 1
    return np.unique(block_of, return_inverse=True)[1]


def exchangeable(blocks: Codes, state: Codes) -> Codes:
    """Return the contexts that another of their block, with another state, can trade with."""
    low, high = np.full((2, int(blocks.max()) + 1), state.max() + 1)
    np.minimum.at(low, blocks, state)
    high[:] = -1
    np.maximum.at(high, blocks, state)
    return np.flatnonzero((low != high)[blocks])


def too_few(blocks: Codes, contexts: Contexts) -> str:
    """Say why nothing can be tested; empty where enough contexts can be permuted."""
    movable = exchangeable(blocks, contexts.state).size
    if movable >= MIN_CONTEXTS:
        return ""
    return (
        f"only {movable} of {blocks.size} contexts have another of similar belief and another "
        f"state{' in their group' * (contexts.group is not None)} to be permuted with; "
        f"{MIN_CONTEXTS} are needed"
    )


def count_arrangements(blocks: Codes, state: Codes, limit: int) -> int:
    """Count the distinct arrangements of states within blocks, the observed one included.

    Counting stops once `limit` is exceeded.
    """
    table = np.zeros((int(blocks.max()) + 1, int(state.max()) + 1), dtype=np.int64)
    np.add.at(table, (blocks, state), 1)
    total = 1
    for counts in table.tolist():
        # A multinomial coefficient as a product of binomials, one state after the other.
        placed = 0
        for count in counts:
            placed += count
            total *= math.comb(placed, count)
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


def all_arrangements(blocks: Codes, state: Codes) -> Codes:
    """Return every distinct arrangement of the states, in lexicographic order within blocks."""
    members = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    choices = [list(_orders(np.bincount(state[rows]).tolist())) for rows in members]
    arranged = np.empty((math.prod(map(len, choices)), blocks.size), dtype=np.int64)
    for number, chosen in enumerate(product(*choices)):
        for rows, order in zip(members, chosen, strict=True):
            arranged[number, rows] = order
    return arranged


def permuted_states(
    blocks: Codes, state: Codes, n_permutations: int, rng: np.random.Generator
) -> Iterator[Codes]:
    """Draw arrangements of the states within blocks, shape (n_batch, n_contexts) at a time."""
    home = np.argsort(blocks, kind="stable")
    # One sort of whole numbers shuffles every block and carries the states along: the block comes
    # first, then random bits, then the state. 40 random bits hardly ever tie.
    state_bits = max(int(state.max()).bit_length(), 1)
    block_bits = int(blocks.max()).bit_length()
    random_bits = 63 - state_bits - block_bits
    packed = (blocks[home] << (63 - block_bits)) | state[home]
    batch = max(FEWEST, BATCH // blocks.size)
    for start in range(0, n_permutations, batch):
        shape = (min(batch, n_permutations - start), blocks.size)
        keys = rng.integers(0, 1 << random_bits, size=shape) << state_bits
        keys |= packed
        keys.sort(axis=1)
        arranged = np.empty(shape, dtype=np.int64)
        arranged[:, home] = keys & ((1 << state_bits) - 1)
        yield arranged


def share_reached(observed: Floats, permuted: Floats) -> Floats:
    """Return the share of the permuted values that reach the observed one, for each column."""
    # Equal statistics differ in the last bits when they are summed in another order.
    margin = 1e-9 * np.maximum(1.0, np.abs(observed))
    return np.asarray((permuted >= observed - margin).mean(axis=0))


def pvalues_of(share: Floats, n_permutations: int) -> Floats:
    """Return (1 + b) / (1 + B), where b of B random arrangements reach the observed value."""
    return (1 + share * n_permutations) / (1 + n_permutations)


Statistic = Callable[[Codes], Floats]
"""Arrangements of states, shape (n, n_contexts) -> statistics, shape (n, n_statistics)."""
Score = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Observed and permuted statistics -> what p-values rank, one or several; large is against null."""


def permutation_test(
    statistic: Callable[[Codes], Statistic],
    score: Score,
    cuts: list[Codes],
    state: Codes,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats, dict[str, object]]:
    """Rank scores of the data among those of permuted states, in equal parts for every cut.

    Shares of arrangements that reach the data are averaged over cuts. All arrangements of a cut are
    listed if they are no more than its part of the permutations. A p-value within two Monte Carlo
    errors of .05 is drawn ten times as long.

    Return the p-value of each score, shape (n_scores,), the first of which is that of the test;
    statistics of the data with the first cut, shape (n_statistics,), and of permutations, shape
    (n_permutations, n_statistics); and how many these were, whether all, and whether the verdict
    hangs on them.
    """
    part = -(-n_permutations // len(cuts))
    exact = [count_arrangements(blocks, state, part) <= part for blocks in cuts]
    of_cut = [statistic(blocks) for blocks in cuts]
    drawn: list[list[Floats]] = [[] for _ in cuts]

    def pvalues_with(n: int) -> Floats:
        found = []
        for at, blocks in enumerate(cuts):
            batchs: Iterator[Codes] | list[Codes] = []
            if not exact[at]:
                batchs = permuted_states(blocks, state, n, rng)
            elif not drawn[at]:
                batchs = [all_arrangements(blocks, state)]
            drawn[at] += [of_cut[at](states) for states in batchs]
            scores = score(of_cut[at](state[None])[0], np.concatenate(drawn[at]))
            found.append(share_reached(*scores))
        share, total = np.mean(found, axis=0), sum(len(values) for each in drawn for values in each)
        # Where all arrangements are listed, the observed one is among them.
        return share if all(exact) else pvalues_of(share, total)

    pvalues = pvalues_with(part)
    if not all(exact) and near_level(pvalues[0], n_permutations):
        pvalues = pvalues_with((LONGER - 1) * part)
    together = np.concatenate([values for each in drawn for values in each])
    settings: dict[str, object] = {
        "n_permutations": len(together),
        "exact": all(exact),
        "n_blocks": int(cuts[0].max()) + 1,
        "n_cuts": len(cuts),
        "n_exchangeable": int(exchangeable(cuts[0], state).size),
    }
    if not all(exact) and near_level(pvalues[0], len(together)):
        settings["near_level"] = True
    return pvalues, of_cut[0](state[None])[0], together, settings


def by_context(values: Floats, contexts: Contexts, data: EvaluationData) -> "pd.Series[float]":
    """Index values of contexts in their own order by their ids, centred."""
    index = pd.Index([data.contexts[code] for code in contexts.order], tupleize_cols=False)
    return pd.Series(values - values.mean(), index=index, name="contribution")


# Information between states and choices among contexts of like belief. A window holds the contexts
# nearest to one of them in what is conditioned on. Counting in it, as in a contingency table, gives
# the mutual information of state and choice there, which is averaged over windows. Such a plug-in
# value is biased upwards: it is for comparison with permuted states.

Window = slice | Codes
"""Places of contexts: neighbours along a line are a slice, which needs no copy."""
Choices = Callable[[Window], Floats]
"""Contexts of a window -> what they choose, shape (n, n_tables, n_choices): weights sum to 1."""


def window_size(n_contexts: int) -> int:
    """Return how many contexts a window holds, ties left out."""
    return min(max(round(WINDOW_SHARE * n_contexts), WINDOW), n_contexts)


def chosen(share: Floats) -> Choices:
    """Count choices by their shares in each context, shape (n_contexts, n_actions)."""
    return lambda window: share[window][:, None]


def moved(share: Floats, left: Floats) -> Choices:
    """Count choices by what was left of their shares, about the mean shares in the window.

    Information is then of the size that it has where nothing is explained; both have shape
    (n_contexts, n_actions).
    """
    return lambda near: (share[near].mean(axis=0) + left[near] - left[near].mean(axis=0))[:, None]


def ranked(policy: Floats, context: Codes) -> Choices:
    """Put each probability into a quarter of those of the window; a table for every action.

    Ranks within the window see a state that moves the spread of a policy alone, and policies that
    hardly move. `policy`, shape (n_rows, n_actions), are probabilities of actions, or what the
    belief leaves of them; `context` is the place of each row's in the order of the windows.
    """
    rows_of = np.bincount(context)
    weight, levels = 1 / rows_of[context], as_levels(policy)

    def quarters(window: Window) -> Floats:
        near = np.arange(rows_of.size)[window]
        rows = np.flatnonzero(np.isin(context, near))
        place, of_row = np.searchsorted(near, context[rows]), weight[rows]
        tables = np.empty((near.size, policy.shape[1], QUARTERS))
        for action in range(policy.shape[1]):
            _, level = np.unique(levels[rows, action], return_inverse=True)
            held = np.bincount(level, weights=of_row)
            # Equal probabilities share a quarter: that of the middle of their ranks.
            middle = (held.cumsum() - held / 2) / held.sum()
            quarter = np.minimum((QUARTERS * middle).astype(np.int64), QUARTERS - 1)[level]
            cell = place * QUARTERS + quarter
            counts = np.bincount(cell, weights=of_row, minlength=near.size * QUARTERS)
            tables[:, action] = counts.reshape(near.size, QUARTERS)
        return tables

    return quarters


def local_information(summary: Floats, choices: Choices, n_states: int) -> Statistic:
    """Prepare the information in windows, as a function of arrangements of contexts' states.

    `summary`, shape (n_contexts,) or (n_contexts, n_columns), is what is conditioned on; contexts
    are as far apart as their most different column. Arrangements of shape (n, n_contexts) give
    nats, shape (n, 1).
    """
    points = ordered_levels(summary.reshape(len(summary), -1))
    n = len(points)
    spread = np.linspace(0, n - 1, min(n, CENTRES)).round().astype(np.int64)
    centres, times = np.unique(
        points[np.lexsort(points.T[::-1])][spread], axis=0, return_counts=True
    )
    prepared, last = [], window_size(n) - 1
    for centre, weight in zip(centres, times / times.sum(), strict=True):
        distance = np.abs(points - centre).max(axis=1)
        near = np.flatnonzero(distance <= np.partition(distance, last)[last])
        joined = near[-1] - near[0] + 1 == near.size
        window: Window = slice(near[0], near[-1] + 1) if joined else near
        prepared.append((weight, window, choices(window)))

    def information(states: Codes) -> Floats:
        happened = [(states == state).astype(np.float64) for state in range(1, n_states)]
        nats = np.zeros(len(states))
        for weight, window, tables in prepared:
            flat = tables.reshape(len(tables), -1)
            counts = [each[:, window] @ flat for each in happened]
            counts.append(flat.sum(axis=0) - sum(counts))  # of the first state
            of_tables = np.maximum(np.stack(counts), 0).reshape(n_states, -1, *tables.shape[1:])
            nats += weight * _mutual_information(of_tables).mean(axis=1) / len(tables)
        return nats[:, None]

    return information


def _mutual_information(counts: Floats) -> Floats:
    """Return N times the plug-in information of tables, shape (n_states, ..., n_choices)."""
    of_state, of_choice = counts.sum(axis=-1), counts.sum(axis=0)
    every = of_choice.sum(axis=-1)
    return np.asarray(
        xlogy(counts, counts).sum(axis=(0, -1))
        - xlogy(of_state, of_state).sum(axis=0)
        - xlogy(of_choice, of_choice).sum(axis=-1)
        + xlogy(every, every)
    )
