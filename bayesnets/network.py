"""Discrete Bayesian networks as frozen data: nodes, networks, and networks to and from pgmpy.

A network is a list of nodes in topological order, each with a conditional table whose first axis
runs over the node's own states (Koller and Friedman 2009, section 3.2). A table that does not sum
to one is refused, unless rounding explains it. JSON is the network's own format; the others are in
`bayesnets.files`. pgmpy is imported only when a model is made, because its import takes seconds;
what comes from there is recognised by what it offers.
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesnets.support import Floats, Support
from coherence.errors import InputError, listing, suggestion
from coherence.printable import counted
from coherence.runs.states import label_text

TOLERANCE = 1e-8  # how far the sum of a conditional column may lie from one
MOST_ROUNDING = 0.01  # a sum further from one than this was not rounded but mistaken


@dataclass(frozen=True, eq=False)
class Node:
    """A variable with its conditional table.

    Parameters
    ----------
    name : str
        Any non-empty text; spaces and commas are allowed.
    states : tuple of str
        At least one, unique.
    parents : tuple of str
        Names of the parents, in the order of the table's axes.
    table : ndarray, shape (n_states, *n_states of each parent)
        P(state | parents); sums to one along the first axis.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: Floats

    def __post_init__(self) -> None:
        for key, value in (("states", self.states), ("parents", self.parents)):
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InputError(
                    f"{key} of node {self.name!r} must be a sequence of names, not {value!r}. "
                    "Put it in a list."
                )
            object.__setattr__(self, key, tuple(value))
        if (entry := first_no_number(self.table)) is not None:
            raise InputError(
                f"table of node {self.name!r} must hold numbers; the first other entry is "
                f"{entry!r}. Write probabilities as numbers, without quotation marks."
            )
        try:
            # Of a complex number the cast would keep a half, and only warn.
            if np.iscomplexobj(self.table):
                raise TypeError("these are complex numbers")
            # One memory layout, because rounding depends on the order in which a column is summed.
            table = np.array(self.table, dtype=float, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"table of node {self.name!r} must be a full array of numbers: {error}. "
                "Give every column all its entries."
            ) from error
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        labels = (self.name, self.states, self.parents)
        same_labels = labels == (other.name, other.states, other.parents)
        return same_labels and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        # Without the table, whose bytes can differ where its numbers do not (0 and -0).
        return hash((self.name, self.states, self.parents))


def first_no_number(table: object) -> str | bool | None:
    """Return the first text or truth value of a table, which numpy would read as a number."""
    if isinstance(table, np.ndarray) and table.dtype.kind in "fiu":
        return None
    try:
        entries = np.asarray(table, dtype=object).ravel().tolist()
    except ValueError:  # lists of unequal depth, which have no shape
        return None
    wrong = (entry for entry in entries if isinstance(entry, str | bool | np.bool_))
    return next((bool(each) if isinstance(each, np.bool_) else each for each in wrong), None)


def check_node_labels(nodes: Sequence[Node]) -> None:
    """Refuse nodes without, or with repeated or unknown, names, states or parents."""
    names = [node.name for node in nodes]
    if not names:
        raise InputError("nodes must hold at least one node, not none. Add one.")
    for position, node in enumerate(nodes):
        if not isinstance(node.name, str) or not node.name:
            raise InputError(
                f"name of node {position} must be non-empty text, not {node.name!r}. Name it."
            )
        if names.index(node.name) != position:
            raise InputError(
                f"names must be unique; {node.name!r} is the name of nodes "
                f"{names.index(node.name)} and {position}. Rename one."
            )
        for key, labels in (("states", node.states), ("parents", node.parents)):
            named = all(isinstance(label, str) and label for label in labels)
            if not named or len(set(labels)) < len(labels):
                raise InputError(
                    f"{key} of node {node.name!r} must be non-empty texts without repetition, not "
                    f"{labels!r}. Correct them."
                )
        if not node.states:
            raise InputError(f"states of node {node.name!r} must not be empty. List them.")
        for parent in node.parents:
            if parent not in names:
                raise InputError(
                    f"parents of node {node.name!r} must be nodes; {parent!r} is not. "
                    f"{suggestion(parent, names)}"
                )


def check_table(node: Node, parent_states: list[tuple[str, ...]]) -> None:
    """Refuse a table of another shape than the states ask for, or that holds no distributions."""
    expected = (len(node.states), *map(len, parent_states))
    if node.table.shape != expected:
        raise InputError(
            f"table of node {node.name!r} must have shape {expected} (own states, then each "
            f"parent's), not {node.table.shape}. Reorder or complete it."
        )
    # Conditions are stated so that NaN, which compares as false, breaks them.
    outside = ~((node.table >= 0) & (node.table <= 1))
    wrong = outside.any(axis=0) | ~(np.abs(node.table.sum(axis=0) - 1) <= TOLERANCE)
    if not wrong.any():
        return
    where = tuple(np.argwhere(wrong)[0])
    pairs = [
        f"{parent}={states[code]}"
        for parent, states, code in zip(node.parents, parent_states, where, strict=True)
    ]
    column = node.table[(slice(None), *where)]
    raise InputError(
        f"table of node {node.name!r} must hold distributions over its states (in [0, 1], sum 1 "
        f"within {TOLERANCE:g}); "
        f"{int(wrong.sum())} of {wrong.size} columns do not, the first is "
        f"{[float(value) for value in column]} with sum {float(column.sum()):.10g} "
        f"at {', '.join(pairs) or 'the only column'}. "
        "Correct the entries or divide them by their sum."
    )


def rescaled(nodes: list[Node], where: str) -> list[Node]:
    """Divide columns whose sums miss one by rounding by these, and warn about it.

    Files in the wild hold rounded numbers. What misses one by more than .01 is left for `Network`
    to refuse.
    """
    result, changed, furthest, n_columns = [], [], 0.0, 0
    for node in nodes:
        total = node.table.sum(axis=0)
        gap = np.abs(total - 1)
        # A tenth of the tolerance: on its edge, the order of the summands would decide. Stated so
        # that NaN, which compares as false, stays.
        rounded = (gap > TOLERANCE / 10) & (gap <= MOST_ROUNDING * (1 + 1e-9))
        if not rounded.any():
            result.append(node)
            continue
        result.append(replace(node, table=np.where(rounded, node.table / total, node.table)))
        changed.append(node.name)
        furthest = max(furthest, float(gap[rounded].max()))
        n_columns += int(rounded.sum())
    if changed:
        columns = f"{counted(n_columns, 'column')} {'was' if n_columns == 1 else 'were'}"
        warnings.warn(
            f"{where}: {columns} divided by the sum, which was up to {furthest:.2g} away from 1; "
            f"tables of {listing(map(repr, changed))}",
            stacklevel=3,  # the caller of the public function
        )
    return result


TABLE_KINDS = ("published", "illustrative", "fitted")
"""Where tables can come from: a publication, this project's own choice for teaching, data."""


@dataclass(frozen=True)
class Network:
    """A discrete Bayesian network.

    Parameters
    ----------
    name : str
        Short name, used in the ids of cases.
    title : str
        One line for people.
    source : str
        Where structure and tables come from.
    illustrative : bool
        True if the tables were made up for teaching and describe no population.
    nodes : sequence of Node
        In any order; kept in topological order, stable with respect to the order given.
    description : str
        One sentence about what the network models, or empty. It does not count when networks are
        compared.
    tables : {"published", "illustrative", "fitted"} or None
        Where the tables come from, as in `TABLE_KINDS`; None if that was not said. It does not
        count when networks are compared.
    support : Support or None
        The records that the tables were fitted to, by which cases can be kept to evidence that
        enough of them show. Files do not hold them, and they do not count either.

    Raises
    ------
    InputError
        Repeated names or states, unknown parents, a cycle, a table of the wrong shape, a
        conditional column that leaves [0, 1] or does not sum to one within 1e-8, an unknown word
        for `tables`, or "illustrative" tables with `illustrative` false.

    Examples
    --------
    >>> rain = Node("rain", ("yes", "no"), (), [0.2, 0.8])
    >>> grass = Node("wet grass", ("yes", "no"), ("rain",), [[0.9, 0.1], [0.1, 0.9]])
    >>> Network("lawn", "Rain and grass", "made up", True, (grass, rain)).names
    ('rain', 'wet grass')
    """

    name: str
    title: str
    source: str
    illustrative: bool
    nodes: tuple[Node, ...]
    # BIF and XMLBIF have no place for these two, and a network read back from there is still the
    # same network.
    description: str = field(default="", compare=False)
    tables: str | None = field(default=None, compare=False)
    support: Support | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"name of a network must be non-empty text, not {self.name!r}. Name it."
            )
        if self.tables is not None and self.tables not in TABLE_KINDS:
            raise InputError(
                f"tables of network {self.name!r} must be one of {', '.join(TABLE_KINDS)}, not "
                f"{self.tables!r}. Say where they come from."
            )
        if self.tables == "illustrative" and not self.illustrative:
            raise InputError(
                f"network {self.name!r} must be illustrative, since its tables are; "
                f"illustrative is {self.illustrative!r}. Set it to true."
            )
        check_node_labels(self.nodes)
        object.__setattr__(self, "nodes", _topological(self.nodes))
        for node in self.nodes:
            check_table(node, [self.states(parent) for parent in node.parents])

    @cached_property
    def _position(self) -> dict[str, int]:
        return {node.name: position for position, node in enumerate(self.nodes)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in topological order."""
        return tuple(node.name for node in self.nodes)

    def index(self, variable: str) -> int:
        """Return the position of a variable.

        Parameters
        ----------
        variable : str
            Name of a variable of the network; a number stands for the name of that spelling.

        Returns
        -------
        int
            Where it is in `nodes`.

        Raises
        ------
        InputError
            No such variable; the message proposes the closest name.
        """
        try:
            return self._position[label_text(variable)]
        except KeyError:
            raise InputError(
                f"variable must be one of network {self.name!r}, not {variable!r}. "
                f"{suggestion(variable, self.names)}"
            ) from None

    def node(self, variable: str) -> Node:
        """Return the node of a variable; parameter and error as in `index`."""
        return self.nodes[self.index(variable)]

    def states(self, variable: str) -> tuple[str, ...]:
        """Return a variable's states, in the table's order; parameter and error as in `index`."""
        return self.node(variable).states

    @classmethod
    def from_json(cls, text: str, *, where: str = "text") -> "Network":
        """Read a network from JSON text.

        The object holds "nodes" and, optionally, "name", "title", "description", "source",
        "illustrative" (by default, whether "tables" says so) and "tables", as in `Network`. A node
        holds "name", "states", "parents" and "table". A table is nested by the states of the
        parents, in order; the innermost lists are distributions over the node's own states, which
        are divided by their sum, with a warning, where it misses 1 by rounding (at most .01).

        Parameters
        ----------
        text : str
            JSON.
        where : str
            Name of the source, for messages.

        Returns
        -------
        Network
            Validated.

        Raises
        ------
        InputError
            Not JSON, a missing key, or a table that breaks a rule of `Network`.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            # Besides errors of JSON: numbers of thousands of digits, brackets thousands deep.
            raise InputError(
                f"{where} must hold JSON; {error}. Correct the file at that place."
            ) from None
        if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
            raise InputError(
                f"{where} must hold an object with a list 'nodes'. "
                "Write it with Network.to_json to see the layout."
            )
        try:
            nodes = [
                _node_from_json(entry, position, where)
                for position, entry in enumerate(data["nodes"])
            ]
        except (TypeError, OverflowError, RecursionError) as error:
            raise InputError(
                f"{where} must have the layout of Network.to_json; {error}. Compare it with a file "
                "written by write_network."
            ) from None
        tables = data.get("tables")
        illustrative = data.get("illustrative", tables == "illustrative")
        if not isinstance(illustrative, bool):
            raise InputError(
                f"'illustrative' in {where} must be true or false, not {illustrative!r}. "
                "Say whether the tables were made up."
            )
        name = str(data.get("name", "network"))
        return cls(
            name,
            str(data.get("title", name)),
            str(data.get("source", "")),
            illustrative,
            tuple(rescaled(nodes, where)),
            str(data.get("description", "")),
            tables,
        )

    def to_json(self) -> str:
        """Write the network as JSON text that `from_json` reads back without loss.

        Returns
        -------
        str
            One line per node.
        """
        keys = ("name", "title", "description", "source", "illustrative", "tables")
        # A file without a source shows so; what else was not said is left out.
        stated = {key: getattr(self, key) for key in keys}
        unsaid = {key for key in ("description", "tables") if not stated[key]}
        head = {key: value for key, value in stated.items() if key not in unsaid}
        entries = [
            {
                "name": node.name,
                "states": node.states,
                "parents": node.parents,
                "table": np.moveaxis(node.table, 0, -1).tolist(),
            }
            for node in self.nodes
        ]
        opening = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
        lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries)
        return f'{opening},\n "nodes": [\n{lines}\n ]\n}}\n'


def state_position(network: Network, variable: str, state: Any) -> int:
    """Return the position of the state that a target is asked about."""
    states = network.states(variable)
    if label_text(state) not in states:
        raise InputError(
            f"target_state must be a state of {variable!r}, not {state!r}. "
            f"{suggestion(state, states)}"
        )
    return states.index(label_text(state))


def _topological(nodes: Sequence[Node]) -> tuple[Node, ...]:
    ordered: list[Node] = []
    done: set[str] = set()
    waiting = list(nodes)
    while waiting:
        # The first that is ready, so that the order given is kept wherever the arrows allow it.
        ready = next((node for node in waiting if done.issuperset(node.parents)), None)
        if ready is None:
            raise InputError(
                "arrows must not form a cycle; one runs through "
                f"{listing(node.name for node in waiting)}. Remove an arrow."
            )
        waiting.remove(ready)
        ordered.append(ready)
        done.add(ready.name)
    return tuple(ordered)


def _node_from_json(entry: object, position: int, where: str) -> Node:
    if not isinstance(entry, dict):
        raise InputError(
            f"node {position} in {where} must be an object, not {type(entry).__name__}. "
            "See Network.to_json for the layout."
        )
    absent = [key for key in ("name", "states", "table") if key not in entry]
    if absent:
        raise InputError(
            f"node {position} ({entry.get('name', 'no name')}) in {where} must have "
            f"{listing(absent)}. Add what is missing."
        )
    node = Node(entry["name"], entry["states"], entry.get("parents", ()), entry["table"])
    # In the file the own states come last, so that every innermost list is a distribution; in
    # memory they come first.
    return replace(node, table=np.moveaxis(node.table, -1, 0)) if node.table.ndim else node


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
