"""Belief sufficiency over more than two states: realised states permuted at like belief.

A spline of the beliefs takes out of the actions what they explain. What is left of a context is
weighed by the linear slopes of the actions on the beliefs and summed over the contexts in which a
state holds; realised states of whole contexts are then permuted between contexts of like belief
(Runge 2018), within their group where one is named. Beliefs over several states have no order for
the difference sequences that two states are tested by (`coherence.statistics.sequences`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from coherence.checks.sufficiency_result import (
    MOVES_MOST,
    NO_SPREAD,
    SETTLED,
    Sufficiency,
    rare_state,
)
from coherence.inputs import Codes, Floats
from coherence.result import EXACT_REPORT, Interval, Lack
from coherence.statistics.adjustment import Differences, differences, explained_by, left_over
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.permutation import (
    Contexts,
    Permuted,
    Statistic,
    by_context,
    permutation_blocks,
    permutation_test,
    pvalues_of,
    share_reached,
    too_few,
)
from coherence.statistics.resample import less_means

FEW_GROUPS = "{n} too few for an interval over groups; {fewest} are needed"
FEWEST_GROUPS = 10
MANY = 5_000  # contexts from which permuted sums are drawn from their normal limit


def permuted_states(
    data: EvaluationData,
    contexts: Contexts,
    n_draws: int,
    rng: np.random.Generator,
    undefined: Sufficiency,
) -> Sufficiency:
    """Fill in the test of whether states of whole contexts are exchangeable at like belief."""
    cuts, pooled = permutation_blocks(contexts.belief, contexts.group)
    if few := too_few(cuts[0], contexts.state):
        return replace(undefined, reason=few, lack=Lack.CASES)
    basis = explained_by(contexts.belief, contexts.group)
    left = left_over(contexts.share, basis)
    if not left.any():
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED)
    slopes = _slopes(contexts, data)
    n_actions, n_states = len(data.actions), len(data.states)
    # Action and state of each difference; of two states, the one that the belief is in.
    states = [1] if n_states == 2 else range(n_states)
    pairs = [(action, state) for state in states for action in range(n_actions)]
    permuted = _permuted(left, slopes, pairs, cuts, contexts.state, n_draws, rng)
    # The pair whose share rises most with the belief: chosen without a look at states.
    shares = contexts.share.mean(axis=0)
    rises = shares if slopes is None else np.array([slopes[pair] for pair in pairs])
    headline = int(np.argmax(np.round(rises, 9)))
    details, shown = _details(data, contexts, basis, pairs, permuted)
    surest = int(np.argmax(np.abs(permuted.observed[1:])))
    # The one shown is chosen without a look at states, so that its interval covers.
    other = "" if slopes is not None or surest == headline else details["component"][surest]
    without_interval = _no_interval(contexts, pairs[headline][1])
    several = [f"{n_actions} actions"] * (n_actions > 2) + [f"{n_states} states"] * (n_states > 2)
    result = replace(
        undefined,
        reason=MOVES_MOST.format(other) if other else "",
        statistic=float(details["estimate"][headline]),
        pvalue=float(permuted.pvalues[0]),
        settings={
            **undefined.settings,
            **({"pooled": pooled} if pooled else {}),
            **permuted.settings,
        },
        component=details["component"][headline],
        tested=f"all {' and '.join(several)} together" if slopes is not None and several else None,
        details=details,
        assumptions=(
            "contexts are independent" if contexts.group is None else "groups are independent",
            EXACT_REPORT,
            "at similar belief, states are exchangeable under the null",
        ),
        contributions=(
            None
            if math.isnan(details["estimate"][headline])
            else by_context(shown.contributions[:, headline], contexts, data)
        ),
    )
    if without_interval:
        return result.noting(without_interval, result.reason)
    low, high = (float(details[end][headline]) for end in ("low", "high"))
    if high - low < 1e-9:
        return result.noting(NO_SPREAD.format("belief and state"), result.reason)
    error = "HC3 error over contexts" if contexts.group is None else "CR3 error over groups"
    interval = Interval(low, high, 0.95, f"{error}, Satterthwaite's degrees of freedom")
    return replace(result, interval=interval.within(-1.0, 1.0))


def _slopes(contexts: Contexts, data: EvaluationData) -> Floats | None:
    """Linear slope of each action on the belief in each state, shape (n_actions, n_states).

    None where beliefs are all the same, or not one for each state.
    """
    columns = contexts.belief.reshape(len(contexts.belief), -1)
    centred = columns - columns.mean(axis=0)
    if np.abs(centred).max() < 1e-9:
        return None
    slopes = np.linalg.lstsq(centred, contexts.share - contexts.share.mean(axis=0))[0].T
    return slopes if columns.shape[1] == len(data.states) else None


def _permuted(
    left: Floats,
    slopes: Floats | None,
    pairs: list[tuple[int, int]],
    cuts: list[Codes],
    state: Codes,
    n_draws: int,
    rng: np.random.Generator,
) -> Permuted:
    """Permute states; the p-values are those of the test, of each pair alone, and by max-t."""

    def score(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
        size, sizes = np.abs(observed), np.abs(drawn)
        largest = np.broadcast_to(sizes[:, 1:].max(axis=1, keepdims=True), (len(drawn), len(pairs)))
        of_test, among = size[:1], sizes[:, :1]
        if slopes is None:
            of_test, among = size[1:].max(keepdims=True), largest[:, :1]
        return np.hstack([of_test, size[1:], size[1:]]), np.hstack([among, sizes[:, 1:], largest])

    def standardised(blocks: Codes) -> tuple[Floats, Floats]:
        return _standardised(left, slopes, pairs, blocks, state)

    def statistic(blocks: Codes) -> Statistic:
        return partial(_sums, of_state=standardised(blocks)[0])

    if len(left) <= MANY:
        return permutation_test(statistic, score, cuts, state, n_draws, rng)
    reached, draws = [], []
    for blocks in cuts:  # each way of cutting has a limit of its own, and an equal part
        of_state, limit = standardised(blocks)
        drawn = rng.multivariate_normal(
            np.zeros(len(limit)), limit, size=-(-n_draws // len(cuts)), method="eigh"
        )
        reached.append(share_reached(*score(_sums(state[None], of_state)[0], drawn)))
        draws.append(drawn)
    together = np.concatenate(draws)
    pvalues = pvalues_of(np.mean(reached, axis=0), len(together))
    settings: dict[str, object] = {"n_permutations": len(together), "exact": False}
    observed = statistic(cuts[0])(state[None])[0]
    return Permuted(pvalues, observed, together, {**settings, "normal_limit": True})


def _sums(states: Codes, of_state: Floats) -> Floats:
    """Sum what contexts add in the state that each has, for every arrangement."""
    n_states, _, n_sums = of_state.shape
    sums = np.zeros((len(states), n_sums))
    for which in range(1 if n_states == 2 else 0, n_states):
        sums += np.asarray(states == which, dtype=np.float64) @ of_state[which]
    return sums


def _standardised(
    left: Floats,
    slopes: Floats | None,
    pairs: list[tuple[int, int]],
    blocks: Codes,
    state: Codes,
) -> tuple[Floats, Floats]:
    """What a context adds to each sum in each state, and the covariance of sums of variance 1.

    The first sum is the statistic, the others are those of the pairs.
    """
    n_blocks, n_states = int(blocks.max()) + 1, int(state.max()) + 1
    size = np.bincount(blocks, minlength=n_blocks).astype(np.float64)
    # What a block has on average adds the same to every arrangement.
    centred = less_means(left, blocks)
    of_state = np.zeros((n_states, len(left), 1 + len(pairs)))
    for at, (action, which) in enumerate(pairs, 1):
        of_state[which, :, at] = centred[:, action]
        if slopes is not None:
            of_state[which, :, 0] += slopes[action, which] * centred[:, action]
    covariance = _covariance(of_state, blocks, state, size)
    error = np.sqrt(np.diag(covariance))
    scale = np.where(error > 1e-12, error, np.inf)
    return of_state / scale, covariance / scale / scale[:, None]


def _covariance(of_state: Floats, blocks: Codes, state: Codes, size: Floats) -> Floats:
    """Covariance of the sums over all arrangements, shape (n_sums, n_sums)."""
    n_states, _, n_sums = of_state.shape
    held = np.zeros((size.size, n_states))
    np.add.at(held, (blocks, state), 1.0)
    pairs = np.maximum(size * (size - 1), 1.0)
    covariance = np.zeros((n_sums, n_sums))
    for first in range(n_states):
        for second in range(n_states):
            times = -held[:, first] * held[:, second] / pairs
            if first == second:
                times += held[:, first] * size / pairs
            covariance += (of_state[first] * times[blocks, None]).T @ of_state[second]
    return covariance


def _details(
    data: EvaluationData,
    contexts: Contexts,
    basis: Floats,
    pairs: list[tuple[int, int]],
    permuted: Permuted,
) -> tuple[pd.DataFrame, Differences]:
    """Tabulate the difference of every action between each state and all others."""
    records, parts = [], []
    for which in dict.fromkeys(state for _, state in pairs):
        holds = (contexts.state == which).astype(np.float64)
        found = differences(contexts.share, holds, basis, contexts.group)
        parts.append(found)
        other = data.states[0] if len(data.states) == 2 else f"not {data.states[which]}"
        for at, name in enumerate(data.difference_names(data.states[which], other)):
            low, high = found.interval(at)
            records.append((name, found.estimate[at], found.standard_error[at], low, high))
    columns = ["component", "estimate", "standard_error", "low", "high"]
    table = pd.DataFrame(records, columns=columns)
    table["pvalue_single"], table["pvalue_adjusted"] = np.split(permuted.pvalues[1:], 2)
    contributions = np.hstack([part.contributions for part in parts])
    return table, replace(parts[0], contributions=contributions)


def _no_interval(contexts: Contexts, state: int) -> str:
    """Say why there is no interval; empty where there is one."""
    if contexts.group is not None and (n := np.unique(contexts.group).size) < FEWEST_GROUPS:
        few = "1 group is" if n == 1 else f"{n} groups are"
        return FEW_GROUPS.format(n=few, fewest=FEWEST_GROUPS)
    return rare_state(contexts.state == state)
