"""What the cells of a column become: labels, numbers, or nothing, whatever file they stand in.

A **label** is its text. A typed number is written as its digits: 1 and 1.0 are "1", 0.1 of 32 bits
is "0.1". Labels are stored as something else than text only where nothing is lost: whole numbers
where each is written as Python writes it ("7", not "007", "1e3" or "+7"; a ".0" is how programs
write whole numbers beside a gap), true and false where they are written in one way. A **number** is
read by `numbers` alone, which knows the decimal mark of the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coherence.errors import listing
from coherence.printable import counted, numbered
from coherence.runs.columns import LABELS, STATE_PREFIX, is_state
from coherence.runs.notes import Code, Note

Cells: TypeAlias = "pd.Series[Any]"
Floats: TypeAlias = NDArray[np.float64]
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_WHOLE_OR_FLOAT = {".": r"^(0|-?[1-9][0-9]{0,14})([.]0)?$", ",": r"^(0|-?[1-9][0-9]{0,14})(,0)?$"}
_TRUTHS = ({"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"})
_PLAIN = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<body>[0-9][0-9.,]*|[.,][0-9]+)(?P<power>[eE][+-]?[0-9]+)?\s*(?P<percent>%?)"
)
_GROUPED = re.compile(r"[1-9][0-9]{0,2}([.][0-9]{3})+(,[0-9]*)?")
_AS_TEXT = r"^[+-]?(0[0-9]|[0-9]{16,}$)"  # leading zeros, more digits than a number holds
_FIRST = 200  # cells that are tried before all of a column


def with_labels(table: pd.DataFrame, decimal: str = ".") -> tuple[pd.DataFrame, list[Note]]:
    """Return a table with its labels as such, and a note on cells of blanks, which are empty."""
    made, notes = {}, []
    named = [name for name in table.columns if name != STATE_PREFIX and is_state(name)]
    states = [] if "p" in table.columns else named
    if states:
        texts = pd.Series([name.removeprefix(STATE_PREFIX) for name in states], dtype="str")
        renamed = dict(zip(states, STATE_PREFIX + labels(texts).astype(str), strict=True))
        if len({*renamed.values()}) == len(states):  # p_1.0 is p_1
            table = table.rename(columns=renamed)
    for name in LABELS:
        if name in table.columns:
            made[name] = labels(table[name], decimal)
            if blank := int(made[name].isna().sum() - table[name].isna().sum()):
                hold = counted(blank, "cell holds", "cells hold")
                text = f"{name}: {hold} blanks alone and count as empty."
                notes.append(Note(Code.MISSING, text))
    return table.assign(**made), notes


def labels(cells: Cells, decimal: str = ".") -> Cells:
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
    return _stored(cells, decimal)


def _stored(texts: Cells, decimal: str = ".") -> Cells:
    """Store labels as whole numbers, or as true and false, where each is written as that."""
    given = pa.array(texts, pa.large_string(), from_pandas=True)
    filled = pc.if_else(pc.equal(pc.utf8_trim_whitespace(given), ""), None, given)
    kept, gaps = texts, filled.null_count > 0
    if filled.null_count > given.null_count:  # blanks alone
        kept = texts.mask(filled.is_null().to_numpy(zero_copy_only=False))
    if re.match("[^-0-9TFtf]", filled[0].as_py() or ""):  # which the first cell tells
        return kept
    if pc.all(pc.match_substring_regex(filled, _WHOLE_OR_FLOAT[decimal])).as_py():
        filled = pc.replace_substring_regex(filled, r"[.,]0$", "")
    if pc.all(pc.match_substring_regex(filled, _WHOLE)).as_py():
        try:
            whole = pc.cast(filled, pa.int64()).to_pandas(integer_object_nulls=gaps)
        except pa.ArrowInvalid:  # more digits than 64 bits hold
            return kept
        return pd.Series(whole.array, index=texts.index, dtype="Int64" if gaps else "int64")
    if not gaps and {*pc.unique(filled).to_pylist()} in _TRUTHS:
        return texts.str.lower() == "true"
    return kept


def is_text(cells: Cells) -> bool:
    """Tell whether a column is text as it is written."""
    return isinstance(cells.dtype, pd.StringDtype)


def _arrow(cells: Cells) -> pa.Array:
    """Return a column of text as Arrow has it, without blanks around."""
    plain = pc.utf8_trim_whitespace(pa.array(cells, pa.large_string(), from_pandas=True))
    plain = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
    return pc.if_else(pc.equal(plain, ""), None, plain)


def _unwrapped(cells: Cells) -> Cells:
    """Return a column without what pandas wraps values in: categories, sparse and Arrow types."""
    dtype = cells.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _unwrapped(cells.astype(object))
    if isinstance(dtype, pd.SparseDtype):
        return cells.astype(dtype.subtype)
    if isinstance(dtype, pd.ArrowDtype):
        return cells if dtype.kind in "iufb" else _unwrapped(cells.astype(object))
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(cells, skipna=True)
        if kind == "string":
            return cells.astype("str")
        if kind == "floating" or cells.isna().all():
            return cells.where(cells.notna(), np.nan).astype("float64")
    return cells


def shortest(cells: Cells) -> Floats:
    """Return numbers as 64 bits; those of fewer bits as the decimals that they stand for."""
    size = getattr(cells.dtype, "itemsize", 8)
    if size >= 8 or not pd.api.types.is_float_dtype(cells):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    narrow = cells.to_numpy(dtype=f"float{8 * size}", na_value=np.nan)
    values, codes = np.unique(narrow, return_inverse=True)
    return np.asarray(values.astype(str).astype(np.float64)[codes])


@dataclass(frozen=True)
class Numbers:
    """The cells of a column as numbers."""

    cells: Cells  # as they are written
    values: Floats  # nan where a cell is empty or no number; percent signs left out
    signed: NDArray[np.bool_]  # cells with a percent sign
    odd: NDArray[np.bool_]  # filled cells that are no numbers
    mark: int = -1  # row of the first cell with a mark that is not the decimal one; or -1
    grouped: int = -1  # row of the first with points between thousands, which were taken out

    @property
    def bare(self) -> Floats:
        """Numbers without a percent sign."""
        return self.values[~self.signed & ~np.isnan(self.values)]


def numbers(cells: Cells, decimal: str = ".") -> Numbers:
    """Read a column of numbers. Texts that would be infinite are no numbers."""
    cells = _unwrapped(cells)
    nowhere = np.zeros(len(cells), dtype=bool)
    if pd.api.types.is_bool_dtype(cells):  # True and False would pass as 1 and 0
        return Numbers(cells, np.full(len(cells), np.nan), nowhere, cells.notna().to_numpy())
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_complex_dtype(cells):
        return Numbers(cells, shortest(cells), nowhere, nowhere)
    codes, distinct = np.arange(len(cells)), []
    if is_text(cells):
        plain = array = _arrow(cells)
        if decimal == "," and not pc.any(pc.match_substring(array, ".")).as_py():
            plain = pc.replace_substring(array, ",", ".")
        if pc.all(pc.match_substring_regex(plain, _PLAIN)).as_py() and (
            decimal == "." or plain is not array
        ):
            values = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False)
            odd = np.isinf(values)
            return Numbers(cells, np.where(odd, np.nan, values), nowhere, odd)
        coded = pc.dictionary_encode(array)
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        distinct = coded.dictionary.to_pylist()
    else:
        distinct = cells.astype(object).tolist()
    read = [_read(cell, decimal) for cell in [*distinct, None]]
    values, signed, odd, wrong, grouped = (
        np.array(each)[codes] for each in zip(*read, strict=True)
    )
    mark, group = (int(np.argmax(at)) if at.any() else -1 for at in (wrong, grouped))
    return Numbers(cells, values.astype(np.float64), signed, odd, mark, group)


def _read(cell: Any, decimal: str) -> tuple[float, bool, bool, bool, bool]:
    """Return a number; whether it is a percentage, none, with a wrong mark, with thousands."""
    if isinstance(cell, str):
        match, other = _NUMBER.fullmatch(cell.strip()), "." if decimal == "," else ","
        body = match["body"] if match else ""
        grouped = decimal == "," and bool(_GROUPED.fullmatch(body))
        wrong = other in body and not grouped
        body = body.replace(other, "" if grouped else ".").replace(decimal, ".")
        try:
            value = float(f"{match['sign']}{body}{match['power'] or ''}" if match else "")
        except ValueError:  # no number, or two decimal marks
            value = np.inf
        if np.isinf(value):
            return np.nan, False, bool(cell.strip()), wrong, False
        return value, bool(match and match["percent"]), False, wrong, grouped
    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return np.nan, False, False, False, False
    try:
        value = float(str(cell) if isinstance(cell, np.floating) else cell)
    except (TypeError, ValueError, OverflowError):  # a list, a date, a number beyond all
        value = np.nan
    odd = bool(np.isnan(value)) or isinstance(cell, bool | np.bool_)
    return np.nan if odd else value, False, odd, False, False


def numbers_or_labels(cells: Cells, decimal: str = ".") -> tuple[Cells, Numbers | None]:
    """Return a column as numbers where all its cells are, else as it is.

    Leading zeros, and more digits than a number holds, are of texts. Numbers with a mark that is
    not the decimal one are returned beside the column.
    """
    dtype, text = cells.dtype, is_text(cells)
    if isinstance(dtype, pd.CategoricalDtype) or not (text or pd.api.types.is_object_dtype(dtype)):
        narrow = pd.api.types.is_float_dtype(dtype) and getattr(dtype, "itemsize", 8) < 8
        return (pd.Series(shortest(cells), cells.index) if narrow else cells), None
    filled = cells.dropna()
    if filled.empty:
        return cells.astype("float64") if text else cells, None
    # A column of texts says so at once.
    odd = bool(numbers(filled.head(_FIRST), decimal).odd.any())
    if text and (odd or pc.any(pc.match_substring_regex(_arrow(cells), _AS_TEXT)).as_py()):
        whole = _stored(cells, decimal)
        return whole if whole.dtype == bool or not odd else cells, None
    read = None if odd else numbers(cells, decimal)
    if read is None or read.odd.any() or read.mark >= 0 or read.signed.any():
        return cells, read if read and read.mark >= 0 and not read.odd.any() else None
    if text and (read.bare % 1 == 0).all():
        whole = _stored(cells, decimal)
        if pd.api.types.is_integer_dtype(whole):
            return whole, read
    return pd.Series(read.values, index=cells.index), read


def without_marks(table: pd.DataFrame, missing: Sequence[str]) -> tuple[pd.DataFrame, list[Note]]:
    """Empty the cells that hold a mark; -99 is also -99.0, as a number and as text."""
    if not missing:
        return table, []
    whole = [mark for mark in missing if mark.lstrip("-").isdigit()]
    texts = {*missing} | {f"{mark}{end}" for mark in whole for end in (".0", ",0")}
    numeric = {float(m) for m in missing if re.fullmatch(_PLAIN, m) or m in ("inf", "-inf")}

    def is_mark(cell: Any) -> bool:
        if isinstance(cell, str):
            return cell.strip() in texts
        return isinstance(cell, int | float) and cell is not True and cell in numeric

    emptied, counts = {}, {}
    for name, cells in table.items():
        if is_text(cells):
            marked = pc.is_in(_arrow(cells), value_set=pa.array(sorted(texts), pa.large_string()))
            marked = marked.to_numpy(zero_copy_only=False)
        elif pd.api.types.is_bool_dtype(cells):
            continue
        elif pd.api.types.is_numeric_dtype(cells):
            marked = cells.isin(numeric).to_numpy(dtype=bool)
        else:
            marked = np.array([*map(is_mark, cells)], dtype=bool)
        if n := int(marked.sum()):
            emptied[str(name)], counts[repr(str(name))] = cells.mask(marked), n
    total = sum(counts.values())
    columns = listing(f"{name} ({n})" for name, n in counts.items()) or "there are none"
    held = f"{counted(total, 'cell')} with {' or '.join(missing)}"
    text = f"{held} {numbered(total, 'is', 'are')} missing: {columns}."
    return table.assign(**emptied), [Note(Code.MISSING, text)]


def without_na(table: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, list[Note]]:
    """Empty cells with NA in columns of text whose other cells are numbers: R's missing value."""
    emptied, held = {}, []
    for name, cells in table.items():
        if not is_text(cells):
            continue
        na = pc.fill_null(pc.equal(_arrow(cells), "NA"), False).to_numpy(zero_copy_only=False)
        rest = cells[~na].dropna() if na.any() else cells[:0]
        if len(rest) and not numbers(rest, decimal).odd.any():
            emptied[str(name)] = cells.mask(na)
            held.append(f"{name!r} ({na.sum()})")
    text = f"NA among numbers was read as a missing value: {listing(held)}."
    return table.assign(**emptied), [Note(Code.MISSING, text)] if held else []
