"""P(targets, evidence) for many evidence rows, by the cheaper of two exact algorithms.

Elimination suits networks whose variables depend on few others, however many they are; sums over
parts of the joint table suit networks with many arrows and few joint states. Where neither is
cheap, the rows are split by the state of a variable in the costliest step, which is then sliced
away.
"""

from collections.abc import Sequence

import numpy as np

from bayesnets.codes import Codes, Floats, distinct_rows
from bayesnets.inference import elimination, joint_table
from bayesnets.inference.factors import relevant_tables, state_numbers
from bayesnets.network import Network
from coherence.errors import InputError

MAX_BYTES = 128 * 2**20  # the largest intermediate of one chunk
# working memory per row and node; rows are taken in chunks that keep it within the same bound
BYTES_PER_CODE = 64
# operations of one elimination above which planning several cheaper ones pays; measured
SPLIT_COST = 1e8
SPLIT_CELLS = 4096  # and the entries per row of its costliest step


def joint(
    network: Network, codes: Codes, targets: Sequence[int] = (), *, max_bytes: int = MAX_BYTES
) -> Floats:
    """Return P(targets, evidence) for every row.

    Parameters
    ----------
    network : Network
        The model.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Positions of the observed states, -1 where unobserved; in the order of `network.nodes`.
    targets : sequence of int
        Positions of the targets; their own columns of `codes` must be -1. None asks for
        P(evidence).
    max_bytes : int
        The largest intermediate array.

    Returns
    -------
    ndarray, shape (n_rows, *states of the targets)
        Joint probabilities.

    Raises
    ------
    InputError
        A single row needs a table of more than `max_bytes`.
    """
    numbers = state_numbers(network)
    result = np.empty((len(codes), *(numbers[target] for target in targets)))
    n_chunk = max(1, max_bytes // (BYTES_PER_CODE * len(numbers)))
    for start in range(0, len(codes), n_chunk):
        rows, position = distinct_rows(codes[start : start + n_chunk])
        result[start : start + n_chunk] = _answered(network, rows, targets, numbers, max_bytes)[
            position
        ]
    return result


def _answered(
    network: Network, rows: Codes, targets: Sequence[int], numbers: Sequence[int], max_bytes: int
) -> Floats:
    """Answer the rows together, or in parts where that is cheaper or memory asks for it."""
    result = np.empty((len(rows), *(numbers[target] for target in targets)))
    waiting = [np.arange(len(rows))]
    # Parts are planned afresh: with a variable sliced away, the other algorithm may be cheaper.
    while waiting:
        members = waiting.pop()
        part = rows[members]
        tables = relevant_tables(network, part, targets)
        order = elimination.plan(tables, part, targets, numbers)
        entries = joint_table.joint_states(tables, targets, numbers)
        if 8 * entries <= max_bytes and entries < order.cost:
            route = joint_table.walk(tables, part, targets, numbers)
            if route.cost < order.cost:
                result[members] = joint_table.sums(tables, route, targets, numbers)
                continue
        if len(part) == 1 and 8 * order.largest > max_bytes:
            raise InputError(
                "max_bytes must hold the largest table that a row of evidence needs in network "
                f"{network.name!r}; it is {max_bytes}, and a row needs "
                f"{8 * order.largest} bytes. Observe more variables, ask for fewer targets or "
                "raise max_bytes."
            )
        pieces = _pieces(part, order, numbers, max_bytes)
        if len(pieces) == 1:
            result[members] = elimination.eliminate(order, tables, part, targets, numbers)
        else:
            waiting.extend(members[piece] for piece in pieces)
    return result


def _pieces(
    codes: Codes, order: elimination.EliminationPlan, numbers: Sequence[int], max_bytes: int
) -> list[Codes]:
    """Return the rows in parts that are cheaper or fit into memory; one part if they do already."""
    differing = [
        variable for variable in order.widest if (codes[:, variable] != codes[0, variable]).any()
    ]
    cells = np.prod([float(numbers[variable]) for variable in order.widest])
    costly = order.cost > SPLIT_COST and cells > SPLIT_CELLS
    if differing and (costly or 8 * order.largest > max_bytes):
        # The variable that the most rows observe: in each part it is settled, and sliced away.
        n_observed = [np.count_nonzero(codes[:, variable] >= 0) for variable in differing]
        _, variable = max(zip(n_observed, differing, strict=True))
        column = codes[:, variable]
        return [np.flatnonzero(column == state) for state in np.unique(column)]
    n_chunk = max(1, max_bytes // (8 * order.largest))
    return [
        np.arange(start, min(start + n_chunk, len(codes)))
        for start in range(0, len(codes), n_chunk)
    ]
