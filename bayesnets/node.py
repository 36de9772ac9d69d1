"""A variable of a network with its states, its parents and its conditional table.

The table's first axis runs over the node's own states (Koller and Friedman 2009, section 3.2).
A table that does not sum to one is refused, unless rounding explains it.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesnets.codes import Floats
from coherence.errors import InputError, listing, suggestion
from coherence.printable import counted

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
