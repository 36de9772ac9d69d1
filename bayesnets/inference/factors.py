"""The tables that a question needs: factors (Koller and Friedman 2009, section 4.2) to multiply.

What the rows of evidence have in common is used before any sum is taken: nodes that no observation
depends on sum to one and are left out ("barren" nodes, Shachter 1986), and a variable that all rows
observe in the same state is sliced away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesnets.codes import Codes, Flags, Floats
from bayesnets.network import Network


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
    settled |= np.array(state_numbers(network)) == 1  # a single state is as good as observed
    settled[list(targets)] = False
    state = np.maximum(codes[0], 0)
    needed = ever.copy()
    needed[list(targets)] = True
    tables = []
    # Children before parents, so that who needs a node is known when its turn comes.
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
