"""Rows of answers as a runs table: columns in the schema's order, one type per column."""

from collections.abc import Sequence

import pandas as pd

from coherence.errors import InputError, closest, listing
from coherence.importing.cells import as_number
from coherence.table.schema import (
    COLUMN_NAMES,
    COLUMNS,
    EXACT,
    FEATURE_PREFIX,
    KIND,
    RECORDED,
    is_state,
)
from coherence.table.states import folded, zero_or_one

NUMBER_COLUMNS = tuple(
    column.name
    for column in COLUMNS
    if column.kind in ("probability", "number") and column.name != "p"
)


def typed_table(answers: pd.DataFrame, positive: str | None) -> pd.DataFrame:
    """Lay out answers as a runs table, whose labels are texts."""
    known = answers.reindex(columns=["theta", EXACT]).notna().any(axis=1)
    kind = answers.reindex(columns=[KIND])[KIND]
    answers = answers.assign(**{KIND: kind.mask(known & kind.isna(), RECORDED)})
    seen = [*map(str, answers)]
    states = [name for name in seen if is_state(name)]
    names = [name for name in seen if name in (*COLUMN_NAMES, *states) or _is_feature(name)]
    runs = pd.DataFrame(
        {
            name: _typed(name, answers[name].tolist(), positive, states)
            for name in sorted(names, key=_place)
        }
    )
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    kept = ("action", "status", "p", *states)
    return runs[[name for name in runs if name in kept or runs[name].notna().any()]]


def _is_feature(name: str) -> bool:
    return name.startswith(FEATURE_PREFIX)


def _place(name: str) -> int:
    """States stand where p would, features before what describes the asking."""
    return COLUMN_NAMES.index("p" if is_state(name) else "p_z_true" if _is_feature(name) else name)


def _typed(
    column: str, values: list[object], positive: str | None, states: Sequence[str]
) -> pd.Series:
    values = [None if value != value else value for value in values]
    # With a belief per state the labels themselves are needed.
    if column == "theta" and not states:
        return pd.Series(_as_zero_or_one(values, positive), dtype="Int64")
    is_number = column in (*NUMBER_COLUMNS, "p", *states)
    numbers = [as_number(value) for value in values]
    read = all(
        value is None or number is not None for value, number in zip(values, numbers, strict=True)
    )
    if read and (is_number or _is_feature(column)):
        return pd.Series(numbers, dtype="float64")
    texts = {value: _writable(str(value)) for value in {*values} - {None}}
    return pd.Series([texts.get(value) for value in values], dtype="string")


def _writable(text: str) -> str:
    """Replace halves of characters, which JSON can escape and no file can hold."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _as_zero_or_one(labels: Sequence[object], positive: str | None) -> list[int | None]:
    """Turn labels of the realised state into 1 for the positive one and 0 for the others."""
    seen = list(dict.fromkeys(str(label) for label in labels if label is not None))
    # A label that never occurs is a typo; all states would be 0.
    if positive is not None and seen and folded(positive) not in map(folded, seen):
        raise InputError(
            f"positive must be a state that occurs; received {positive!r}. "
            f"{closest(positive, seen)}"
        )
    codes = zero_or_one(seen, positive) if seen else ()
    if codes is None:
        shown = listing((repr(label[:40]) for label in seen), 6)
        raise InputError(
            f"theta has the labels {shown}, and nothing says whose probability p is. "
            "Name that label (--positive LABEL), or map another field to theta."
        )
    code_of = dict(zip(seen, codes, strict=True))
    return [None if label is None else code_of[str(label)] for label in labels]
