"""Belief sufficiency over more than two states: realised states permuted at like belief.

What a spline of the beliefs leaves of the actions is weighed by their linear slopes on the beliefs
and summed over the contexts in which a state holds. Beliefs over several states have no order for
the sequences that two states are tested by.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

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
from coherence.result import EXACT_REPORT, Interval, Lack, joined_reasons
from coherence.statistics import permutation
from coherence.statistics.adjustment import differences, explained_by, left_over
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import less_means

FEW_GROUPS = "{n} groups are too few for an interval over groups; {fewest} are needed"
FEWEST_GROUPS = 10


def permuted_states(
    data: EvaluationData,
    contexts: permutation.Contexts,
    n_draws: int,
    rng: np.random.Generator,
    undefined: partial[Sufficiency],
) -> Sufficiency:
    """Fill in the test of whether states of whole contexts are exchangeable at like belief."""
    cuts = permutation.permutation_blocks(contexts.belief, contexts.group)
    if few := permutation.too_few(cuts[0], contexts):
        return undefined(reason=few, lack=Lack.CASES)
    basis = explained_by(contexts.belief, contexts.group)
    left = left_over(contexts.share, basis)
    if not left.any():
        return undefined(statistic=0.0, pvalue=1.0, reason=SETTLED)
    slopes = _slopes(contexts, data)
    n_actions, n_states = len(data.actions), len(data.states)
    # Action and state of each difference; of two states, the one that the belief is in.
    states = [1] if n_states == 2 else range(n_states)
    pairs = [(action, state) for state in states for action in range(n_actions)]

    def score(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
        """Rank the test, each pair alone, and by max-t; without slopes max-t is the test."""
        size, sizes = np.abs(observed), np.abs(drawn)
        largest = np.broadcast_to(sizes[:, 1:].max(axis=1, keepdims=True), (len(drawn), len(pairs)))
        of_test, among = size[:1], sizes[:, :1]
        if slopes is None:
            of_test, among = size[1:].max(keepdims=True), largest[:, :1]
        return np.hstack([of_test, size[1:], size[1:]]), np.hstack([among, sizes[:, 1:], largest])

    def statistic(blocks: Codes) -> permutation.Statistic:
        return partial(_sums, of_state=_standardised(left, slopes, pairs, blocks, contexts.state))

    pvalues, observed, _, of_draws = permutation.permutation_test(
        statistic, score, cuts, contexts.state, n_draws, rng
    )
    # The pair whose share rises most with the belief: chosen without a look at states, so that its
    # interval covers.
    shares = contexts.share.mean(axis=0)
    rises = shares if slopes is None else np.array([slopes[pair] for pair in pairs])
    shown = int(np.argmax(np.round(rises, 9)))
    tables, parts = [], []
    for which in states:
        held = (contexts.state == which).astype(np.float64)
        table, added = differences(contexts.share, held, basis, contexts.group)
        other = data.states[0] if n_states == 2 else f"not {data.states[which]}"
        table.insert(0, "component", data.difference_names(data.states[which], other))
        tables.append(table)
        parts.append(added)
    details = pd.concat(tables, ignore_index=True)
    details["pvalue_single"], details["pvalue_adjusted"] = np.split(pvalues[1:], 2)
    row: dict[str, Any] = details.loc[shown].to_dict()  # type: ignore[assignment]
    surest = int(np.argmax(np.abs(observed[1:])))
    other = "" if slopes is not None or surest == shown else details["component"][surest]
    several = [f"{n_actions} actions"] * (n_actions > 2) + [f"{n_states} states"] * (n_states > 2)
    added = np.hstack(parts)[:, shown]
    no_interval = rare_state(contexts.state == pairs[shown][1])
    if contexts.group is not None and (n := np.unique(contexts.group).size) < FEWEST_GROUPS:
        no_interval = FEW_GROUPS.format(n=n, fewest=FEWEST_GROUPS)
    elif not no_interval and row["high"] - row["low"] < 1e-9:
        no_interval = NO_SPREAD.format("belief and state")
    error = "HC3 error over contexts" if contexts.group is None else "CR3 error over groups"
    method = f"{error}, Satterthwaite's degrees of freedom"
    interval = Interval(float(row["low"]), float(row["high"]), 0.95, method)
    by_case = permutation.by_context(added, contexts, data)
    return undefined(
        reason=joined_reasons(no_interval, MOVES_MOST.format(other) if other else ""),
        interval=None if no_interval else interval.within(-1.0, 1.0),
        statistic=float(row["estimate"]),
        pvalue=float(pvalues[0]),
        settings={**undefined.keywords["settings"], **of_draws},
        component=row["component"],
        tested=f"all {' and '.join(several)} together" if slopes is not None and several else None,
        details=details,
        assumptions=(
            "contexts are independent" if contexts.group is None else "groups are independent",
            EXACT_REPORT,
            "at similar belief, states are exchangeable under the null",
        ),
        contributions=None if math.isnan(row["estimate"]) else by_case,
    )


def _slopes(contexts: permutation.Contexts, data: EvaluationData) -> Floats | None:
    """Linear slope of each action on the belief in each state, shape (n_actions, n_states).

    None where beliefs are all the same, or not one for each state.
    """
    columns = contexts.belief.reshape(len(contexts.belief), -1)
    centred = columns - columns.mean(axis=0)
    if np.abs(centred).max() < 1e-9 or columns.shape[1] != len(data.states):
        return None
    return np.asarray(np.linalg.lstsq(centred, contexts.share - contexts.share.mean(axis=0))[0].T)


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
) -> Floats:
    """What a context adds in each state to each sum, of variance 1 over all arrangements.

    The first sum is the statistic, the others are those of the pairs. Shape (n_states, n, n_sums).
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
    held = np.zeros((n_blocks, n_states))
    np.add.at(held, (blocks, state), 1.0)
    variance, times = np.zeros(1 + len(pairs)), np.maximum(size * (size - 1), 1.0)
    for first in range(n_states):
        for second in range(n_states):
            each = held[:, first] * ((first == second) * size - held[:, second]) / times
            variance += (of_state[first] * each[blocks, None] * of_state[second]).sum(axis=0)
    error = np.sqrt(np.maximum(variance, 0.0))
    return of_state / np.where(error > 1e-12, error, np.inf)
