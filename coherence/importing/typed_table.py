"""Rows of answers as a runs table: columns in the schema's order, one type per column."""

import re
from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from coherence.errors import InputError, closest
from coherence.importing.cells import as_number
from coherence.importing.mapping import KNOWN_LABELS
from coherence.table.exact import EXACT, KIND
from coherence.table.schema import COLUMNS, FEATURE_PREFIX, RECORDED, is_state
from coherence.table.states import folded

NUMBER_COLUMNS = tuple(
    column.name
    for column in COLUMNS
    if column.kind in ("probability", "number") and column.name != "p"
)


Columns = dict[str, list[object]]
"""Answers: column of the runs table -> its cells, all of one length."""


def typed_table(answers: Columns, positive: str | None) -> pd.DataFrame:
    """Lay out answers as a runs table."""
    blank: list[object] = [None] * len(answers["status"])
    truths = (answers.get(name, blank) for name in ("theta", EXACT))
    kinds = [
        kind if {*truth} <= {None, ""} else kind or RECORDED
        for kind, *truth in zip(answers.get(KIND, blank), *truths, strict=True)
    ]
    seen = {**answers, KIND: kinds}
    states = [column for column in seen if is_state(column)]
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
        {column: _typed(column, seen[column], positive, states) for column in order}
    )
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    kept = ("action", "status", "p", *states)
    return runs[[column for column in order if column in kept or runs[column].notna().any()]]


def _typed(
    column: str, values: list[object], positive: str | None, states: Sequence[str]
) -> pd.Series:
    if "" in values:
        values = [None if value == "" else value for value in values]
    # With a belief per state the labels themselves are needed.
    if column == "theta" and not states:
        return pd.Series(_as_zero_or_one(values, positive), dtype="Int64")
    if column in (*NUMBER_COLUMNS, "p", *states):
        return pd.Series(values, dtype="float64")
    is_feature = column.startswith(FEATURE_PREFIX)
    if is_feature or column in ("rep", "seed", "context"):
        # "007" and "7" are two ids and one number.
        whole = _all_read(values, partial(_whole, as_text=column != "context"))
        if whole is not None:
            return pd.Series(whole, dtype="Int64")
    if is_feature:
        numbers = _all_read(values, as_number)
        if numbers is not None:
            return pd.Series(numbers, dtype="float64")
    texts = [None if value is None else str(value) for value in values]
    # Few texts stand in many cells.
    written = {text: text and _writable(text) for text in dict.fromkeys(texts)}
    return pd.Series([written[text] for text in texts], dtype="string")


def _all_read(
    values: list[object], read: Callable[[object], float | None]
) -> list[float | None] | None:
    """Return what is read of cells, missing ones as None; None where one cannot be read."""
    numbers: list[float | None] = []
    for value in values:
        number = None if value is None else read(value)
        if number is None and value is not None:
            return None
        numbers.append(number)
    return numbers


def _whole(value: object, *, as_text: bool) -> int | None:
    """Return a whole number that a column of 64-bit integers can hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) < value < 2**63 else None
    if as_text and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return None


def _writable(text: str) -> str:
    """Replace halves of characters, which JSON can escape and no file can hold."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _as_zero_or_one(labels: Sequence[object], positive: str | None) -> list[int | None]:
    """Turn labels of the realised state into 1 for the positive one and 0 for the others."""
    seen = list(dict.fromkeys(str(label) for label in labels if label is not None))
    # A label that never occurs is a typo; all states would be 0.
    if positive is not None:
        if seen and folded(positive) not in map(folded, seen):
            raise InputError(
                f"positive must be a state that occurs; received {positive!r}. "
                f"{closest(positive, seen)}"
            )
        codes = {label: int(folded(label) == folded(positive)) for label in seen}
        return [None if label is None else codes[str(label)] for label in labels]
    unknown = [label for label in seen if folded(label) not in KNOWN_LABELS]
    if unknown:
        listed = ", ".join([*(repr(label[:40]) for label in seen[:6]), *["..."] * (len(seen) > 6)])
        raise InputError(
            f"theta has the labels {listed}, and nothing says whose probability p is. "
            "Name that label (--positive LABEL), or map another field to theta."
        )
    codes = {label: KNOWN_LABELS[folded(label)] for label in seen}
    return [None if label is None else codes[str(label)] for label in labels]
