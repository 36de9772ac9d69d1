"""Information between states and choices among contexts of like belief.

A window holds the contexts nearest to one of them in what is conditioned on. Counting in it, as in
a contingency table, gives the mutual information of state and choice there, which is averaged over
windows. Such a plug-in value is biased upwards: it is for comparison with permuted states.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import as_levels
from coherence.statistics.permutation import Statistic, ordered_levels

SIZE = 0.3  # of a window, as a share of all contexts
FEWEST = 8  # contexts of a window
CENTRES = 60  # contexts about which windows lie, spread evenly over all of them
QUARTERS = 4

Window = slice | Codes
"""Places of contexts: neighbours along a line are a slice, which needs no copy."""
Choices = Callable[[Window], Floats]
"""Contexts of a window -> what they choose, shape (n, n_tables, n_choices): weights sum to 1."""


def window_size(n_contexts: int) -> int:
    """Return how many contexts a window holds, ties left out."""
    return min(max(round(SIZE * n_contexts), FEWEST), n_contexts)


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
