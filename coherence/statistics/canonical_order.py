"""One order of the same data, and folds by what contexts hold: no name and no seed enters them.

Repeated cross-validation has as many results as assignments of folds. Where contexts draw theirs
from what they hold, the same data have one result, under any ids and in any order of the rows.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.evaluation import EvaluationData

CELLS = 1000 * math.pi  # of the probabilities by which contexts are assigned to folds

Evidence = tuple[Floats, NDArray[np.object_]]
"""Features as numbers and words, see `coherence.statistics.learners.as_features`."""


def in_canonical_order(
    data: EvaluationData, evidence: Evidence | None = None
) -> tuple[EvaluationData, Evidence | None, NDArray[np.uint64]]:
    """Tell the same data in the same way, and number contexts by what they hold.

    Rows that arrive in another order, contexts with other ids, actions or states with other labels,
    a belief in the other of two states and states in another order are the same data, and must fall
    into the same folds, and do unless mean beliefs tie. The numbers, shape (n_contexts,), are for
    `context_folds`.
    """
    belief = data.belief.reshape(data.n_rows, -1)
    if belief.shape[1] > 1:
        belief = belief[:, np.argsort([math.fsum(column) for column in belief.T], kind="stable")]
    elif math.fsum(data.belief) < data.n_rows / 2:
        belief = np.round(1 - belief, 9)
    by_action = _by_belief(data.share, belief[:, 0])
    by_state = _by_belief(data.truth[:, None] == np.arange(len(data.states)), belief[:, 0])
    truth = np.argsort(by_state)[data.truth]
    share = data.share[:, by_action]
    columns = [*belief.T, truth, *share.T]
    if evidence is not None:
        columns += [*evidence[0].T, *(column.astype(str) for column in evidence[1].T)]
    rows = _ranks(columns)
    contexts = _context_order(rows, data.context, data.n_contexts)
    context = np.argsort(contexts)[data.context]
    content = _content(np.column_stack([belief, share]), truth, context)
    order = np.lexsort((rows, context))
    chosen = data.policy is None
    ordered = replace(
        data,
        belief=belief[order].reshape(data.belief.shape),
        action=np.argsort(by_action)[data.action[order]] if chosen else data.action,
        truth=truth[order],
        context=context[order],
        actions=_reordered(data.actions, by_action),
        states=_reordered(data.states, by_state),
        contexts=_reordered(data.contexts, contexts),
        policy=None if chosen else share[order],
    )
    if evidence is not None:
        evidence = evidence[0][order], evidence[1][order]
    return ordered, evidence, content


def _reordered(labels: tuple[Any, ...], order: Codes) -> tuple[Any, ...]:
    return tuple(labels[position] for position in order)


def _by_belief(share: NDArray[Any], belief: Floats) -> Codes:
    """Order labels, of shares of rows of shape (n, n_labels), by the mean belief where they occur.

    It hardly ever changes with a context more or less; frequency would, where labels are balanced.
    """
    keys = []
    for position, column in enumerate(share.T):
        # Exact sums: those of another order of the rows must not differ in the last bit.
        total = math.fsum(column)
        mean = round(math.fsum(column * belief) / total, 9) if total else 0.0
        keys.append((mean, total, position))
    return np.array([key[-1] for key in sorted(keys)], dtype=np.int64)


def _content(probabilities: Floats, truth: Codes, context: Codes) -> NDArray[np.uint64]:
    """Number contexts by what they hold, shape (n_contexts,); those that are alike are counted."""
    # No decimal fraction lies on a line of this grid: a last bit hardly ever moves one.
    cells = pd.DataFrame(np.floor(probabilities * CELLS).astype(np.int64)).assign(truth=truth)
    rows = pd.util.hash_pandas_object(cells, index=False)
    held = rows.groupby(context).sum()  # modulo 2**64, in any order of the rows
    apart = pd.DataFrame({"held": held, "number": held.groupby(held).cumcount()})
    return np.asarray(pd.util.hash_pandas_object(apart, index=False), dtype=np.uint64)


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
