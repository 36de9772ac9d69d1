"""The test of `cmi_test`: five statistics of the same exchanges of states between contexts.

Exchanges come in portions, so that memory does not grow with their number, and statistics in bins
are computed for a portion at once from sums by context: time grows in proportion to contexts, and
not with their repetitions.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.inputs import Codes, Floats
from coherence.statistics.cmi_problem import Problem
from coherence.statistics.resample import combined_pvalue, exchanged_states, permutation_pvalue

# rows, over all arrangements, of nearest-neighbour estimates where there are many rows
SEARCHED_ROWS = 200_000
# arrangements for which the nearest-neighbour estimate is computed beside the statistic of the test
PERMUTED_ESTIMATES = 199
# exchanges that give the information in bins its centre and its spread
CENTRED = 50
# Statistics of the test and their weights. The first sees actions that follow the state as they
# follow the belief, which a belief acted on that knows more brings about at any belief; bins see
# dependence of any direction at any belief, halves one that turns between low and high beliefs,
# the whole range one that is alike at all beliefs, whatever actions it is between, and wide
# neighbourhoods one that changes slowly.
WEIGHTS = {
    "statistic along belief": 3.0,
    "statistic in bins": 1.0,
    "statistic in halves": 2.0,
    "statistic throughout": 1.0,
    "nearest-neighbour statistic": 1.0,
}


@dataclass(frozen=True)
class ExchangeTest:
    """What exchanges say.

    Parameters
    ----------
    pvalue : float
        Of the combined statistics.
    parts : DataFrame
        Nearest-neighbour estimates and statistics of the test: `quantity`, `neighbours`, `nats` and
        `pvalue`.
    k_test : int or None
        Neighbours of the nearest-neighbour statistic; None where it is left out.
    some : ndarray of int, shape (n_some, n_contexts)
        Exchanged states, spread evenly over the exchanges.
    in_bins : ndarray, shape (n_exchanges,)
        The statistic in bins after each exchange.
    """

    pvalue: float
    parts: pd.DataFrame
    k_test: int | None
    some: Codes
    in_bins: Floats


def exchange_test(
    problem: Problem,
    k: int,
    state: Codes,
    n_exchanges: int,
    rng: np.random.Generator,
    *,
    exact: bool,
) -> ExchangeTest:
    """Test by exchanging the states of contexts of similar belief.

    Parameters
    ----------
    problem : Problem
        What is tested.
    k : int
        Neighbours of the estimate.
    state : ndarray of int, shape (n_contexts,)
        Realised states.
    n_exchanges : int
        Draws, or the number of arrangements.
    rng : Generator
        Source of randomness.
    exact : bool
        Whether all arrangements are listed.

    Returns
    -------
    ExchangeTest
        Whole contexts trade their states, so that repetitions stay together.
    """
    data = problem.data
    nearest, k_test = problem.statistic(k)
    # The mean of the permuted estimates settles long before a p-value does.
    n_estimates = PERMUTED_ESTIMATES
    if k_test is None:
        n_estimates = int(np.clip(SEARCHED_ROWS // data.n_rows, 2, 20))
    wanted = np.unique(np.linspace(0, n_exchanges - 1, CENTRED).astype(np.int64))
    observed = np.append(_counted(problem, state[None])[0], nearest(data.truth, True)[::-1])
    portions, some, done = [], [], 0
    for states in exchanged_states(problem.blocks, state, n_exchanges, rng):
        near = [
            nearest(arranged[data.context], number < n_estimates)[::-1]
            if number < n_estimates or k_test is not None
            else (math.nan, math.nan)
            for number, arranged in enumerate(states, done)
        ]
        portions.append(np.column_stack([_counted(problem, states), near]))
        some.append(states[wanted[(wanted >= done) & (wanted < done + len(states))] - done])
        done += len(states)
    drawn = np.concatenate(portions)
    used = len(WEIGHTS) - (k_test is None)
    weights = np.array(list(WEIGHTS.values()))[:used]
    if data.policy is not None and k_test is not None:
        # Only neighbours see a state that moves the spread of policies and not their mean.
        weights[-1] = weights[0]
    pvalue = combined_pvalue(observed[:used], drawn[:, :used], weights, exact=exact)
    parts = _parts(observed, drawn, used, (k, k_test), exact)
    return ExchangeTest(pvalue, parts, k_test, np.concatenate(some), drawn[:, 1])


def _counted(problem: Problem, states: Codes) -> Floats:
    """Return the statistics of counts, shape (n_arrangements, 4)."""
    bins, halves = problem.counts.divergences(states), problem.halves.divergences(states)
    return np.stack([bins.along, bins.in_bins, halves.in_bins, bins.throughout], axis=1)


def _parts(
    observed: Floats, drawn: Floats, used: int, neighbours: tuple[int, int | None], exact: bool
) -> pd.DataFrame:
    """Tabulate estimates and statistics; the estimate is the last column."""
    k, k_test = neighbours
    bias = float(np.nanmean(drawn[:, -1]))
    rows: list[tuple[str, float, float, float]] = [
        ("nearest-neighbour estimate", k, observed[-1], math.nan),
        ("mean of permuted estimates", k, bias, math.nan),
        ("excess information", k, observed[-1] - bias, math.nan),
    ]
    for number, name in enumerate(list(WEIGHTS)[:used]):
        alone = permutation_pvalue(observed[number], drawn[:, number], exact=exact)
        searched = k_test if name == "nearest-neighbour statistic" and k_test else math.nan
        rows += [
            (name, searched, observed[number], alone),
            (f"{name}, mean of permuted", searched, float(drawn[:, number].mean()), math.nan),
        ]
    return pd.DataFrame(rows, columns=["quantity", "neighbours", "nats", "pvalue"])
