"""Cells that hold a mark in place of a value: what the user names, and R's NA among numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from coherence.errors import listing
from coherence.printable import counted, numbered
from coherence.table.notes import Code, Note

NA = "NA"
_NUMBERS = r"^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?[ \t]*%?$|^(?i:true|false)$"


def spellings(mark: str) -> list[str]:
    """Return how cells may write a mark; -99 is also -99.0."""
    number = mark.removeprefix("-").isdigit()
    return [mark, f"{mark}.0", f"{mark},0"] if number else [mark]


def without_marks(
    columns: Mapping[str, pa.ChunkedArray], missing: Sequence[str]
) -> tuple[dict[str, pa.ChunkedArray], list[Note]]:
    """Empty the cells of a table of text that hold a mark; return what was emptied.

    NA in a column whose other cells are numbers is R's missing value, and needs no word.
    """
    known = pa.array([text for mark in missing for text in spellings(mark)], pa.string())
    counts: dict[str, int] = {}
    of_r: list[str] = []
    emptied = {}
    for name, cells in columns.items():
        plain = pc.utf8_trim_whitespace(cells)
        if missing:
            marked = pc.is_in(plain, value_set=known)
            if n_marked := pc.sum(marked).as_py() or 0:
                counts[name] = n_marked
                cells, plain = (pc.if_else(marked, None, each) for each in (cells, plain))
        na = pc.equal(plain, NA)
        if pc.any(na).as_py():
            others = pc.if_else(na, None, plain)
            numbers = pc.all(pc.match_substring_regex(others, _NUMBERS)).as_py()
            if numbers and others.null_count < len(others):
                of_r.append(f"{name!r} ({pc.sum(na).as_py()})")
                cells = pc.if_else(na, None, cells)
        emptied[name] = cells
    notes = [_note(missing, counts)] if missing else []
    if of_r:
        text = f"NA among numbers was read as a missing value: {listing(of_r)}."
        notes.append(Note(Code.MISSING, text))
    return emptied, notes


def without_marked_cells(
    table: pd.DataFrame, missing: Sequence[str]
) -> tuple[pd.DataFrame, list[Note]]:
    """Empty the cells of a table of values that hold a mark; return what was emptied."""
    if not missing:
        return table, []
    counts, emptied = {}, {}
    is_mark = marks(missing)
    for at, name in enumerate(table.columns):
        cells = table.iloc[:, at]
        marked = cells.map(is_mark).astype(bool)
        if n_marked := int(marked.sum()):
            counts[str(name)] = n_marked
            emptied[name] = cells.mask(marked)
    return table.assign(**emptied), [_note(missing, counts)]


def _number(mark: str) -> float | None:
    try:
        return float(mark) if mark.lower() not in ("nan", "inf", "-inf") else None
    except ValueError:
        return None


def marks(missing: Sequence[str]) -> Callable[[Any], bool]:
    """Return what tells whether a cell holds a mark, as text or as a number."""
    texts = {text for mark in missing for text in spellings(mark)}
    numbers = {number for mark in missing if (number := _number(mark)) is not None}

    def is_mark(cell: Any) -> bool:
        if isinstance(cell, str):
            return cell.strip() in texts
        return isinstance(cell, int | float) and not isinstance(cell, bool) and cell in numbers

    return is_mark


def _note(missing: Sequence[str], counts: Mapping[str, int]) -> Note:
    marks = " or ".join(missing)
    if not counts:
        return Note(Code.MISSING, f"no cell holds {marks}.")
    total = sum(counts.values())
    columns = listing(f"{name!r} ({n})" for name, n in counts.items())
    verb = numbered(total, "is", "are")
    return Note(Code.MISSING, f"{counted(total, 'cell')} with {marks} {verb} missing: {columns}.")
