"""Faults of a table's form, which would trip every rule about its values."""

from collections.abc import Collection, Hashable
from decimal import Decimal

import pandas as pd

from coherence.table.naming import AS_IN_RUNS, Naming
from coherence.table.schema import ACTION_PREFIX, COLUMN_NAMES, COLUMNS, FEATURE_PREFIX

_SORTED = ("task", "model", "context", "prompt", "z", "z_state")
_TEXTS = tuple(column.name for column in COLUMNS if column.kind == "text")


def shape_faults(runs: pd.DataFrame, named: Naming = AS_IN_RUNS) -> list[str]:
    """List what keeps a frame from being a table of plain cells under plain names."""
    if isinstance(runs.columns, pd.MultiIndex):
        return [
            f"columns must have one level of names; these have {runs.columns.nlevels}. "
            "Join them, for example runs.columns = runs.columns.map('_'.join)."
        ]
    doubled = [name for name in runs.index.names if name is not None and name in runs.columns]
    if doubled:
        return [
            f"the index and a column are both named {doubled[0]!r}, and may say different things. "
            "Drop the index: runs.reset_index(drop=True)."
        ]
    if runs.index.dtype == object and not all(isinstance(label, Hashable) for label in runs.index):
        return [
            "the index must hold single values; it has lists or the like, which find no row. "
            "Drop the index: runs.reset_index(drop=True)."
        ]
    broken = [name for name in runs.columns if isinstance(name, str) and not _is_cell(name)]
    if broken:
        return [f"column {broken[0][:40]!a} has half a surrogate pair in its name. Rename it."]
    twice = set(runs.columns[runs.columns.duplicated()])
    read = [name for name in runs.columns if _is_read(name) and name not in twice]
    return [fault for name in read for fault in _cells(runs[name], named)]


def _is_read(name: Hashable) -> bool:
    # A raw answer may hold anything that a model said.
    prefixes = (FEATURE_PREFIX, ACTION_PREFIX, "p_")
    return (name in COLUMN_NAMES and name not in _TEXTS) or str(name).startswith(prefixes)


def _cells(column: pd.Series, named: Naming) -> list[str]:
    """Return a fault where cells hold lists, dictionaries, arrays or complex numbers."""
    if column.name in COLUMN_NAMES and pd.api.types.is_complex_dtype(column.dtype):
        return [
            f"column {named(str(column.name))} must hold real numbers or labels; it holds complex "
            "numbers. Keep the real part: column.to_numpy().real."
        ]
    if column.dtype != object:
        return []
    strange = ~column.map(_is_cell).to_numpy(dtype=bool)
    if not strange.any():
        return _unlike(column, named)
    first = column[strange].iloc[0]
    remedy = "Give each part a column or a row of its own."
    what = f"a {type(first).__name__}"
    if isinstance(first, str):
        what, remedy = f"{first[:40]!a}, half a surrogate pair", "Write the text in Unicode."
    elif isinstance(first, Hashable):
        remedy = "Convert them to numbers or text."
    return [
        f"column {named(str(column.name))} must hold single values; {int(strange.sum())} of "
        f"{len(column)} cells do not, the first is {what}. {remedy}"
    ]


def _unlike(column: pd.Series, named: Naming) -> list[str]:
    """Return a fault where labels that are sorted are of kinds without an order among them."""
    if column.name not in _SORTED:
        return []
    # Texts are sorted apart from all others, and what is of one kind need not be.
    labels = {cell for cell in column.dropna() if not isinstance(cell, str)}
    kinds = {type(cell).__name__ for cell in labels}
    others = {type(cell).__name__ for cell in column.dropna() if isinstance(cell, str)}
    if len(kinds | others) < 2:
        return []
    try:
        sorted(labels)
    except TypeError:
        told = " and ".join(sorted(kinds | others))
        return [
            f"column {named(str(column.name))} must hold labels of one kind; it holds {told}, "
            "which have no order among them. Write them all as text: column.astype(str)."
        ]
    return []


def _is_cell(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, Decimal) and value.is_snan():
        return False  # every comparison with it is an error
    # Parts of a tuple may be of kinds that no order holds, or have no hash.
    several = isinstance(value, bytes | complex | type | Collection)
    return isinstance(value, Hashable) and not several
