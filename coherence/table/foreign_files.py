"""Files of Stata, SPSS, SAS and Excel as tables, through `pyreadstat` and `openpyxl`.

What labels of values say is left to the role of a column: they stand for the numbers of a column of
labels where every number has one, and never for those of a belief.
"""

import gzip
import io
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from coherence.errors import InputError, MissingExtraError, listing
from coherence.printable import counted
from coherence.table.cells import Cells
from coherence.table.notes import Code, Note
from coherence.table.text_files import inner_suffix, read_bytes

_READERS = {
    ".dta": ("Stata", "read_dta"),
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": ("SAS", "read_xport"),
}
STATISTICS = tuple(_READERS)
"""Endings of the files of statistics programs."""
WORKBOOKS = (".xlsx", ".xlsm")
"""Endings of Excel's files."""


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """Give a file that gzip has not packed: these readers want one by name."""
    with path.open("rb") as file:
        packed = file.read(2) == gzip.compress(b"")[:2]
    if not packed:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="coherence-") as folder:
        plain = Path(folder) / f"table{inner_suffix(path)}"
        plain.write_bytes(read_bytes(path))
        yield plain


def _package(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(
            "files", purpose, f"Or install {name} alone: pip install {name}; or save it as CSV."
        ) from None


@contextmanager
def _damaged(path: Path, kind: str) -> Iterator[None]:
    """Say of whatever a library raises of a damaged file that it is one."""
    try:
        yield
    except Exception as error:  # of zip, of XML, of the numbers in it
        said = (str(error).splitlines() or ["unknown error"])[0]
        raise InputError(
            f"{path}: the file cannot be read as {kind} ({said}). Check that it is complete."
        ) from None


class ValueLabels(NamedTuple):
    """What a file calls the numbers of a column."""

    cells: Cells  # the labels in place of the numbers
    twice: str  # which label stands for several numbers; empty where none does


def read_statistics(path: Path) -> tuple[pd.DataFrame, dict[str, ValueLabels]]:
    """Read a file of Stata, SPSS or SAS, and the labels of columns whose numbers all have one."""
    program, reader = _READERS[inner_suffix(path)]
    pyreadstat = _package("pyreadstat", f"Reading {path}, a file of {program},")
    with _unpacked(path) as plain, _damaged(path, f"one of {program}"):
        table, about = getattr(pyreadstat, reader)(str(plain))
    labelled = {}
    for name in table.columns:
        cells, is_float = table[name], pd.api.types.is_float_dtype(table[name])
        names = about.variable_value_labels.get(name, {})
        # A scale of which the ends alone are named stays one of numbers.
        if names and cells.notna().any() and {*cells.dropna()} <= {*names}:
            labelled[name] = ValueLabels(cells.map(names).astype(object), _shared(cells, names))
        if cells.dtype == object or pd.api.types.is_string_dtype(cells):
            # An empty text is how these programs write a missing one.
            table[name] = cells.map(lambda cell: None if cell == "" else cell)
        elif is_float and about.readstat_variable_types.get(name) == "float":
            table[name] = cells.astype("float32")
        elif is_float and cells.notna().any() and (cells.dropna() % 1 == 0).all():
            # All numbers of SPSS and SAS are floating-point; ids and states were whole ones.
            table[name] = cells.astype("Int64") if cells.abs().max() < 2**53 else cells
    return table, labelled


def _shared(cells: Cells, names: Mapping[Any, str]) -> str:
    by_label: dict[str, list[str]] = {}
    for code in cells.dropna().unique():
        by_label.setdefault(str(names[code]), []).append(f"{code:g}")
    shared = {label: codes for label, codes in by_label.items() if len(codes) > 1}
    return "; ".join(f"{label!r} stands for {listing(codes)}" for label, codes in shared.items())


def read_workbook(path: Path, sheet: str | None) -> tuple[list[list[Any]], list[Note]]:
    """Return the rows of the sheet that holds cells, or of the one that is named."""
    openpyxl = _package("openpyxl", f"Reading {path}, a workbook of Excel,")
    data = read_bytes(path)
    with _damaged(path, "a workbook"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            parts = [packed.read(n) for n in packed.namelist() if n.startswith("xl/worksheets/")]
        has_formulas = any(b"<f>" in part or b"<f " in part for part in parts)
        kinds = (True, False) if has_formulas else (True,)
        books = [openpyxl.load_workbook(io.BytesIO(data), data_only=values) for values in kinds]
        sheets = {each.title: each for each in books[0].worksheets}
        rows = {
            name: n
            for name, each in sheets.items()
            if (n := sum(any(cell is not None for cell in row) for row in each.values))
        }
    if sheet is not None and sheet not in sheets:
        raise InputError(
            f"sheet must be a sheet of {path}; received {sheet!r}. It has "
            f"{listing(map(repr, sheets))}."
        )
    if not rows:
        raise InputError(f"{path}: the workbook has no cells. Check the export that wrote it.")
    if sheet is None and len(rows) > 1:
        raise InputError(
            f"{path}: {len(rows)} sheets hold cells: {listing(map(repr, rows))}. Name one: "
            f"--sheet {max(rows, key=lambda name: rows[name])!r} (sheet=)."
        )
    name = next(iter(rows)) if sheet is None else sheet
    if has_formulas:
        _require_values(path, sheets[name], books[1][name])
    return _rows(sheets[name])


def _require_values(path: Path, sheet: Any, formulas: Any) -> None:
    """Refuse formulas that no program has computed: such cells would read as empty ones."""
    bare = [
        cell.coordinate
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f"
        and (there := sheet[cell.coordinate]).value is None
        and there.data_type != "s"  # an empty text was computed
    ]
    if bare:
        hold = counted(len(bare), "cell holds a formula", "cells hold formulas")
        raise InputError(
            f"{path}: {hold} that no program has computed ({listing(bare)}). Open the file in a "
            "spreadsheet program, and save it."
        )


def _rows(sheet: Any) -> tuple[list[list[Any]], list[Note]]:
    """Return the rows that hold cells; merged cells all have what the first of them holds."""
    found = [list(row) for row in sheet.iter_rows()]
    errors = [cell for row in found for cell in row if cell.data_type == "e"]
    cells = [[None if cell.data_type == "e" else cell.value for cell in row] for row in found]
    first = next(at for at, row in enumerate(cells, 1) if any(cell is not None for cell in row))
    areas = [area.bounds for area in sheet.merged_cells.ranges]
    merged = [area for area in areas if area[3] > first]  # not headings over several names
    for left, top, right, bottom in merged:
        for row in range(top - 1, bottom):
            cells[row][left - 1 : right] = [cells[top - 1][left - 1]] * (right - left + 1)
    notes = []
    if merged:
        of_cells = counted(len(merged), "merged area of cells", "merged areas of cells")
        notes.append(f"{of_cells}: each cell has the value of the first.")
    if errors:
        shown = listing(f"{cell.coordinate} ({cell.value})" for cell in errors)
        are = counted(len(errors), "cell with an error is", "cells with errors are")
        notes.append(f"{are} missing: {shown}.")
    rows = [[None if cell == "" else cell for cell in row] for row in cells]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if hidden := sum(each.hidden for each in sheet.row_dimensions.values()):
        are = counted(hidden, "row is", "rows are")
        notes.append(f"{are} hidden, as by a filter, and read like the others.")
    return rows, [Note(Code.FILE, note) for note in notes]
