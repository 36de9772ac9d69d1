"""Rows of answers as a runs table: columns in the schema's order, one type per column."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from coherence.importing.cells import as_number
from coherence.importing.mapping import is_belief
from coherence.importing.states import as_zero_or_one
from coherence.table.schema import COLUMNS, FEATURE_PREFIX

NUMBER_COLUMNS = tuple(
    column.name
    for column in COLUMNS
    if column.kind in ("probability", "number") and column.name != "p"
)


def typed_table(rows: Sequence[Mapping[str, object]], positive: str | None) -> pd.DataFrame:
    """Lay out rows as a runs table."""
    seen = list(dict.fromkeys(column for row in rows for column in row))
    states = [column for column in seen if is_belief(column) and column != "p"]
    order = []
    # States stand where p would, features before what describes the asking.
    for column in COLUMNS:
        order += states if column.name == "p" else []
        order += [column.name] if column.name in seen else []
        order += (
            [name for name in seen if name.startswith(FEATURE_PREFIX)]
            if column.name == "p_z_true"
            else []
        )
    runs = pd.DataFrame(
        {
            column: _typed(column, [row.get(column) for row in rows], positive, states)
            for column in order
        }
    )
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    kept = ("action", "status", "p", *states)
    return runs[[column for column in order if column in kept or runs[column].notna().any()]]


def _typed(
    column: str, values: list[object], positive: str | None, states: Sequence[str]
) -> pd.Series:
    values = [None if value == "" else value for value in values]
    # With a belief per state the labels themselves are needed.
    if column == "theta" and not states:
        return pd.Series(as_zero_or_one(values, positive), dtype="Int64")
    if column in (*NUMBER_COLUMNS, "p", *states):
        return pd.Series(values, dtype="float64")
    is_feature, missing = column.startswith(FEATURE_PREFIX), [value is None for value in values]
    if is_feature or column in ("rep", "seed", "context"):
        # "007" and "7" are two ids and one number.
        whole = [_whole(value, as_text=column != "context") for value in values]
        if [number is None for number in whole] == missing:
            return pd.Series(whole, dtype="Int64")
    if is_feature:
        numbers = [as_number(value) for value in values]
        if [number is None for number in numbers] == missing:
            return pd.Series(numbers, dtype="float64")
    return pd.Series(
        [None if value is None else _writable(str(value)) for value in values], dtype="string"
    )


def _whole(value: object, *, as_text: bool) -> int | None:
    """Return a whole number that a column of 64-bit integers can hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 2**63 else None
    if as_text and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return None


def _writable(text: str) -> str:
    """Replace halves of characters, which JSON can escape and no file can hold."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
