"""Records as positions of states.

A record is a row of labels. Whatever is no label of a known state is refused with its column and
its rows: numbers that nobody cut into classes, missing values, states that the caller did not
state. What is missing is never taken for a state.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from bayesnets.support import Codes, Flags, label_codes
from coherence.errors import InputError, listing, suggestion
from coherence.printable import counted
from coherence.runs.states import label_text

Missing = Literal["error", "drop"]


def encode_records(
    records: pd.DataFrame, states: Mapping[str, Sequence[str]], *, missing: Missing = "error"
) -> tuple[Codes, Flags]:
    """Return the states of complete records as positions."""
    if missing not in get_args(Missing):
        raise InputError(f"missing must be 'error' or 'drop', not {missing!r}. Choose one.")
    check_columns(records, states)
    # All columns with unknown states are named at once.
    columns, errors = [], []
    for variable, known in states.items():
        labels, values = _factorized(records, variable, known)
        unknown = [position for position, value in enumerate(values) if value not in known]
        if unknown:
            rows = np.isin(labels, unknown)
            spelt = listing(repr(values[position]) for position in unknown)
            first = records.index[rows][0]
            errors.append(
                f"{spelt} in column {variable!r} ({_count(rows)}, the first at index {first}; "
                f"{suggestion(values[unknown[0]], known).rstrip('.')})"
            )
            continue
        columns.append(label_codes(labels, values, known))
    if errors:
        raise InputError(
            f"records must hold only the states that are stated; they hold {'; '.join(errors)}. "
            "Correct the records or state these too."
        )
    codes = np.column_stack(columns)
    complete: Flags = np.all(codes >= 0, axis=1)
    if missing == "error" and not complete.all():
        absent = zip(states, (codes < 0).T, strict=True)
        counts = [f"{variable!r} ({_count(rows)})" for variable, rows in absent if rows.any()]
        raise InputError(
            f"records must be complete; {_count(~complete)} of {len(records)} have missing values, "
            "the first at index "
            f"{listing(records.index[~complete])}, in {listing(counts)}. "
            "Fill them, or pass missing='drop' to leave these records out."
        )
    if not complete.any():
        raise InputError(
            f"records must hold a complete one; none of {len(records)} is, in columns "
            f"{listing(map(repr, states))}. Leave out columns that are empty."
        )
    return codes[complete], complete


def states_of(records: pd.DataFrame, variables: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the states that occur in columns of records."""
    check_columns(records, variables)
    states: dict[str, tuple[str, ...]] = {}
    for variable in variables:
        _, values = _factorized(records, variable)
        dtype = records[variable].dtype
        known = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else sorted(values)
        states[variable] = tuple(known)
        if not values:
            raise InputError(
                f"column {variable!r} of records must hold a label; "
                f"all {len(records)} values are missing. Leave the column out."
            )
    return states


def check_columns(records: Any, variables: Sequence[str] | Mapping[str, Any]) -> None:
    """Refuse what is no table with a column for every variable and at least one row."""
    if not isinstance(records, pd.DataFrame):
        raise InputError(
            "records must be a DataFrame with one column per variable, not "
            f"{type(records).__name__}. Read one with pandas.read_csv."
        )
    if absent := [variable for variable in variables if variable not in records.columns]:
        raise InputError(
            "records must have a column for every variable; "
            f"these are absent: {listing(map(repr, absent))}. "
            + suggestion(absent[0], map(str, records.columns))
        )
    repeated = [variable for variable in variables if isinstance(records[variable], pd.DataFrame)]
    if repeated:
        raise InputError(
            f"columns of records must be unique; {listing(map(repr, repeated))} occur more than "
            "once. Drop one of them."
        )
    if not len(records):
        raise InputError(
            "records must hold at least one row; the table is empty. "
            "Check the file or the filter that made it."
        )


def _factorized(
    records: pd.DataFrame, variable: str, known: Sequence[str] = ()
) -> tuple[Codes, list[str]]:
    """Return the positions of labels, -1 where missing, and the labels in order of appearance.

    Numbers and truth values are labels only where they are the spelling of states that are known.
    """
    column = records[variable]
    try:
        labels, distinct = pd.factorize(column)
    except TypeError as error:
        raise InputError(
            f"column {variable!r} of records must hold labels (text): {error}. "
            "Put one label in every cell."
        ) from error
    values = [label_text(value) if label_text(value) in known else value for value in distinct]
    foreign = [value for value in values if not isinstance(value, str)]
    if foreign:
        first = foreign[0].item() if isinstance(foreign[0], np.generic) else foreign[0]
        raise InputError(
            f"column {variable!r} of records must hold labels (text); "
            f"{len(foreign)} of its {len(values)} distinct values are not, the first is "
            f"{first!r} ({type(first).__name__}). Cut measurements with pandas.cut and "
            "labels=[...]; turn codes into labels with .map."
        )
    return labels.astype(np.int64), values


def _count(rows: Flags) -> str:
    return counted(int(rows.sum()), "row")
