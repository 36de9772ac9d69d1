"""Choice shares by belief and realised state, with what beliefs alone would give.

The null of `coherence.checks.covariance`, bin by bin: at equal belief actions do not depend on the
state. As there, smooth regressions on the belief take out of actions and of the state what the
belief explains. What is left of the actions is regressed on what is left of the state within each
bin, with contexts as clusters: that is the difference between the states at equal belief. The band
is simultaneous over all bins and actions, so that under the null all shares lie within their bands
in at least 95% of tables.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.adjustment import explained_by, left_over
from coherence.statistics.bins import belief_bins
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional, separated
from coherence.statistics.shares import context_shares

N_BINS = 8
CONTEXTS_PER_STATE = 5
"""Contexts of each state that a bin needs; neighbours are joined until they have them."""
LEVEL = 0.95
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StateShares:
    """Shares of actions by bin of the belief and state."""

    # a row per action, bin and state: ``action``, ``bin``, ``state`` (0 or 1), ``belief`` (mean of
    # the rows), ``share`` with its interval ``low`` and ``high``, ``expected`` (what beliefs alone
    # would give) with the band ``band_low`` and ``band_high``, ``outside`` (whether the share
    # leaves the band), ``n_rows``, ``n_contexts``
    table: pd.DataFrame
    reason: str = ""  # why there is no table; empty where there is one


def state_shares(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    n_bins: int = N_BINS,
) -> StateShares:
    """Compare the shares of actions between two states in bins of the belief.

    Assumes independent contexts and, as the test does, that a row's belief is the belief itself and
    that action and truth depend smoothly on it; what one regression misses does no harm where the
    other does not. The difference between the states has the larger of two standard errors, one
    with a spread of contexts that the states share, as under the null, and one with one of each;
    Sidak's t quantiles are those for all bins and actions at once. What beliefs alone would give is
    the share without its part of the difference, so that both states of a bin leave their bands
    together.
    """
    data = as_choices(belief, action, truth, context, positive=1, oriented=True)
    if data.degenerate:
        return StateShares(pd.DataFrame(), data.degenerate)
    if separated(data):
        why = "a threshold of the belief separates the states"
        return StateShares(pd.DataFrame(), why)
    values = one_dimensional(data, "state_shares")
    bins = _joined(belief_bins(values, n_bins), data)
    if bins is None:
        few = f"fewer than {CONTEXTS_PER_STATE} contexts have one of the states"
        return StateShares(pd.DataFrame(), few)
    both = np.column_stack([data.share, data.truth.astype(np.float64)])
    left = left_over(both, explained_by(values))
    group = 2 * bins + data.truth
    n_groups = 2 * (int(bins.max()) + 1)
    seen = context_shares(data.share, group, data.context, n_groups)
    rows = np.bincount(group, minlength=n_groups).astype(np.float64)
    mean_belief = np.bincount(group, weights=values, minlength=n_groups) / rows
    difference, reach = _differences(left, bins, data)
    # State 1 lies above the mean of its bin by the part of the rows that state 0 has, and so on.
    other = (rows.reshape(-1, 2)[:, ::-1] / rows.reshape(-1, 2).sum(axis=1)[:, None]).ravel()
    tables = []
    for at, label in enumerate(data.actions):
        away = np.repeat(difference[:, at], 2) * other * np.tile([-1.0, 1.0], n_groups // 2)
        half = np.repeat(reach[:, at], 2) * other
        share = seen.share[:, at]
        expected = share - away
        tables.append(
            pd.DataFrame(
                {
                    "action": [label] * n_groups,
                    "bin": np.arange(n_groups) // 2,
                    "state": np.arange(n_groups) % 2,
                    "belief": mean_belief,
                    "share": share,
                    "low": seen.low[:, at],
                    "high": seen.high[:, at],
                    "expected": expected.clip(0.0, 1.0),
                    "band_low": (expected - half).clip(0.0, 1.0),
                    "band_high": (expected + half).clip(0.0, 1.0),
                    "outside": np.abs(away) > half + _ROUNDING,
                    "n_rows": seen.n_rows.astype(np.int64),
                    "n_contexts": seen.n_contexts,
                }
            )
        )
    return StateShares(pd.concat(tables, ignore_index=True))


def _joined(bins: Codes, data: EvaluationData) -> Codes | None:
    """Join neighbouring bins until each has enough contexts of each state; None if none has."""
    joined = np.zeros(int(bins.max()) + 1, dtype=np.int64)
    seen: list[set[int]] = [set(), set()]
    number = 0
    for position in range(joined.size):
        joined[position] = number
        for state in (0, 1):
            inside = (bins == position) & (data.truth == state)
            seen[state] |= set(np.unique(data.context[inside]).tolist())
        if min(map(len, seen)) >= CONTEXTS_PER_STATE:
            seen, number = [set(), set()], number + 1
    if number == 0:
        return None
    # What is left at the upper end goes to the last bin that is full.
    return np.asarray(np.minimum(joined, number - 1)[bins])


def _differences(left: Floats, bins: Codes, data: EvaluationData) -> tuple[Floats, Floats]:
    """Estimate the difference between the states in each bin, and how far chance takes it."""
    n_bins, n_actions = int(bins.max()) + 1, left.shape[1] - 1
    # All pairs of a bin and a free action; the last action is one minus the others.
    tail = (1 - LEVEL ** (1 / (n_bins * max(n_actions - 1, 1)))) / 2
    difference, reach = np.zeros((2, n_bins, n_actions))
    for position in range(n_bins):
        inside = bins == position
        state = left[inside, -1]
        state = state - state.mean()
        square = float(state @ state)
        # A regression that settles the state leaves nothing to compare.
        if square <= _ROUNDING:
            reach[position] = np.inf
            continue
        truth, context = data.truth[inside], np.unique(data.context[inside], return_inverse=True)[1]
        first = np.unique(context, return_index=True)[1]
        of_context, rows = truth[first], np.bincount(context)
        action = left[inside, :-1]
        action = action - action.mean(axis=0)
        difference[position] = state @ action / square
        k = np.bincount(of_context, minlength=2).astype(np.float64)
        moved = np.bincount(context, weights=state)
        for at, column in enumerate(action.T):
            # As under the null: one mean and one spread of contexts for both states.
            pooled = float((np.bincount(context, weights=column) ** 2).sum() / (rows**2).sum())
            together = pooled * k.sum() / (k.sum() - 1) * float((moved**2).sum())
            # As beyond it: each state has its own.
            own = column - (np.bincount(truth, weights=column) / np.bincount(truth))[truth]
            scores = np.bincount(context, weights=state * own)
            apart = np.bincount(of_context, weights=scores**2, minlength=2) * k / (k - 1)
            total = float(apart.sum())
            degrees = total**2 / float((apart**2 / (k - 1)).sum()) if total > 0 else 1.0
            reach[position, at] = max(
                float(stats.t.isf(tail, k.sum() - 2)) * math.sqrt(together) / square,
                float(stats.t.isf(tail, degrees)) * math.sqrt(total) / square,
            )
    return difference, reach
