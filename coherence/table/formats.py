"""A file as a table with its own columns, read as what its ending says.

Parquet, or a folder of such files, CSV, JSON, workbooks, files of statistics programs.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import InputError, closest
from coherence.table.cells import LABELS
from coherence.table.csv_files import as_column, as_text, read_cells
from coherence.table.foreign_files import FOREIGN, WORKBOOKS, read_foreign
from coherence.table.frames import require_path, with_index_columns
from coherence.table.missing import without_marked_cells
from coherence.table.roles import AS_IT_IS, Reading
from coherence.table.runs import NOTES
from coherence.table.schema import (
    COLUMN_NAMES,
    COLUMNS,
    PROBABILITIES,
)
from coherence.table.text_files import (
    SEPARATORS,
    TextForm,
    inner_suffix,
    read_array,
    read_bytes,
    read_objects,
    with_dotted_names,
)

logger = logging.getLogger(__name__)
TITLES = "titles_of_columns"  # attribute of a table as read: column -> its heading at length
PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
ARRAY = ".json"
DAMAGED = (OSError, ValueError, TypeError, LookupError, NotImplementedError)
"""What pyarrow raises of a file that is damaged, or has a type that pandas does not know."""
_TEXTS = tuple(column.name for column in COLUMNS if column.kind == "text")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a value


def read_table(
    path: str | os.PathLike[str],
    reading: Reading = AS_IT_IS,
    **form: Any,
) -> pd.DataFrame:
    """Read a table with the columns of its file."""
    source, written = require_path(path), TextForm(decimal=reading.decimal, **form)
    require_there(source)
    tables = [
        _read(file, reading, written).assign(**dict[str, Any](keys))
        for file, keys in parquet_files(source)
    ]
    table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    if len(table) == 0:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    return table


def require_there(path: Path) -> None:
    """Refuse a path where nothing is, and name what lies next to it."""
    if not path.exists():
        if path.is_symlink():
            raise InputError(
                f"{path}: a link to {path.readlink()}, where nothing is. Make the link anew, or "
                "name the file itself."
            )
        store = path.with_name(f"{path.name}.answers.sqlite")
        if store.exists():
            raise InputError(
                f"{path}: no such file, but {store.name} holds answers of an interrupted "
                "'coherence elicit'. Run that command again: it asks what is left, and writes the "
                "table."
            )
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        tables = (*PARQUET, *SEPARATORS, *LINES, ARRAY, *FOREIGN, ".gz")
        names = sorted(
            entry.name for entry in beside if entry.suffix.lower() in tables and entry.exists()
        )
        raise InputError(f"{path}: no such file or folder. {closest(path.name, names)}")


def parquet_files(path: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """List the parquet files of a folder, sorted, with what the names of their folders say.

    Folders may be partitions (``task=asia/model=m``); other folders in the table's are left out,
    and files whose names begin with ``.`` or ``_``. A path that is no folder is its own file.
    """
    if not path.is_dir():
        return [(path, {})]
    files = []
    for file in sorted(path.rglob("*")):
        *folders, name = file.relative_to(path).parts
        if not all("=" in folder for folder in folders) or name[0] in "._" or not file.is_file():
            continue
        if file.suffix.lower() in PARQUET:
            pairs = [tuple(map(unquote, folder.split("=", 1))) for folder in folders]
            named = {key: None if text == _NO_VALUE else text for key, text in pairs}
            files.append((file, named))
    if not files:
        raise InputError(
            f"{path}: the folder holds no .parquet file. Name a file, or a folder of parquet files."
        )
    return files


def of_labels(reading: Reading) -> set[str]:
    """Return what the file calls columns of labels."""
    return {*map(reading.name_in_file, LABELS), *reading.parts_of_context}


def _read(path: Path, reading: Reading, form: TextForm) -> pd.DataFrame:
    suffix = inner_suffix(path)
    if suffix not in (*PARQUET, *SEPARATORS, *LINES, ARRAY, *FOREIGN):
        remedy = "Save it as .xlsx." if suffix == ".xls" else "Convert the file."
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv, .jsonl, .json, .xlsx, .dta, "
            f".sav or .sas7bdat, not {suffix or 'missing'!r}. {remedy}"
        )
    if form.sheet is not None and suffix not in WORKBOOKS:
        raise InputError(
            f"sheet is one of a workbook ({', '.join(WORKBOOKS)}); received {form.sheet!r} for "
            f"{path}. Leave --sheet (sheet=) out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes). Check the export that wrote it.")
    try:
        if suffix in SEPARATORS:
            return _read_csv(path, reading, form)
        if suffix in (ARRAY, *LINES):
            objects = (
                read_array(path, text=form)
                if suffix == ARRAY
                else [record for _, record in read_objects(path, text=form)]
            )
            records = list(map(with_dotted_names, objects))
            table = pd.DataFrame.from_records(records)
            for name in of_labels(reading) & set(table.columns[table.dtypes == "float64"]):
                table[name] = pd.Series([record.get(name) for record in records], dtype=object)
        elif suffix in FOREIGN:
            numbers = {reading.name_in_file(name) for name in PROBABILITIES}
            table = read_foreign(path, sheet=form.sheet, numbers=numbers)
        else:
            table = _read_parquet(path, of_labels(reading))
        return _without_marks(path, table, form.missing)
    except InputError:
        raise
    except DAMAGED as error:  # only the first line of such messages helps a user
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def _without_marks(path: Path, table: pd.DataFrame, missing: Sequence[str]) -> pd.DataFrame:
    left = list(table.attrs.get(NOTES, ()))
    table, notes = without_marked_cells(table, missing)
    for note in notes:
        logger.warning("%s: %s", path, note)
    if notes:
        table.attrs[NOTES] = [*left, *(note.record() for note in notes)]
    return table


def _read_parquet(path: Path, labels: set[str]) -> pd.DataFrame:
    packed = path.suffix.lower() == ".gz"
    held = pq.read_table(io.BytesIO(read_bytes(path)) if packed else path)
    table = held.to_pandas()
    for name in labels & {*held.column_names} & {*table.columns}:
        # Of whole numbers beside a gap pandas makes floats, which hold 16 digits.
        if pa.types.is_integer(held[name].type) and held[name].null_count:
            table[name] = pd.array(held[name].to_pylist(), dtype="Int64")
    for at in range(table.shape[1]):
        column = table.iloc[:, at].array
        if isinstance(column.dtype, pd.StringDtype | pd.ArrowDtype):
            # A damaged page may hold bytes that are no text, which shows wherever they are used.
            pa.array(column).validate(full=True)
    return with_index_columns(_with_nested_fields(table))


def _with_nested_fields(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of structs columns of their fields, under dotted names."""
    if table.columns.has_duplicates:
        return table
    objects = [name for name in table.columns if table[name].dtype == object]
    nested = [name for name in objects if isinstance(_first_cell(table[name]), dict)]
    if not nested:
        return table
    records = [
        with_dotted_names(dict(zip(nested, cells, strict=True)))
        for cells in table[nested].itertuples(index=False, name=None)
    ]
    fields = pd.DataFrame.from_records(records, index=table.index)
    made = fields.columns.difference(table.columns, sort=False)  # a struct that is null has none
    return pd.concat([table.drop(columns=nested), fields[made]], axis="columns")


def _first_cell(cells: pd.Series[Any]) -> object:
    there = np.flatnonzero(cells.notna())
    return cells.iloc[there[0]] if there.size else None


def _read_csv(path: Path, reading: Reading, form: TextForm) -> pd.DataFrame:
    compared = {name for name in (reading.prediction, reading.gold) if name is not None}
    read = {reading.name_in_file(name) for name in COLUMN_NAMES}
    read |= {*compared, *reading.parts_of_context}
    cells = read_cells(path, form, once=read)
    texts = {name.strip() for name in of_labels(reading)}
    texts |= {reading.name_in_file(name).strip() for name in _TEXTS}
    texts -= compared
    columns = {
        # The raw answer 0.70 is no number yet, and a label is its text.
        name: as_text(column)
        if name.strip() in texts
        else as_column(column, decimal=form.decimal, label=name.strip() in compared)
        for name, column in zip(cells.names, cells.columns, strict=True)
    }
    table = pd.DataFrame(columns)
    table.attrs[NOTES] = [note.record() for note in cells.notes]
    table.attrs[TITLES] = dict(cells.questions)
    # Blanks around a name belong to it only where the user says so, or another has it without.
    asked = {name.strip(): name for name in (*reading.columns.values(), *compared)}
    plain = [asked.get(name.strip(), name.strip()) for name in cells.names]
    return table if len({*plain}) < len(plain) else table.set_axis(plain, axis="columns")
