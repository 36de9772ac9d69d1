"""What the batteries share: how tables of answers are read from files and checked.

A battery declares the columns of its answers as data (`AnswerColumn`); what it knows beyond single
columns it adds as errors of rows. All errors come at once, with rows and values as they were
received, so that whoever wrote the table finds them.
"""

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.runs.formats import read_columns, read_table, require_frame, require_path
from coherence.runs.states import label_text

_ROUNDED = 1.02
"""Largest sum or value that rounding explains; above it stand percentages."""


@dataclass(frozen=True)
class AnswerColumn:
    """A column of a table of answers, and what it may hold."""

    name: str
    required: bool = False  # whether the table must have it
    default: object = ""  # where the table has no such column
    one_of: Collection[str] | None = None  # the texts that it may hold; None for any
    number: bool = False  # whether it holds numbers, and no text
    # range of the numbers; `above` for what rounding adds to the largest
    low: float = -math.inf
    high: float = math.inf
    above: float = 0.0
    whole: bool = False  # whether numbers must be whole
    may_lack: bool = False  # whether a number may be missing in a row
    remedy: str = ""  # what to do about a value that the column must not hold

    @property
    def rule(self) -> str:
        """What the column must hold, in words."""
        if self.one_of is not None:
            return f"must be one of {', '.join(self.one_of)}"
        if (self.low, self.high) == (0, 1):
            return "must hold probabilities in [0, 1]"
        kind = "whole numbers" if self.whole else "numbers"
        least = f" of at least {self.low:g}" if math.isfinite(self.low) else ""
        return f"must hold {kind}{least}{', or nothing' if self.may_lack else ''}"


class AnswerTable:
    """A table of answers with all its columns in their types, and what is wrong with it.

    Raises `SchemaError` at once where a column is missing or there are no rows; the other errors
    are collected until `raise_errors`.
    """

    def __init__(
        self, received: pd.DataFrame, columns: Sequence[AnswerColumn], *, source: str = "answers"
    ) -> None:
        received = require_frame(received, source)
        self.source = f"table of {source}"
        self.errors: list[str] = []
        names = [str(name) for name in received.columns]
        if lacking := [column.name for column in columns if column.required]:
            lacking = [name for name in lacking if name not in names]
            self.errors += [
                f"column {name!r} is missing. {closest(name, names)}" for name in lacking
            ]
        if not len(received) and not self.errors:
            self.errors.append("it has no rows.")
        self.raise_errors()
        self.received = received.reset_index(drop=True)
        self.table = self.received.copy()
        for column in columns:
            self._complete(column)

    def _complete(self, column: AnswerColumn) -> None:
        """Give a column its type, and note what it must not hold."""
        name, present = column.name, column.name in self.received.columns
        values = self.received[name] if present else pd.Series(column.default, self.table.index)
        if not column.number:
            self.table[name] = plain_text(values)
            allowed = self.table[name] if column.one_of is None else column.one_of
            wrong = ~self.table[name].isin(allowed)
        else:
            numbers = pd.to_numeric(values, errors="coerce").astype(float)
            wrong = ~numbers.between(column.low, column.high + column.above) | np.isinf(numbers)
            if column.whole:
                wrong |= numbers % 1 != 0
            self.table[name] = numbers
            # What is no number must not pass for one that is missing.
            wrong &= ~(numbers.isna() & ~self.not_numbers(name) & column.may_lack)
        if wrong.any():
            remedy = column.remedy or self._percent(column)
            self.refuse(wrong, f"column {name!r} {column.rule}", name, remedy)

    def refuse(self, wrong: "pd.Series[bool]", rule: str, name: str, remedy: str = "") -> None:
        """Note that some rows break a rule, if any do, with the first value that does."""
        if not wrong.any():
            return
        rows = self.table.index[wrong]
        source = self.received if name in self.received.columns else self.table
        # Plain Python, whose text says no more than the value.
        first = source[name].astype(object).tolist()[rows[0]]
        told = f"the first other value is {first!r} (row {listing(rows)})"
        self.errors.append(f"{rule}; {told}.{' ' if remedy else ''}{remedy}")

    def _percent(self, column: AnswerColumn) -> str:
        if not column.number or (column.low, column.high) != (0, 1):
            return ""
        signs = plain_text(self.received[column.name]).str.strip().str.endswith("%").any()
        largest = self.table[column.name].max()
        return "Divide percentages by 100." if signs or _ROUNDED < largest <= 100 else ""

    def not_numbers(self, name: str) -> "pd.Series[bool]":
        """Return where something stands in a column of numbers that is not one."""
        if name not in self.received.columns:
            return pd.Series(False, self.table.index)
        entered = plain_text(self.received[name]).str.strip() != ""
        return self.table[name].isna() & entered

    def unique(
        self, keys: Sequence[str], rows: "pd.Series[bool]", *, named: str = "", remedy: str = ""
    ) -> None:
        """Note rows that share all of their keys with another, and would count twice."""
        twice = rows & self.table[rows].duplicated(list(keys), keep=False).reindex(
            self.table.index, fill_value=False
        )
        if twice.any():
            names = ", ".join([*keys[:-1], named or keys[-1]])
            self.errors.append(
                f"({names}) must be unique; {int(twice.sum())} rows share theirs with another "
                f"(row {listing(self.table.index[twice])}), and would count twice."
                f"{' ' if remedy else ''}{remedy}"
            )

    def raise_errors(self) -> None:
        """Raise `SchemaError` with all errors so far, if there are any."""
        if self.errors:
            raise SchemaError(self.errors, self.source)


def plain_text(column: pd.Series) -> "pd.Series[str]":
    """Return a column as text, empty where it is missing."""
    return column.astype(object).where(column.notna(), "").astype(str)


def read_answer_table(
    path: str | os.PathLike[str], *, texts: Collection[str] | None = ()
) -> pd.DataFrame:
    """Read a .csv or .parquet table in which only an empty cell is missing; None: all is text."""
    source = require_path(path)
    if not source.is_file():
        raise InputError(f"{source}: no such file. Name a .csv or .parquet table of answers.")
    return read_table(source).table.map(_written) if texts is None else read_columns(source, texts)


def _written(value: object) -> str:
    """Return a value as a CSV file has it."""
    if value is None or value is pd.NA or value != value:
        return ""
    return label_text(value)
