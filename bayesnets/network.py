"""Discrete Bayesian networks as frozen data.

A network is a list of nodes in topological order, each with a conditional table (Koller and
Friedman 2009, section 3.2). JSON is its own format; the others are in `bayesnets.files`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnets.node import Node, check_node_labels, check_table, rescaled
from bayesnets.support import Support
from coherence.errors import InputError, listing, suggestion
from coherence.runs.states import label_text

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
