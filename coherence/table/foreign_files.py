"""Files of Stata, SPSS, SAS and Excel as tables.

What the packages `pyreadstat` and `openpyxl` read (the extra ``files``). Labels of values stand for
their numbers where every number of a column has one; in columns of numbers that are to be numbers,
such as a belief, they do not.
"""

import gzip
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from coherence.errors import InputError, MissingExtraError, listing
from coherence.table.csv_files import as_column
from coherence.table.runs import NOTES
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
FOREIGN = (*STATISTICS, *WORKBOOKS)


def read_foreign(path: Path, *, sheet: str | None, numbers: Collection[str]) -> pd.DataFrame:
    """Read a file of a statistics program or of Excel; labels are not for columns of `numbers`."""
    with _unpacked(path) as plain:
        if inner_suffix(path) in WORKBOOKS:
            return _read_workbook(path, plain, sheet)
        return _read_statistics(path, plain, numbers)


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


def _read_statistics(path: Path, plain: Path, numbers: Collection[str]) -> pd.DataFrame:
    program, reader = _READERS[inner_suffix(path)]
    pyreadstat = _package("pyreadstat", f"Reading {path}, a file of {program},")
    try:
        read: tuple[pd.DataFrame, Any] = getattr(pyreadstat, reader)(str(plain))
    except Exception as error:  # of a damaged file: of the library, or of what it makes of it
        said = (str(error).splitlines() or ["unknown error"])[0]
        raise InputError(
            f"{path}: the file cannot be read as one of {program} ({said}). Check that it is "
            "complete."
        ) from None
    table, about = read
    labelled = []
    for name, labels in about.variable_value_labels.items():
        if name not in table.columns or name in numbers:
            continue
        values = table[name].dropna()
        # A scale of which the ends alone are named stays one of numbers.
        if len(values) and set(values) <= set(labels):
            table[name] = table[name].map(labels).astype(object)
            labelled.append(name)
    for name in table.columns:
        # An empty text is how these programs write a missing one.
        if table[name].dtype == object or pd.api.types.is_string_dtype(table[name]):
            table[name] = table[name].map(lambda cell: None if cell == "" else cell)
        # All numbers of SPSS and SAS are floating-point; ids and states were whole ones.
        elif pd.api.types.is_float_dtype(table[name]) and (table[name].dropna() % 1 == 0).all():
            whole = table[name].notna().all() and table[name].abs().max() < 2**53
            table[name] = table[name].astype("int64") if whole else table[name]
    if labelled:
        table.attrs[NOTES] = [
            f"labels of values stand for the numbers of {listing(map(repr, labelled))}."
        ]
    return table


def _read_workbook(path: Path, plain: Path, sheet: str | None) -> pd.DataFrame:
    openpyxl = _package("openpyxl", f"Reading {path}, a workbook of Excel,")
    try:
        with plain.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            named = {each.title: each for each in book.worksheets}
            rows = {
                name: _filled_rows(each)
                for name, each in named.items()
                if sheet is None or name == sheet
            }
    except Exception as error:  # of a damaged file: of zip, of XML, of the numbers in it
        said = (str(error).splitlines() or ["unknown error"])[0]
        raise InputError(
            f"{path}: the file cannot be read as a workbook ({said}). Check that it is complete."
        ) from None
    if sheet is not None and sheet not in named:
        raise InputError(
            f"sheet must be a sheet of {path}; received {sheet!r}. It has "
            f"{listing(map(repr, named))}."
        )
    filled = {name: held for name, held in rows.items() if held}
    if not filled:
        raise InputError(f"{path}: the workbook has no cells. Check the export that wrote it.")
    if len(filled) > 1:
        raise InputError(
            f"{path}: {len(filled)} sheets hold cells: {listing(map(repr, filled))}. Name one: "
            f"--sheet {max(filled, key=lambda name: len(filled[name]))!r} (sheet=)."
        )
    return _sheet_table(path, *filled.values())


def _filled_rows(sheet: Any) -> list[list[Any]]:
    rows = [list(cells) for cells in sheet.iter_rows(values_only=True)]
    return [row for row in rows if any(cell not in (None, "") for cell in row)]


def _sheet_table(path: Path, rows: list[list[Any]]) -> pd.DataFrame:
    header, *body = rows
    width = max(at + 1 for row in rows for at, cell in enumerate(row) if cell not in (None, ""))
    names = [str(name).strip() if name is not None else "" for name in header[:width]]
    names += [""] * (width - len(names))
    named = [name for name in names if name]
    if len(named) < 2 <= width:
        raise InputError(
            f"{path}: the first row with cells must name the columns; it holds {named[0]!r} alone. "
            "Delete the rows above the names."
        )
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise InputError(
            f"{path}: column {twice[0]!r} occurs more than once. Name every column once."
        )
    columns = {}
    for at, name in enumerate(names):
        cells = [row[at] if at < len(row) and row[at] != "" else None for row in body]
        if name or any(cell is not None for cell in cells):
            columns[name or f"Unnamed: {at}"] = _cells(cells)
    return pd.DataFrame(columns)


def _cells(cells: list[Any]) -> "pd.Series[Any]":
    """Return a column; numbers that were stored as text are read as in a CSV file."""
    filled = [cell for cell in cells if cell is not None]
    if filled and all(isinstance(cell, str) for cell in filled):
        return as_column(pa.chunked_array([pa.array(cells, pa.string())]), decimal=".", label=True)
    column: pd.Series[Any] = pd.Series(cells, dtype=object)
    return column.infer_objects()
