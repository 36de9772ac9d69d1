"""Choices in an order that their contents give: fold assignment by it depends on no name or seed.

Rows that arrive in another order, contexts with other ids and actions or states with other labels
are the same data, and a verdict on them must be the same.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.choices import ChoiceData

Evidence = tuple[Floats, NDArray[np.object_]]
"""Features as numbers and words, see `coherence.statistics.learners.as_features`."""


def in_canonical_order(
    data: ChoiceData, evidence: Evidence | None = None
) -> tuple[ChoiceData, Evidence | None]:
    """Sort rows and contexts by what they hold, and number actions and states by what they do."""
    belief = data.belief.reshape(data.n_rows, -1)
    # A label counts by how often it occurs and what is believed there, not by how it is spelled.
    by_action = _by_frequency(data.share, belief)
    by_state = _by_frequency(data.truth[:, None] == np.arange(len(data.states)), belief)
    truth = np.argsort(by_state)[data.truth]
    policy = None if data.policy is None else data.policy[:, by_action]
    action = data.action if policy is not None else np.argsort(by_action)[data.action]
    chosen = action[:, None] if policy is None else policy
    columns = [*belief.T, truth]
    if evidence is not None:
        columns += [*evidence[0].T, *(column.astype(str) for column in evidence[1].T)]
    rows = _ranks([*columns, *chosen.T])
    contexts = _context_order(rows, data.context, data.n_contexts)
    context = np.argsort(contexts)[data.context]
    order = np.lexsort((rows, context))
    ordered = replace(
        data,
        belief=data.belief[order],
        action=action if policy is not None else action[order],
        truth=truth[order],
        context=context[order],
        actions=_reordered(data.actions, by_action),
        states=_reordered(data.states, by_state),
        contexts=_reordered(data.contexts, contexts),
        policy=None if policy is None else policy[order],
    )
    if evidence is None:
        return ordered, None
    return ordered, (evidence[0][order], evidence[1][order])


def _reordered(labels: tuple[Any, ...], order: Codes) -> tuple[Any, ...]:
    return tuple(labels[position] for position in order)


def _by_frequency(share: NDArray[Any], belief: Floats) -> Codes:
    """Order of labels, from their share of every row, shape (n, n_labels): frequent ones first."""
    keys = []
    for position, column in enumerate(share.T):
        # Exact sums: those of another order of the rows must not differ in the last bit.
        of_belief = [math.fsum(column * beliefs) for beliefs in belief.T]
        keys.append((-math.fsum(column), *of_belief, position))
    return np.array([key[-1] for key in sorted(keys)], dtype=np.int64)


def _ranks(columns: list[NDArray[Any]]) -> Codes:
    """Rank of every row in the lexicographic order of the columns; equal rows share one."""
    ranks = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)  # missing numbers are one value
        ranks = np.unique(ranks * values.size + codes, return_inverse=True)[1]
    return ranks


def _context_order(rows: Codes, context: Codes, n_contexts: int) -> Codes:
    """Positions of contexts, ordered by the sorted ranks of their rows."""
    order = np.lexsort((rows, context))
    # Numbers with the highest byte first compare as their bytes do, and bytes sort fast.
    content = rows[order].astype(">u4").tobytes()
    ends = 4 * np.cumsum(np.bincount(context, minlength=n_contexts))
    begins = [0, *ends[:-1].tolist()]
    of_context = [content[a:b] for a, b in zip(begins, ends.tolist(), strict=True)]
    return np.array(sorted(range(n_contexts), key=of_context.__getitem__), dtype=np.int64)
