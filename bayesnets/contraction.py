"""Sum-product for many evidence rows in one tensor contraction.

Every conditional table becomes a factor; all factors that depend on the evidence share one batch index over the rows. A variable observed in all
rows of a group is sliced away by its codes; one observed in some rows only gets a likelihood vector, one-hot where observed and ones elsewhere,
which is the same sum (Koller and Friedman 2009, section 9.3). Exact up to rounding.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import opt_einsum
import pandas as pd

from bayesnets.network import Network

MAX_BYTES = 128 * 2**20  # the largest intermediate of one chunk
WORTH_A_SPLIT = 6e7  # operations of one contraction above which planning two cheaper ones pays; measured

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def joint(network: Network, codes: Codes, target: int | None, *, max_bytes: int = MAX_BYTES) -> Floats:
    """Return P(target = state, evidence) for every row.

    Parameters
    ----------
    network : Network
        The model.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Positions of the observed states, -1 where unobserved; in the order of `network.nodes`.
    target : int or None
        Position of the target; its own column of `codes` must be -1. None asks for P(evidence).
    max_bytes : int
        The largest intermediate array.

    Returns
    -------
    ndarray, shape (n_rows, n_states), or (n_rows,) without target
        Joint probabilities.
    """
    rows, inverse = distinct_rows(codes)
    shape = (len(rows),) if target is None else (len(rows), len(network.nodes[target].states))
    result = np.empty(shape)
    if len(rows):
        _contract(network, rows, target, max_bytes, result, np.arange(len(rows)))
    return result[inverse]


def distinct_rows(codes: Codes) -> tuple[Codes, Codes]:
    """Return the distinct rows in order of appearance, and the position of every row among them.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows, n_columns)
        Each at least -1.

    Returns
    -------
    ndarray, shape (n_distinct, n_columns)
        Each row once.
    ndarray, shape (n_rows,)
        `distinct[position]` is `codes`.

    Examples
    --------
    >>> distinct, position = distinct_rows(np.array([[1, -1], [0, 0], [1, -1]]))
    >>> distinct.tolist(), position.tolist()
    ([[1, -1], [0, 0]], [0, 1, 0])
    """
    key = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in codes.T:
        width = int(column.max(initial=-1)) + 2
        if size * width > 2**62:  # the mixed-radix key would overflow: number the rows so far afresh
            key = pd.factorize(key)[0].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key = key * width + column + 1
        size *= width
    position, uniques = pd.factorize(key)
    first = np.zeros(len(uniques), dtype=np.int64)
    first[position[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], position.astype(np.int64)


def _contract(network: Network, rows: Codes, target: int | None, max_bytes: int, result: Floats, members: Codes) -> None:
    """Fill `result[members]`, splitting the members by whether some variable is observed until one contraction of each part is cheap."""
    codes = rows[members]
    ever: Flags = np.any(codes >= 0, axis=0)
    always: Flags = np.all(codes >= 0, axis=0)
    kept = _relevant(network, ever, target)
    chunk = min(len(codes), 1024)
    operands = _operands(network, codes[:chunk], target, kept, ever, always)
    path, plan = opt_einsum.contract_path(*operands, optimize="greedy")
    mixed = np.flatnonzero(ever & ~always)
    if mixed.size and float(plan.opt_cost) * len(codes) / chunk > WORTH_A_SPLIT:
        observed = codes[:, _widest(network, mixed, kept)] >= 0
        for part in (members[observed], members[~observed]):
            _contract(network, rows, target, max_bytes, result, part)
        return
    rows_per_chunk = max(1, int(max_bytes / 8 / (float(plan.largest_intermediate) / chunk)))
    for start in range(0, len(codes), rows_per_chunk):
        piece = slice(start, start + rows_per_chunk)
        result[members[piece]] = opt_einsum.contract(*_operands(network, codes[piece], target, kept, ever, always), optimize=path)


def _widest(network: Network, mixed: Codes, kept: list[int]) -> int:
    """Return the variable that shares the largest tables with others: slicing it away saves most."""
    entries = np.zeros(len(network.nodes))
    for position in kept:
        node = network.nodes[position]
        entries[[position, *(network.index(parent) for parent in node.parents)]] += node.table.size
    return int(mixed[entries[mixed].argmax()])


def _relevant(network: Network, ever: Flags, target: int | None) -> list[int]:
    """Return the positions of the nodes that matter: the others have no observed descendant and sum to one."""
    needed = ever.copy()
    if target is not None:
        needed[target] = True
    for position in reversed(range(len(network.nodes))):
        if needed[position]:
            needed[[network.index(parent) for parent in network.nodes[position].parents]] = True
    return [int(position) for position in np.flatnonzero(needed)]


def _operands(network: Network, codes: Codes, target: int | None, kept: list[int], ever: Flags, always: Flags) -> list[Any]:
    """Return arrays and index lists in opt_einsum's interleaved form; node i has index i, and the rows have index len(nodes)."""
    batch = len(network.nodes)
    # A factor of ones carries the batch index when no other factor does.
    operands: list[Any] = [np.ones(len(codes)), [batch]]
    for position in kept:
        node = network.nodes[position]
        family = [position, *(network.index(parent) for parent in node.parents)]
        free = [member for member in family if not always[member]]
        if len(free) == len(family):
            operands += [node.table, family]
        else:
            # The free axes go last, so that one indexing by the observed axes yields (rows, *free axes).
            fixed = [member for member in family if always[member]]
            table = node.table.transpose([family.index(member) for member in fixed + free])
            operands += [table[tuple(codes[:, member] for member in fixed)], [batch, *free]]
        if ever[position] and not always[position]:
            column = codes[:, position]
            likelihood = (column[:, None] == np.arange(len(node.states))) | (column[:, None] < 0)
            operands += [likelihood.astype(float), [batch, position]]
    return [*operands, [batch] if target is None else [batch, target]]
