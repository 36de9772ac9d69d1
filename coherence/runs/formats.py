"""A file as a table of cells: text as it is written, or the type that the file declares.

A reader knows its format and nothing of the runs table: what the cells of a column become is
decided by its role. What cannot be said for sure is an error.
"""

import io
import logging
import os
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import CoherenceError, InputError, MissingExtraError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import Cells, numbers_or_labels
from coherence.runs.columns import Reading
from coherence.runs.notes import Code, Note
from coherence.runs.states import typed_option
from coherence.runs.text_files import (
    DEEPEST,
    SEPARATORS,
    dotted_fields,
    inner_suffix,
    read_array,
    read_bytes,
    read_csv,
    read_objects,
)


def require_path(path: Any, name: str = "path") -> Path:
    """Return a path, or raise `InputError` where something else stands in its place."""
    if isinstance(path, str | os.PathLike) and path != "":
        return Path(path)
    raise InputError(f"{name} must be the name of a file; received {path!r}.")


def with_index_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of a named index: it may hold the context, or the model."""
    named = [name for name in table.index.names if name is not None]
    new = [name for name in named if name not in table.columns]
    return table.reset_index(level=new) if new else table


def require_frame(runs: Any, name: str = "runs") -> pd.DataFrame:
    """Return a table as a pandas DataFrame, or raise `InputError` and say how to make it one.

    Arrow's tables, frames of polars and others that export Arrow's C stream are converted.
    """
    if isinstance(runs, pd.DataFrame):
        return runs
    others = (str, os.PathLike, Mapping, list, tuple, np.ndarray)
    if not isinstance(runs, (*others, pd.Series)):
        try:
            table: pd.DataFrame = pa.table(runs).to_pandas()
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            pass  # a column alone, as a chunked array is
        else:
            return table
    kind = f"{type(runs).__module__}.{type(runs).__name__}".removeprefix("builtins.")
    if isinstance(runs, str | os.PathLike):
        remedy = f"Read the file first: coherence.read_runs({str(runs)!r})."
    elif isinstance(runs, others):
        remedy = f"Make it one: pandas.DataFrame({name})."
    elif kind.endswith(".LazyFrame"):  # a query of polars that was not run yet
        remedy = f"Run and convert it: {name}.collect()."
    elif "." in kind:  # what has columns and does not export them has this method
        remedy = f"Convert it: {name}.to_pandas()."
    else:
        remedy = "Pass one, or read a file with coherence.read_runs."
    raise InputError(f"{name} must be a pandas DataFrame; received {kind}. {remedy}")


STATISTICS = {".dta": "read_dta", ".sav": "read_sav"}
"""Ending of a file of a statistics program -> what of `pyreadstat` reads it."""
WORKBOOKS = (".xlsx", ".xlsm")
"""Endings of Excel's files."""
_NOT_COMPUTED = re.compile(  # a cell, not one of text, with a formula and no value
    rb"""<(?:\w+:)?c\b(?![^>]*\bt=["']s(?:tr)?["'])[^>]*>\s*"""
    rb"<(?:\w+:)?f\b[^>]*?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_MARKS = (b"mergeCell ", b't="e"', b"t='e'", b'hidden="', b"hidden='")


def _package(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(
            "files", purpose, f"Or install {name} alone: pip install {name}; or save it as CSV."
        ) from None


class ValueLabels(NamedTuple):
    """What a file calls the numbers of a column."""

    cells: Cells  # the labels in place of the numbers
    twice: str  # which label stands for several numbers; empty where none does


def read_statistics(path: Path) -> tuple[pd.DataFrame, dict[str, ValueLabels]]:
    """Read a file of Stata or SPSS, and the labels of columns whose numbers all have one."""
    pyreadstat = _package("pyreadstat", f"Reading {path}")
    if path.suffix.lower() == ".gz":  # these readers want a file by name
        raise InputError(f"{path}: unpack the file first (gunzip).")
    table, about = getattr(pyreadstat, STATISTICS[inner_suffix(path)])(str(path))
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
            # All numbers of SPSS are floating-point; ids and states were whole ones.
            table[name] = cells.astype("Int64") if cells.abs().max() < 2**53 else cells
    return table, labelled


def _shared(cells: Cells, names: Mapping[Any, str]) -> str:
    by_label: dict[str, list[str]] = {}
    for code in cells.dropna().unique():
        by_label.setdefault(str(names[code]), []).append(f"{code:g}")
    shared = {label: codes for label, codes in by_label.items() if len(codes) > 1}
    return "; ".join(f"{label!r} stands for {listing(codes)}" for label, codes in shared.items())


def read_workbook(path: Path, reading: Reading | None) -> tuple[list[Any], list[Note]]:
    """Return the rows of the sheet that holds cells, or of the one that is named."""
    openpyxl = _package("openpyxl", f"Reading {path}")
    data = read_bytes(path)
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = [packed.read(n) for n in packed.namelist() if n.startswith("xl/worksheets/")]
    lacks_values = any(map(_NOT_COMPUTED.search, parts))
    # Values alone are read in half of the time.
    plain = not lacks_values and not any(mark in part for part in parts for mark in _MARKS)
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, read_only=plain)
    sheets, cells = {}, {}
    for each in book.worksheets:
        if plain:
            each.reset_dimensions()  # some programs write wrong ones
        sheets[each.title], cells[each.title] = each, [*each.values]
    n_filled = {name: sum(map(_holds_cells, rows)) for name, rows in cells.items()}
    filled = [name for name, n in n_filled.items() if n]
    sheet = reading and reading.sheet
    if sheet is not None and sheet not in sheets:
        raise InputError(
            f"sheet must be a sheet of {path}; received {sheet!r}. It has "
            f"{listing(map(repr, sheets))}."
        )
    if not filled:
        raise InputError(f"{path}: the workbook has no cells. Check the export that wrote it.")
    if sheet is None and len(filled) > 1:
        largest = max(filled, key=lambda name: n_filled[name])
        remedy = f"Name one: {typed_option('--sheet', largest)} (sheet=)."
        raise InputError(
            f"{path}: {len(filled)} sheets hold cells: {listing(map(repr, filled))}. "
            f"{remedy if reading is not None else 'Keep one of them, or save it as CSV.'}"
        )
    name = filled[0] if sheet is None else sheet
    if lacks_values:
        _require_values(path, sheets[name], openpyxl.load_workbook(io.BytesIO(data))[name])
    rows, notes = (cells[name], []) if plain else _marked([*map(list, cells[name])], sheets[name])
    return [row for row in rows if _holds_cells(row)], notes


def _holds_cells(row: Sequence[Any]) -> bool:
    return row.count(None) + row.count("") < len(row)


def _require_values(path: Path, sheet: Any, formulas: Any) -> None:
    """Refuse formulas that no program has computed: such cells would read as empty ones."""
    bare = [
        cell.coordinate
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f"
        and (there := sheet[cell.coordinate]).value is None
        and there.data_type not in ("s", "str")  # an empty text was computed
    ]
    if bare:
        hold = counted(len(bare), "cell holds a formula", "cells hold formulas")
        raise InputError(
            f"{path}: {hold} that no program has computed ({listing(bare)}). Open the file in a "
            "spreadsheet program, and save it."
        )


def _marked(cells: list[list[Any]], sheet: Any) -> tuple[list[list[Any]], list[Note]]:
    """Empty cells with an error, give merged ones what the first of them holds; say so."""
    errors = [cell for row in sheet.iter_rows() for cell in row if cell.data_type == "e"]
    for cell in errors:
        cells[cell.row - 1][cell.column - 1] = None
    first = next(at for at, row in enumerate(cells, 1) if _holds_cells(row))
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
    if hidden := sum(each.hidden for each in sheet.row_dimensions.values()):
        are = counted(hidden, "row is", "rows are")
        notes.append(f"{are} hidden, as by a filter, and read like the others.")
    return cells, [Note(Code.FILE, note) for note in notes]


logger = logging.getLogger(__name__)
PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
ARRAY = ".json"
_REMEDIES = {
    ".xls": "Save it as .xlsx.",
    ".txt": "Rename it to .csv: tabs, semicolons and bars between cells are recognised.",
}
_ENDINGS = (*PARQUET, *SEPARATORS, *LINES, ARRAY, *STATISTICS, *WORKBOOKS)


@dataclass(frozen=True)
class FileTable:
    """A table as its file has it."""

    table: pd.DataFrame  # columns of text, or of the type that the file declares
    notes: Sequence[Note] = ()  # what was passed over
    titles: Mapping[str, str] = field(default_factory=dict)  # column -> its heading at length
    twice: Sequence[str] = ()  # names that several columns have
    labelled: Mapping[str, ValueLabels] = field(default_factory=dict)
    of_text: bool = False  # whether numbers stand in it as text


def read_table(path: str | os.PathLike[str], reading: Reading | None = None) -> FileTable:
    """Read a table with the columns of its file.

    Without a `reading` there are no options that an error could propose.
    """
    source = require_path(path)
    require_there(source)
    if source.is_dir():
        raise InputError(
            f"{path} is a folder. Name a file; several, which may differ in their columns, are a "
            f"table in pandas: table = pandas.concat(map(pandas.read_parquet, "
            f"sorted(pathlib.Path({str(path)!r}).glob('*.parquet'))))."
        )
    read = _named(_read(source, reading))
    if len(read.table) == 0:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    for note in read.notes:
        logger.warning("%s: %s", path, note)
    return read


def read_columns(path: Path, texts: Collection[str]) -> pd.DataFrame:
    """Read a table of another kind: `texts` as they are written, others as numbers if they are."""
    table = read_table(path).table
    others = [str(name) for name in table.columns if name not in texts]
    return table.assign(**{name: numbers_or_labels(table[name])[0] for name in others})


def require_there(path: Path) -> None:
    """Refuse a path where nothing is, and name what lies next to it."""
    if not path.exists():
        store = path.with_name(f"{path.name}.answers.sqlite")
        if store.exists():
            raise InputError(
                f"{path}: no such file, but {store.name} holds answers of an interrupted "
                "'coherence elicit'. Run that command again: it asks what is left, and writes the "
                "table."
            )
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        names = sorted(
            entry.name for entry in beside if inner_suffix(entry) in _ENDINGS and entry.exists()
        )
        raise InputError(f"{path}: no such file or folder. {closest(path.name, names)}")


def _read(path: Path, reading: Reading | None) -> FileTable:
    suffix = inner_suffix(path)
    if suffix not in _ENDINGS:
        remedy = _REMEDIES.get(suffix, "Convert the file.")
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv, .jsonl, .json, .xlsx, .dta "
            f"or .sav, not {suffix or 'missing'!r}. {remedy}"
        )
    if reading is not None and reading.sheet is not None and suffix not in WORKBOOKS:
        raise InputError(
            f"sheet is one of a workbook ({', '.join(WORKBOOKS)}); received {reading.sheet!r} for "
            f"{path}. Leave --sheet (sheet=) out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes). Check the export that wrote it.")
    try:
        if suffix in SEPARATORS:
            table, notes, titles = read_csv(path, reading)
            return FileTable(table, notes, titles, of_text=True)
        if suffix in LINES:
            objects = read_objects(path, reading)
            return FileTable(_of_records(path, (record for _, record in objects)))
        if suffix == ARRAY:
            return FileTable(_of_records(path, read_array(path, reading)))
        if suffix in STATISTICS:
            table, labelled = read_statistics(path)
            return FileTable(table, labelled=labelled)
        if suffix in WORKBOOKS:
            return _of_sheet(path, *read_workbook(path, reading))
        return FileTable(_read_parquet(path))
    except CoherenceError:
        raise
    except Exception as error:  # whatever a library raises of a damaged file
        said = (str(error).splitlines() or ["unknown error"])[0]
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({said}). Check that it is complete."
        ) from error


def _named(read: FileTable) -> FileTable:
    """Name columns without blanks around; what stands nowhere or twice gets a number."""
    columns = enumerate(map(str, read.table.columns))
    names = [name.strip() or f"Unnamed: {at}" for at, name in columns]
    counts, unlike = Counter[str](), []
    for name in names:
        unlike.append(f"{name}.{counts[name]}" if counts[name] else name)
        counts[name] += 1
    twice = [name for name, n in counts.items() if n > 1]
    return replace(read, table=read.table.set_axis(unlike, axis="columns"), twice=twice)


def _read_parquet(path: Path) -> pd.DataFrame:
    packed = path.suffix.lower() == ".gz"
    held = pq.read_table(io.BytesIO(read_bytes(path)) if packed else path)
    held.validate(full=True)  # a damaged page may hold bytes that are no text
    for _ in range(DEEPEST):
        if not any(pa.types.is_struct(each.type) for each in held.schema):
            break
        held = held.flatten().replace_schema_metadata(None)
    if twice := [name for name, n in Counter(held.column_names).items() if n > 1]:
        raise InputError(f"{path}: column {twice[0]!r} occurs more than once. Rename one.")
    table = held.to_pandas()
    for name in {*held.column_names} & {*table.columns}:
        # Of whole numbers beside a gap pandas makes floats, which hold 16 digits.
        if pa.types.is_integer(held[name].type) and held[name].null_count:
            table[name] = held[name].to_pandas(types_mapper=_NULLABLE.get).array
    return with_index_columns(table)


_NULLABLE = {
    pa.type_for_alias(name): getattr(pd, f"{name.title().replace('Ui', 'UI')}Dtype")()
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def _of_records(path: Path, records: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return a table of objects; fields of objects within have dotted names."""
    cells: dict[str, list[Any]] = {}
    n_records = 0
    for at, record in enumerate(records):
        n_records += 1
        for name, value in record.items():
            for field_, part in dotted_fields(name, value):
                column = cells.setdefault(field_, [])
                if len(column) > at:
                    raise InputError(
                        f"{path}: row {at} has two fields that are called {field_!r}, one of them "
                        "nested. Rename one."
                    )
                if len(column) < at:
                    column.extend([None] * (at - len(column)))
                column.append(part)
    for column in cells.values():
        column.extend([None] * (n_records - len(column)))
    columns = {name: column_of(column) for name, column in cells.items()}
    return pd.DataFrame(columns, index=range(n_records))


def column_of(cells: list[Any]) -> Cells:
    """Return cells as a column of the type that they all have."""
    kinds = {*map(type, cells)} - {type(None)}
    if kinds == {int}:
        try:
            return pd.Series(cells, dtype="Int64" if None in cells else "int64")
        except OverflowError:
            return pd.Series(cells, dtype=object)
    if kinds == {float} or (
        kinds == {int, float} and all(abs(cell) < 2**53 for cell in cells if type(cell) is int)
    ):
        return pd.Series(cells, dtype="float64")
    if kinds == {str}:
        try:
            return pd.Series(cells, dtype="str")
        except UnicodeEncodeError:  # halves of characters, which JSON can escape and no file holds
            texts = [
                cell and cell.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
                for cell in cells
            ]
            return pd.Series(texts, dtype="str")
    return pd.Series(cells, dtype=object).infer_objects()


def _of_sheet(path: Path, rows: Sequence[Sequence[Any]], notes: Sequence[Note]) -> FileTable:
    columns = [
        [None if cell == "" else cell for cell in column] if "" in column else [*column]
        for column in zip_longest(*rows)
    ]
    while columns[-1].count(None) == len(rows):
        columns.pop()
    header = ["" if column[0] is None else str(column[0]).strip() for column in columns]
    named = [name for name in header if name]
    if len(named) < 2 <= len(columns):
        raise InputError(
            f"{path}: the first row with cells must name the columns; it holds "
            f"{', '.join(named)!r} alone. Delete the rows above the names."
        )
    cells = {at: column_of(column[1:]) for at, column in enumerate(columns)}
    kept = [at for at, name in enumerate(header) if name or cells[at].notna().any()]
    table = pd.DataFrame({at: cells[at] for at in kept})
    return FileTable(table.set_axis([header[at] for at in kept], axis=1), notes, of_text=True)
