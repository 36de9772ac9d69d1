"""The tables that a question needs, and evidence rows as positions of states.

Evidence is a whole-number array with one row per case and one column per node, -1 where unobserved.
What the rows have in common is used before any sum is taken: nodes that no observation depends on
sum to one and are left out (Koller and Friedman 2009, section 9.3), and a variable that all rows
observe in the same state is sliced away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesnets.network import Network

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers over the states of some variables.

    Parameters
    ----------
    scope : tuple of int
        Positions of the variables, ascending.
    values : ndarray
        One axis per variable of the scope.
    """

    scope: tuple[int, ...]
    values: Floats


def state_numbers(network: Network) -> tuple[int, ...]:
    """Return how many states each node has.

    Parameters
    ----------
    network : Network
        The model.

    Returns
    -------
    tuple of int
        In the order of `network.nodes`.
    """
    return tuple(len(node.states) for node in network.nodes)


def relevant_tables(network: Network, codes: Codes, targets: Sequence[int]) -> list[Table]:
    """Return the tables whose product, summed over what is unobserved, is P(targets, evidence).

    Parameters
    ----------
    network : Network
        The model.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Observed states, at least one row.
    targets : sequence of int
        Positions of variables that no row observes.

    Returns
    -------
    list of Table
        One per node that matters; variables with a single state, or observed in one state by all
        rows, are sliced away.
    """
    ever: Flags = np.any(codes >= 0, axis=0)
    settled: Flags = np.all(codes == codes[0], axis=0)
    settled &= ever
    settled |= np.array(state_numbers(network)) == 1
    settled[list(targets)] = False
    state = np.maximum(codes[0], 0)
    needed = ever.copy()
    needed[list(targets)] = True
    tables = []
    for position in reversed(range(len(network.nodes))):
        if not needed[position]:
            continue
        node = network.nodes[position]
        family = [position, *(network.index(parent) for parent in node.parents)]
        needed[family] = True
        sliced = node.table[
            tuple(state[member] if settled[member] else slice(None) for member in family)
        ]
        free = [member for member in family if not settled[member]]
        ascending = sorted(range(len(free)), key=free.__getitem__)
        tables.append(
            Table(
                tuple(free[axis] for axis in ascending),
                np.array(sliced.transpose(ascending), order="C"),
            )
        )
    return tables


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
        if (
            size * width > 2**62
        ):  # the mixed-radix key would overflow: number the rows so far afresh
            key = pd.factorize(key)[0].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key = key * width + column + 1
        size *= width
    position, uniques = pd.factorize(key)
    first = np.zeros(len(uniques), dtype=np.int64)
    first[position[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], position.astype(np.int64)
