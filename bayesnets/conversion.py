"""Networks to and from pgmpy, the interface for people who have their network there.

pgmpy is imported only when a model is made, because its import takes seconds. What comes from there
is recognised by what it offers, so that models of every class and version are taken.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesnets.codes import Floats
from bayesnets.network import Network
from bayesnets.node import Node, rescaled
from coherence.errors import InputError, listing
from coherence.runs.states import label_text

UNNAMED = ("", "unknown", "UNTITLED")
"""What bnlearn and pgmpy write into files where a network has no name."""
_ORDER = "order of variables"  # where a model keeps that of the network it was made from


@runtime_checkable
class PgmpyModel(Protocol):
    """What is asked of a pgmpy network: its conditional tables and its variables."""

    nodes: Any

    def get_cpds(self) -> Any:
        """Return the conditional distributions that were added."""


@runtime_checkable
class DiscreteTable(Protocol):
    """What is asked of a pgmpy table; only discrete ones have names of states."""

    variable: Any
    variables: Any
    state_names: Any
    values: Any


def to_pgmpy(network: Network) -> Any:
    """Return a pgmpy model with the same names, states and order of parents.

    Parameters
    ----------
    network : Network
        The model.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        With a table for every node, and the network's name.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> len(to_pgmpy(load_network("asia")).nodes())
    8
    """
    network = as_network(network)
    with warnings.catch_warnings():
        # pgmpy's import warns of its own later changes, which are no business of the caller.
        warnings.simplefilter("ignore", FutureWarning)
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork

        model = DiscreteBayesianNetwork()
        model.name = network.name
        model.graph[_ORDER] = network.names
        model.add_nodes_from(network.names)
        model.add_edges_from(
            (parent, node.name) for node in network.nodes for parent in node.parents
        )
        for node in network.nodes:
            table = TabularCPD(
                node.name,
                len(node.states),
                node.table.reshape(len(node.states), -1),
                evidence=list(node.parents) or None,
                evidence_card=list(node.table.shape[1:]) or None,
                state_names={
                    variable: list(network.states(variable))
                    for variable in (node.name, *node.parents)
                },
            )
            model.add_cpds(table)
    return model


def from_pgmpy(
    model: Any, *, name: str | None = None, title: str | None = None, source: str = "pgmpy model"
) -> Network:
    """Convert from pgmpy; states and names become text.

    Nodes are ordered by name where arrows allow it, or as in the network that the model was made
    from by `to_pgmpy`.

    Columns whose sums miss 1 by rounding, at most .01, are divided by them, with a warning.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        With a table for every node.
    name : str or None
        None takes the name of the model, or "network" where it has none.
    title, source : str
        What pgmpy does not keep.

    Returns
    -------
    Network
        Validated more strictly than pgmpy does.

    Raises
    ------
    InputError
        A node without a table, a node that is not discrete, two tables that disagree about a
        node's states, or a table that breaks a rule of `Network`.

    Examples
    --------
    >>> from bayesnets import load_network, to_pgmpy
    >>> asia = load_network("asia")
    >>> again = from_pgmpy(to_pgmpy(asia))
    >>> again.name, again.nodes == asia.nodes
    ('asia', True)
    """
    nodes = rescaled(nodes_from_pgmpy(model), "model")
    if name is None:
        name = own_name(model) or "network"
    return Network(name, title or name, source, False, tuple(nodes))


def own_name(model: Any) -> str:
    """Return the name of a pgmpy model, empty where it has none."""
    name = str(getattr(model, "name", None) or "")
    return "" if name in UNNAMED else name


def nodes_from_pgmpy(model: PgmpyModel) -> list[Node]:
    """Return the nodes of a pgmpy model by name; errors are those of `from_pgmpy`."""
    try:
        tables = {cpd.variable: cpd for cpd in model.get_cpds()}
    except (AttributeError, TypeError) as error:
        raise InputError(
            "model must be a pgmpy.models.DiscreteBayesianNetwork; received "
            f"{type(model).__name__}. Read files with read_network."
        ) from error
    continuous = sorted(
        str(variable) for variable, cpd in tables.items() if not isinstance(cpd, DiscreteTable)
    )
    if continuous:
        raise InputError(
            f"model must have discrete tables; {listing(continuous)} have none. "
            "Discretise these variables."
        )
    without = sorted(str(variable) for variable in model.nodes() if variable not in tables)
    if without:
        raise InputError(
            f"model must have a table for every node; {listing(without)} have none. "
            "Add them with add_cpds."
        )
    # By name, because the order of a pgmpy graph can depend on PYTHONHASHSEED.
    order = list(getattr(model, "graph", {}).get(_ORDER, ()))
    ordered = sorted(
        tables, key=lambda name: (order.index(name) if name in order else len(order), str(name))
    )
    return [
        Node(
            label_text(variable),
            tuple(label_text(state) for state in tables[variable].state_names[variable]),
            tuple(label_text(parent) for parent in tables[variable].variables[1:]),
            _in_state_order(tables[variable], tables),
        )
        for variable in ordered
    ]


def _in_state_order(cpd: DiscreteTable, tables: Mapping[Any, DiscreteTable]) -> Floats:
    """Return the table with every parent's states in the order of the parent's table."""
    table = np.asarray(cpd.values, dtype=float)
    for axis, parent in enumerate(cpd.variables[1:], start=1):
        # As text, which they become: one table may have True where another has 'True'.
        listed = list(map(label_text, cpd.state_names[parent]))
        # A parent without a table is reported by `Network`, which knows all nodes.
        own = tables[parent].state_names[parent] if parent in tables else listed
        ordered = list(map(label_text, own))
        if sorted(listed) != sorted(ordered):
            raise InputError(
                f"states of {str(parent)!r} must agree between its own table and that of "
                f"{str(cpd.variable)!r}; they are {listing(ordered)} and {listing(listed)}. "
                "Pass state_names to both tables."
            )
        table = table.take([listed.index(state) for state in ordered], axis=axis)
    return table


def own_states(network: Any, node: Node) -> Sequence[Any]:
    """Return the states of a node as the network that it comes from has them."""
    if isinstance(network, Network):
        return node.states
    tables = (cpd for cpd in network.get_cpds() if label_text(cpd.variable) == node.name)
    return list(next(cpd.state_names[cpd.variable] for cpd in tables))


def as_network(network: Any) -> Network:
    """Return a `Network` for a `Network` or a pgmpy model, or an `InputError` for anything else."""
    if isinstance(network, Network):
        return network
    if isinstance(network, PgmpyModel):
        return from_pgmpy(network)
    raise InputError(
        f"network must be a Network or a pgmpy model, not {type(network).__name__}. "
        "Read one with load_network."
    )
