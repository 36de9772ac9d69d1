"""A network as its file defines it: what every format checks, with the file's own lines at hand.

Files in the wild hold rounded numbers, whose columns miss 1 by a little. They are refused, or, if
the caller asks for it, divided by their sums with a warning that says what was changed.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bayesnets.codes import Floats
from bayesnets.network import Network
from bayesnets.node import TOLERANCE, Node
from coherence.errors import InputError, listing, suggestion

MOST_ROUNDING = 0.05  # a sum further from one than this was not rounded but mistaken
MOST_ENTRIES = 2**26  # half a gigabyte for one table
PROPERTIES = ("title", "description", "source", "illustrative", "tables")
"""What a network says about itself, in files that have no place for it but their properties."""

_MOST_AXES = 64  # numpy's own limit


@dataclass(frozen=True)
class Definition:
    """A variable of a file with its table.

    Parameters
    ----------
    name, parents, table
        As in `Node`; not checked.
    line : int
        Where the table begins.
    column_lines : Mapping of tuple of int to int
        Lines of single columns, by the positions of the parents' states; columns that are not in it
        stand at `line`.
    """

    name: str
    parents: tuple[str, ...]
    table: Floats
    line: int
    column_lines: Mapping[tuple[int, ...], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Terms:
    """What a format calls the parts of a table's definition, for messages.

    Parameters
    ----------
    child, parent : str
        Roles of a variable in a definition.
    unknown : str
        What is wrong with a name that was not declared.
    family : str
        The names of a definition together.
    table : str
        The definition itself.
    remedy : str
        What to do where it is missing.
    """

    child: str
    parent: str
    unknown: str
    family: str
    table: str
    remedy: str


class NetworkFile:
    """What a parser has read of a network, and what a fault in it is called.

    Parameters
    ----------
    where : str
        Name of the file, for messages.
    default_name : str
        Name of the network where the file has none.
    terms : Terms
        Words of the format.
    """

    def __init__(self, where: str, default_name: str, terms: Terms) -> None:
        self.where, self.terms = where, terms
        self.head = {"name": default_name}
        self.states: dict[str, tuple[str, ...]] = {}
        self._lines: dict[str, int] = {}
        self._table_lines: dict[str, int] = {}

    def at(self, line: int) -> str:
        """Return the file and a line of it, for the beginning of a message."""
        return f"{self.where}, line {line}"

    def declare(self, name: str, states: tuple[str, ...], line: int) -> None:
        """Take down a variable, or refuse one that the file declared before."""
        if name in self.states:
            raise InputError(
                f"{self.at(line)}: variable {name!r} was declared in line {self._lines[name]} "
                "already. Remove or rename one."
            )
        self.states[name], self._lines[name] = states, line

    def claim_table(self, name: str, line: int) -> None:
        """Take down where the table of a variable stands, or refuse a second one."""
        if name in self._table_lines:
            raise InputError(
                f"{self.at(line)}: the table of {name!r} was given in line "
                f"{self._table_lines[name]} already. Remove one."
            )
        self._table_lines[name] = line

    def check_family(self, name: str, parents: Sequence[str], line: int) -> None:
        """Refuse a definition with names that are not declared or not different."""
        roles = [(self.terms.child, name), *((self.terms.parent, parent) for parent in parents)]
        for role, variable in roles:
            if variable not in self.states:
                raise InputError(
                    f"{self.at(line)}: {role} {variable!r} {self.terms.unknown}. "
                    f"{suggestion(variable, self.states)}"
                )
        if len({name, *parents}) <= len(parents):
            raise InputError(
                f"{self.at(line)}: {self.terms.family} must differ; they are {name}, "
                f"{', '.join(parents)}. Remove the repeated one."
            )

    def check_complete(self) -> None:
        """Refuse a file in which a variable has no table."""
        for name, line in self._lines.items():
            if name not in self._table_lines:
                raise InputError(
                    f"{self.at(line)}: variable {name!r} must have a {self.terms.table}; there is "
                    f"none. {self.terms.remedy}"
                )

    def network(self, definitions: Mapping[str, Definition], *, normalize: bool) -> Network:
        """Return the network, after checks that name the line.

        Parameters
        ----------
        definitions : Mapping of str to Definition
            Of every declared variable.
        normalize : bool
            Whether columns that miss 1 by rounding are divided by their sums.

        Returns
        -------
        Network
            Validated; variables in the order in which they were declared.

        Raises
        ------
        InputError
            A column that does not sum to one, or a rule of `Network` that is broken.
        """
        tables = {name: definitions[name].table for name in self.states}
        if normalize:
            tables = rescaled(tables, self.where)
        else:
            for name in self.states:
                self._check_sums(definitions[name])
        nodes = [
            Node(name, states, definitions[name].parents, tables[name])
            for name, states in self.states.items()
        ]
        head = self.head
        presumed = "yes" if head.get("tables") == "illustrative" else "no"
        try:
            return Network(
                head["name"],
                head.get("title", head["name"]),
                head.get("source", f"file {Path(self.where).name}"),
                head.get("illustrative", presumed) == "yes",
                tuple(nodes),
                head.get("description", ""),
                head.get("tables"),
            )
        except InputError as error:
            raise InputError(f"{self.where}: {error}") from None

    def _check_sums(self, definition: Definition) -> None:
        total = definition.table.sum(axis=0)
        # Stated so that NaN, which compares as false, is wrong.
        wrong = ~(np.abs(total - 1) <= TOLERANCE)
        if not wrong.any():
            return
        first = tuple(int(code) for code in np.argwhere(wrong)[0])
        labels = ", ".join(
            f"{parent}={self.states[parent][code]}"
            for parent, code in zip(definition.parents, first, strict=True)
        )
        line = definition.column_lines.get(first, definition.line)
        raise InputError(
            f"{self.at(line)}: probabilities of {definition.name!r}"
            f"{' given ' + labels if labels else ''} must sum to 1 within {TOLERANCE:g}; they sum "
            f"to {float(total[first]):.10g} ({int(wrong.sum())} of {wrong.size} columns of this "
            "variable do not sum to 1). Correct them; if they were rounded, "
            "read_network(path, normalize=True), or 'coherence networks convert FILE --out NEW "
            "--normalize', divides them by their sum."
        )


def empty_table(shape: tuple[int, ...], variable: str, at: str) -> Floats:
    """Return a table of NaN, or refuse one that no machine should try to hold.

    Parameters
    ----------
    shape : tuple of int
        Own states, then those of each parent.
    variable : str
        Whose table it is.
    at : str
        File and line, for the message.

    Returns
    -------
    ndarray
        To be filled.
    """
    if math.prod(shape) > MOST_ENTRIES or len(shape) > _MOST_AXES:
        raise InputError(
            f"{at}: the table of {variable!r} must have at most {MOST_ENTRIES} entries; "
            f"{len(shape) - 1} parents make {math.prod(shape)}. Remove parents, or merge states."
        )
    return np.full(shape, np.nan)


def check_probability(value: float, variable: str, at: str) -> float:
    """Return a probability, or refuse a number that cannot be one, not even after rounding.

    Parameters
    ----------
    value : float
        As read.
    variable : str
        Whose table it belongs to.
    at : str
        File and line, for the message.

    Returns
    -------
    float
        The same number. One just above 1 passes; the sum of its column will tell.
    """
    if not 0 <= value <= 1 + MOST_ROUNDING:
        raise InputError(
            f"{at}: probabilities of {variable!r} must lie in [0, 1]; found {value:g}. "
            "Correct the number."
        )
    return value


def stated_properties(network: Network) -> dict[str, str]:
    """Return what a network says about itself, as text.

    Parameters
    ----------
    network : Network
        The model.

    Returns
    -------
    dict
        Keys are from `PROPERTIES`; an empty description and unstated origins of tables are left
        out.
    """
    stated = {
        "title": network.title,
        "source": network.source,
        "illustrative": "yes" if network.illustrative else "no",
    }
    optional = {"description": network.description, "tables": network.tables}
    return stated | {key: text for key, text in optional.items() if text}


def rescaled(tables: Mapping[str, Floats], where: str) -> dict[str, Floats]:
    """Divide columns by their sums where rounding moved these away from one, and warn about it.

    Parameters
    ----------
    tables : Mapping of str to ndarray
        Tables by variable, own states first.
    where : str
        Name of the file, for messages.

    Returns
    -------
    dict
        The same tables; columns that summed to one within 1e-9 are untouched.

    Raises
    ------
    InputError
        A sum that is further from one than rounding can explain (.05).
    """
    result: dict[str, Floats] = {}
    changed, furthest, n_columns = [], 0.0, 0
    for variable, table in tables.items():
        total = table.sum(axis=0)
        gap = np.abs(total - 1)
        # A tenth of the tolerance: on its edge, the order of the summands would decide.
        wrong = gap > TOLERANCE / 10
        if not np.all(gap <= MOST_ROUNDING):
            worst = float(total.flat[int(np.argmax(~(gap <= MOST_ROUNDING)))])
            raise InputError(
                f"{where}: normalize divides columns whose sum is within {MOST_ROUNDING:g} of 1; "
                f"one of {variable!r} sums to {worst:.10g}, which is no rounding. "
                "Correct the file."
            )
        result[variable] = np.where(wrong, table / total, table)
        if wrong.any():
            changed.append(variable)
            furthest = max(furthest, float(gap.max()))
            n_columns += int(wrong.sum())
    if changed:
        columns = "1 column was" if n_columns == 1 else f"{n_columns} columns were"
        owners = listing(map(repr, changed))
        warnings.warn(
            f"{where}: {columns} divided by the sum, which was up to {furthest:.2g} away from 1; "
            f"tables of {owners}",
            stacklevel=5,  # the caller of read_network
        )
    return result
