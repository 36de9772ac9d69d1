"""Faults of a table's form, which would trip every rule about its values."""

from collections.abc import Hashable

import pandas as pd

from coherence.table.schema import COLUMN_NAMES


def shape_faults(runs: pd.DataFrame) -> list[str]:
    """List what keeps a frame from being a table of plain cells under plain names.

    Parameters
    ----------
    runs : DataFrame
        Candidate runs table.

    Returns
    -------
    list of str
        One sentence per fault; empty if there is none.
    """
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
    return [fault for name in runs.columns if name in COLUMN_NAMES for fault in _cells(runs[name])]


def _cells(column: pd.Series) -> list[str]:
    """Return a fault where cells hold lists, dictionaries or arrays."""
    if column.dtype != object:
        return []
    strange = ~column.map(lambda value: isinstance(value, Hashable)).to_numpy(dtype=bool)
    if not strange.any():
        return []
    first = column[strange].iloc[0]
    return [
        f"column {column.name!r} must hold single values; {int(strange.sum())} of {len(column)} "
        f"cells do not, the first is a {type(first).__name__}. Give each part a column or a row of "
        "its own."
    ]
