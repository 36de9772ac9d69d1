"""Evidence that may be looked at after every case: bets on pairs of cases of equal belief.

Where actions are independent of the state given the belief, two cases of equal belief could trade
their actions. The product of their differences in action and in state, x, is then as often -x:
whatever its size, a bet of 1 + tanh(stake x) has an expectation of 1. Products of bets, averaged
over actions and stakes, are a nonnegative martingale, which 1 / alpha bounds at any time with
probability 1 - alpha (Ville 1939; Ramdas, Grunwald, Vovk and Shafer 2023).

Which cases are paired, and how much is staked, depends on beliefs, states, past pairs and sizes of
differences, never on the sign that is bet on. Beliefs are equal or they are not: between like
beliefs calibration may jump.
"""

import math

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import as_levels
from coherence.statistics.report_noise import rounding_bound

STAKES = (0.3, 0.6)  # per root mean square of the products so far, for and against
EXACT = 1e-9  # differences below it are rounding


def pairs_of(
    belief: Floats, state: Floats, group: Codes, *, rounded: bool = True
) -> tuple[Codes, Codes]:
    """Pair cases in the order in which they arrive; return the first and second of each pair.

    A case is paired with the last one before it of its group and belief that waits and has another
    state. Where beliefs are `rounded`, a coherent agent may act on what rounding leaves unsaid:
    states must differ by more than the width that the beliefs so far are rounded to.
    """
    waiting: dict[tuple[int, int], list[int]] = {}
    pairs, width = [], EXACT
    for case, key in enumerate(zip(group.tolist(), as_levels(belief).tolist(), strict=True)):
        n = case + 1
        if rounded and n & case == 0:  # at 1, 2, 4, 8, ... cases
            width = max(math.sqrt(12 * rounding_bound(belief[:n], n)), EXACT)
        wait = waiting.setdefault(key, [])
        unlike = (other for other in reversed(wait) if abs(state[other] - state[case]) > width)
        other = next(unlike, None) if wait else None
        if other is None:
            wait.append(case)
        else:
            wait.remove(other)
            pairs.append((other, case))
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second


def share_tied(belief: Floats, group: Codes) -> float:
    """Return the share of cases that find a partner of their group and of equal belief."""
    keys = np.stack([group, as_levels(belief)])
    counts = np.unique(keys, axis=1, return_counts=True)[1]
    return 2 * float((counts // 2).sum()) / max(len(belief), 1)


def log_evidence(products: Floats) -> Floats:
    """Return the log of the evidence after each pair; `products` has shape (n_pairs, n_actions)."""
    kept = np.where(np.abs(products) > EXACT, products, 0.0)
    # Sizes are known before a bet, that of its own pair too: only signs are bet on.
    counts = np.maximum((kept != 0).cumsum(axis=0), 1)
    scale = np.sqrt((kept**2).cumsum(axis=0) / counts)
    relative = kept / np.where(scale > 0, scale, 1.0)
    stakes = np.array([side * stake for stake in STAKES for side in (1, -1)])
    # log(1 + tanh(z)), which keeps its digits where tanh(z) is nearly -1.
    bets = math.log(2) - np.logaddexp(0.0, -2 * stakes[:, None, None] * relative)
    n_pairs, n_actions = products.shape
    paths = bets.cumsum(axis=1).swapaxes(0, 1).reshape(n_pairs, stakes.size * n_actions)
    return np.asarray(np.logaddexp.reduce(paths, axis=1) - math.log(paths.shape[1]))
