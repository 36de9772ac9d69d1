"""A network as read from a file: checked with the file's own lines at hand, then made a `Network`.

Files in the wild hold rounded numbers, whose columns miss 1 by a little. They are refused, or, if
the caller asks for it, divided by their sums with a warning that says what was changed.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bayesnets.network import TOLERANCE, Network, Node
from coherence.errors import InputError, listing

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
    name, states, parents, table
        As in `Node`; not checked.
    line : int
        Where the table begins.
    column_lines : Mapping of tuple of int to int
        Lines of single columns, by the positions of the parents' states; columns that are not in it
        stand at `line`.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: npt.NDArray[np.float64]
    line: int
    column_lines: Mapping[tuple[int, ...], int] = field(default_factory=dict)


def empty_table(shape: tuple[int, ...], variable: str, place: str) -> npt.NDArray[np.float64]:
    """Return a table of NaN, or refuse one that no machine should try to hold.

    Parameters
    ----------
    shape : tuple of int
        Own states, then those of each parent.
    variable : str
        Whose table it is.
    place : str
        File and line, for the message.

    Returns
    -------
    ndarray
        To be filled.
    """
    if math.prod(shape) > MOST_ENTRIES or len(shape) > _MOST_AXES:
        raise InputError(
            f"{place}: the table of {variable!r} must have at most {MOST_ENTRIES} entries; "
            f"{len(shape) - 1} parents make {math.prod(shape)}. "
            "Remove parents, or merge states."
        )
    return np.full(shape, np.nan)


def check_probability(value: float, variable: str, place: str) -> float:
    """Return a probability, or refuse a number that cannot be one, not even after rounding.

    Parameters
    ----------
    value : float
        As read.
    variable : str
        Whose table it belongs to.
    place : str
        File and line, for the message.

    Returns
    -------
    float
        The same number. One just above 1 passes; the sum of its column will tell.
    """
    if not 0 <= value <= 1 + MOST_ROUNDING:
        raise InputError(
            f"{place}: probabilities of {variable!r} must lie in [0, 1]; found {value:g}. "
            "Correct the number."
        )
    return value


def finished(
    head: Mapping[str, str], definitions: Sequence[Definition], where: str, *, normalize: bool
) -> Network:
    """Return the network, after checks that name the line.

    Parameters
    ----------
    head : Mapping of str to str
        "name", and of `PROPERTIES` those that the file states.
    definitions : sequence of Definition
        Every variable once.
    where : str
        Name of the file, for messages.
    normalize : bool
        Whether columns that miss 1 by rounding are divided by their sums.

    Returns
    -------
    Network
        Validated.

    Raises
    ------
    InputError
        A column that does not sum to one, or a rule of `Network` that is broken.
    """
    states = {definition.name: definition.states for definition in definitions}
    tables = {}
    for definition in definitions:
        pairs = [(parent, states[parent]) for parent in definition.parents]
        tables[definition.name] = (
            definition.table
            if normalize
            else _summing_to_one(
                definition.table,
                definition.name,
                pairs,
                where,
                definition.line,
                definition.column_lines,
            )
        )
    if normalize:
        tables = rescaled(tables, where)
    nodes = tuple(
        Node(definition.name, definition.states, definition.parents, tables[definition.name])
        for definition in definitions
    )
    title, source = head.get("title", head["name"]), head.get("source", f"file {Path(where).name}")
    illustrative = (
        head.get("illustrative", "yes" if head.get("tables") == "illustrative" else "no") == "yes"
    )
    try:
        return Network(
            head["name"],
            title,
            source,
            illustrative,
            nodes,
            head.get("description", ""),
            head.get("tables"),
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


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
    return (
        stated
        | ({"description": network.description} if network.description else {})
        | ({"tables": network.tables} if network.tables else {})
    )


def rescaled(
    tables: Mapping[str, npt.NDArray[np.float64]], where: str
) -> dict[str, npt.NDArray[np.float64]]:
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
    result, changed, furthest, n_columns = {}, [], 0.0, 0
    for variable, table in tables.items():
        total = table.sum(axis=0)
        gap = np.abs(total - 1)
        # A tenth of the tolerance: on its edge, the order of the summands would decide.
        wrong = gap > TOLERANCE / 10
        if not np.all(gap <= MOST_ROUNDING):
            worst = float(total.flat[int(np.argmax(~(gap <= MOST_ROUNDING)))])
            raise InputError(
                f"{where}: normalize divides columns whose sum is within {MOST_ROUNDING:g} of 1; "
                f"one of {variable!r} sums to {worst:.10g}, "
                "which is no rounding. Correct the file."
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
            stacklevel=5,
        )
    return result


def _summing_to_one(
    table: npt.NDArray[np.float64],
    variable: str,
    parents: Sequence[tuple[str, tuple[str, ...]]],
    where: str,
    line: int,
    column_lines: Mapping[tuple[int, ...], int],
) -> npt.NDArray[np.float64]:
    total = table.sum(axis=0)
    wrong = ~(np.abs(total - 1) <= TOLERANCE)
    if wrong.any():
        first = tuple(int(code) for code in np.argwhere(wrong)[0])
        given = ", ".join(
            f"{parent}={states[code]}"
            for (parent, states), code in zip(parents, first, strict=True)
        )
        raise InputError(
            f"{where}, line {column_lines.get(first, line)}: probabilities of "
            f"{variable!r}{' given ' + given if given else ''} must sum to 1 within "
            f"{TOLERANCE:g}; they sum to {float(total[first]):.10g} ({int(wrong.sum())} of "
            f"{wrong.size} columns of this variable do not sum to 1). "
            "Correct them; if they were rounded, read_network(path, normalize=True), or 'coherence "
            "networks convert FILE --out NEW --normalize', "
            "divides them by their sum."
        )
    return table
