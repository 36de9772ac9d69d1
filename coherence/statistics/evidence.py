"""Evidence that may be looked at after every case: bets on pairs of cases of equal belief.

Where actions are independent of the state given the belief, two cases of equal belief could trade
their actions. The product of their differences in action and in state, x, is then as often -x:
whatever its size, a bet of 1 + tanh(stake x) has an expectation of 1. Products of bets, averaged
over actions and stakes, are a nonnegative martingale, which 1 / alpha bounds at any time with
probability 1 - alpha (Ville 1939; Ramdas, Grunwald, Vovk and Shafer 2023).

Which cases are paired, and how much is staked, depends on beliefs, states, past pairs and sizes of
differences, never on the sign that is bet on. Beliefs are equal or they are not: between like
beliefs calibration may jump.

Where the exact posterior of a case is known and its state was drawn from it, each case is bet on
alone: the likelihood ratio of a posterior that an action or a belief has moved is exact (Grunwald,
Henzi and Lardy 2023, section 3).
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from coherence.inputs import Codes, Floats, require
from coherence.statistics.knn import as_levels
from coherence.statistics.report_noise import rounding_bound

STAKES = (0.3, 0.6)  # per root mean square of the products so far, for and against
NARROWEST = 100
NATS = "nats of evidence"
EXACT = 1e-9  # differences below it are rounding
MOVES = (0.15, 0.3, 0.6, 1.2)  # of log odds, per root mean square of the residuals so far
RIDGE = 0.01  # of the powers of the posterior, not of the constant: no choice of labels matters


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


def log_evidence_of_states(columns: Floats, posterior: Floats, state: Floats) -> Floats:
    """Return the log of the evidence of a leak after each case.

    `columns` has shape (n, n_columns), shares of actions and beliefs of cases in the order in which
    they arrive; each, less a cubic of the posterior, moves the posterior p by p (1 - p)
    tanh(stake x residual / rms) before the state is seen.
    """
    powers = np.vander(2 * posterior - 1, 4)
    squares = (powers[:, :, None] * powers[:, None, :]).cumsum(axis=0)
    products = (powers[:, :, None] * columns[:, None, :]).cumsum(axis=0)
    # The fit to the cases so far, this one included: of states it knows nothing.
    fit = np.linalg.solve(squares + RIDGE * np.diag([1.0, 1.0, 1.0, 0.0]), products)
    left = columns - np.einsum("nd,ndk->nk", powers, fit)
    left[np.abs(left) < EXACT] = 0.0
    scale = np.sqrt((left**2).cumsum(axis=0) / np.arange(1, len(left) + 1)[:, None])
    relative = left / np.where(scale > 0, scale, 1.0)
    stakes = np.array([side * stake for stake in MOVES for side in (1, -1)])
    moves = np.tanh(stakes[:, None, None] * relative)
    paths = np.log1p(moves * (state - posterior)[:, None]).cumsum(axis=1)
    paths = paths.swapaxes(0, 1).reshape(len(left), -1)
    return np.asarray(np.logaddexp.reduce(paths, axis=1) - math.log(paths.shape[1]))


def errors_at_any_time(n: int, level: float = 0.95) -> float:
    """Return how many standard errors an interval takes that may be looked at after every case.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024,
    Annals of Statistics 52(6), theorem 2.2), narrowest at `NARROWEST` cases.
    """
    spent = -2 * math.log(1 - level)
    scaled = n * (spent + math.log(spent) + 1) / NARROWEST
    return math.sqrt(2 * (scaled + 1) / scaled * math.log(math.sqrt(scaled + 1) / (1 - level)))


def enough_evidence(value: Any) -> float:
    """Validate the evidence to stop at."""
    require(
        isinstance(value, int | float | np.number) and bool(1 < value < math.inf),
        f"evidence must be a number above 1, such as 20; received {value!r}.",
    )
    return float(value)


def path_of(log: Floats, contexts: list[Any], cases: Codes, enough: float) -> dict[str, Any]:
    """Return what a result says of the log evidence after each case: fields by name.

    `cases` has the number of cases asked by then, those that were lost too.
    """
    reached = np.flatnonzero(log >= math.log(enough))
    return {
        "statistic": float(log[-1]),
        "pvalue": min(1.0, math.exp(-float(log.max()))),
        "settings": {
            "plan": "evidence",
            "evidence": enough,
            "stopped": int(cases[reached[0]]) if reached.size else None,
        },
        "details": pd.DataFrame({"cases": cases, "context": contexts, "log_evidence": log}),
    }
