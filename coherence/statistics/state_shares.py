"""Shares of actions on either side of what the belief foretells of the state, as a test takes them.

The picture of the null of `coherence.sufficiency_test`: at equal belief actions do not go with the
state. Each share is brought to the mean belief of its bin by what the test takes out of choices.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.knn import belief_bins
from coherence.statistics.permutation import Contexts, contexts_of
from coherence.statistics.report_noise import in_round_numbers, outside_heaps
from coherence.statistics.sequences import Line, beyond_belief, in_canonical_direction

N_BINS = 8
CONTEXTS_PER_SIDE = 5
"""Contexts of each side that a bin needs; neighbours are joined until they have them."""
LEVEL = 0.95
FORETOLD = 1e-9  # a posterior that is as the belief foretells it is on neither side


def sides_of(left: Floats, state: Floats, *, exact: bool) -> Codes:
    """Tell on which side of what the belief foretells a state is: 0 below, 1 above, -1 neither.

    A realised state is 0 or 1 itself; of an exact posterior `left` is what the belief leaves.
    """
    if not exact:
        return np.asarray(state > 0.5, dtype=np.int64)
    return np.where(np.abs(left) > FORETOLD, left > 0, -1).astype(np.int64)


def shares_along(line: Line, contexts: Contexts, actions: Sequence[Any]) -> pd.DataFrame:
    """Tabulate `shares_by_side` of contexts along their belief."""
    state = beyond_belief(line, line.state).values
    left = np.stack([beyond_belief(line, column).values for column in line.share.T], axis=1)
    belief, share = contexts.belief[line.order], contexts.share[line.order]
    side = sides_of(state, line.state, exact=line.exact)
    if not np.array_equal(belief, line.belief):  # the line is that of the other state
        left, side = -left, np.where(side < 0, side, 1 - side)
    return shares_by_side(belief, share, left, side, np.arange(len(side)), actions)


def state_shares(data: EvaluationData) -> pd.DataFrame:
    """Tabulate the shares that `coherence.sufficiency_test` compares, of an agent in two states."""
    data, _ = in_round_numbers(data)
    contexts = outside_heaps(data, contexts_of(data))[0]
    return shares_along(in_canonical_direction(contexts), contexts, data.actions)


def shares_by_side(
    belief: Floats, share: Floats, left: Floats, side: Codes, context: Codes, actions: Sequence[Any]
) -> pd.DataFrame:
    """Tabulate the shares of actions on both sides, in bins of the belief.

    `belief`, `side` and `context` have shape (n,); `share`, and `left`, what the belief leaves of
    it, shape (n, n_actions). Returns a row an action, bin and side (``state``), with the mean
    belief of the bin and the 95% interval over contexts of what lies beyond it; none where no bin
    has enough contexts on both sides.
    """
    bins = _joined(belief_bins(belief, N_BINS), side, context)
    if bins is None:
        return pd.DataFrame()
    tables, n = [], int(bins.max()) + 1
    foretold = share - left
    for position in range(n):
        inside = bins == position
        for state in (0, 1):
            of_side = inside & (side == state)
            shown = foretold[inside].mean(axis=0) + left[of_side].mean(axis=0)
            columns = {"action": [str(label) for label in actions], "bin": position, "state": state}
            columns |= {"belief": belief[inside].mean(), "share": shown.clip(0.0, 1.0)}
            n_contexts, reach = _reach(left[of_side], context[of_side])
            columns |= {
                "low": (shown - reach).clip(0.0, 1.0),
                "high": (shown + reach).clip(0.0, 1.0),
            }
            tables.append(pd.DataFrame(columns).assign(n_contexts=n_contexts))
    table = pd.concat(tables, ignore_index=True)
    place = {str(label): at for at, label in enumerate(actions)}
    return table.sort_values("action", key=lambda c: c.map(place), kind="stable", ignore_index=True)


def _reach(left: Floats, context: Codes) -> tuple[int, Floats]:
    """Count contexts; return half of the t interval of the mean of what is left, over contexts."""
    code = np.unique(context, return_inverse=True)[1]
    times = np.bincount(code)
    means = np.stack([np.bincount(code, column) / times for column in left.T], axis=1)
    n, quantile = len(times), float(stats.t.ppf((1 + LEVEL) / 2, len(times) - 1))
    return n, np.asarray(quantile * means.std(axis=0, ddof=1) / math.sqrt(n))


def _joined(bins: Codes, side: Codes, context: Codes) -> Codes | None:
    """Join neighbouring bins until each has enough contexts on each side; None if none has."""
    joined = np.zeros(int(bins.max()) + 1, dtype=np.int64)
    seen: list[set[int]] = [set(), set()]
    number = 0
    for position in range(joined.size):
        joined[position] = number
        for state in (0, 1):
            inside = (bins == position) & (side == state)
            seen[state] |= set(np.unique(context[inside]).tolist())
        if min(map(len, seen)) >= CONTEXTS_PER_SIDE:
            seen, number = [set(), set()], number + 1
    if number == 0:
        return None
    # What is left at the upper end goes to the last bin that is full.
    return np.asarray(np.minimum(joined, number - 1)[bins])
