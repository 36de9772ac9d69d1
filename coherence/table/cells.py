"""A label is its text: what the cells of a column of labels become, whatever file they stand in.

A typed number is written as its digits: 1 and 1.0 are "1", 0.1 of 32 bits is "0.1". Labels are
stored as something else than text only where nothing is lost: whole numbers where each is written
as Python writes it ("7", not "007", "1e3" or "+7"; a ".0" is how programs write whole numbers
beside a gap), true and false where they are written in one way.
"""

import re
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from coherence.printable import counted
from coherence.table.notes import Code, Note
from coherence.table.schema import COLUMNS, STATE_PREFIX, is_state

Cells: TypeAlias = "pd.Series[Any]"
LABELS = tuple(column.name for column in COLUMNS if column.kind == "label")
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_WHOLE_OR_FLOAT = r"^(0|-?[1-9][0-9]{0,14})([.]0)?$"
_TRUTHS = ({"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"})


def with_labels(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Return a table with its labels as such, and a note on cells of blanks alone, which are empty.

    Spreadsheets show such cells as empty ones.
    """
    made, notes = {}, []
    states = [name for name in table.columns if "p" not in table.columns and is_state(name)]
    if states:
        texts = pd.Series([name.removeprefix(STATE_PREFIX) for name in states], dtype="str")
        renamed = dict(zip(states, STATE_PREFIX + labels(texts).astype(str), strict=True))
        if len({*renamed.values()}) == len(states):  # p_1.0 is p_1
            table = table.rename(columns=renamed)
    for name in LABELS:
        if name in table.columns:
            made[name] = labels(table[name])
            if blank := int(made[name].isna().sum() - table[name].isna().sum()):
                hold = counted(blank, "cell holds", "cells hold")
                text = f"{name}: {hold} blanks alone and count as empty."
                notes.append(Note(Code.MISSING, text))
    return table.assign(**made), notes


def labels(cells: Cells) -> Cells:
    """Return a column of labels."""
    if isinstance(cells.dtype, pd.CategoricalDtype | pd.SparseDtype):
        cells = cells.astype(object)
    if cells.isna().all() or (pd.api.types.is_bool_dtype(cells) and not cells.hasnans):
        return cells
    if pd.api.types.is_float_dtype(cells):
        known = cells.dropna()
        if (known % 1 == 0).all() and known.abs().max() < 2**53:
            return cells.astype("Int64" if cells.hasnans else "int64")
        bits = 8 * getattr(cells.dtype, "itemsize", 8)
        digits = cells.to_numpy(dtype=f"float{bits}", na_value=np.nan).astype(str)
        return pd.Series(digits, index=cells.index, dtype="str").mask(cells.isna())
    if pd.api.types.is_integer_dtype(cells):
        return cells
    if pd.api.types.is_datetime64_any_dtype(cells):  # of dates at midnight no time is written
        return cells.astype("str").mask(cells.isna())
    if not isinstance(cells.dtype, pd.StringDtype):
        cells = cells.astype(object).map(str, na_action="ignore").astype("str")
    return _stored(cells)


def _stored(texts: Cells) -> Cells:
    """Store labels as whole numbers, or as true and false, where each is written as that."""
    given = pa.array(texts, pa.large_string(), from_pandas=True)
    filled = pc.if_else(pc.equal(pc.utf8_trim_whitespace(given), ""), None, given)
    kept, gaps = texts, filled.null_count > 0
    if filled.null_count > given.null_count:  # blanks alone
        kept = texts.mask(filled.is_null().to_numpy(zero_copy_only=False))
    if re.match("[^-0-9TFtf]", filled[0].as_py() or ""):  # which the first cell tells
        return kept
    if pc.all(pc.match_substring_regex(filled, _WHOLE_OR_FLOAT)).as_py():
        filled = pc.replace_substring_regex(filled, r"[.]0$", "")
    if pc.all(pc.match_substring_regex(filled, _WHOLE)).as_py():
        try:
            whole = pc.cast(filled, pa.int64()).to_pandas(integer_object_nulls=gaps)
        except pa.ArrowInvalid:  # more digits than 64 bits hold
            return kept
        return pd.Series(whole.array, index=texts.index, dtype="Int64" if gaps else "int64")
    if not gaps and {*pc.unique(filled).to_pylist()} in _TRUTHS:
        return texts.str.lower() == "true"
    return kept
