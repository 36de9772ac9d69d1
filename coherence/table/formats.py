"""A file as a table of cells: text as it is written, or the type that the file declares.

A reader knows its format and nothing of the runs table: what the cells of a column become is
decided by its role. What cannot be said for sure is an error.
"""

import io
import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import InputError, closest
from coherence.table.cells import Cells, numbers_or_labels
from coherence.table.csv_files import SEPARATORS, read_csv
from coherence.table.foreign_files import (
    STATISTICS,
    WORKBOOKS,
    ValueLabels,
    read_statistics,
    read_workbook,
)
from coherence.table.frames import require_path, with_index_columns
from coherence.table.notes import Note
from coherence.table.roles import AS_IT_IS, Reading
from coherence.table.text_files import (
    DEEPEST,
    dotted_fields,
    inner_suffix,
    read_array,
    read_bytes,
    read_objects,
)

logger = logging.getLogger(__name__)
PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
ARRAY = ".json"
DAMAGED = (OSError, ValueError, TypeError, LookupError, NotImplementedError)
"""What pyarrow raises of a file that is damaged, or has a type that pandas does not know."""
_ENDINGS = (*PARQUET, *SEPARATORS, *LINES, ARRAY, *STATISTICS, *WORKBOOKS)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a value


@dataclass(frozen=True)
class FileTable:
    """A table as its file has it."""

    table: pd.DataFrame  # columns of text, or of the type that the file declares
    notes: Sequence[Note] = ()  # what was passed over
    titles: Mapping[str, str] = field(default_factory=dict)  # column -> its heading at length
    twice: Sequence[str] = ()  # names that several columns have
    labelled: Mapping[str, ValueLabels] = field(default_factory=dict)
    of_text: bool = False  # whether numbers stand in it as text


def read_table(path: str | os.PathLike[str], reading: Reading = AS_IT_IS) -> FileTable:
    """Read a table with the columns of its file, or of all Parquet files of a folder."""
    source = require_path(path)
    require_there(source)
    if source.is_dir():
        parts = [
            _read(file, reading).table.assign(**dict[str, Any](keys))
            for file, keys in parquet_files(source)
        ]
        read = FileTable(pd.concat(parts, ignore_index=True))
    else:
        read = _read(source, reading)
    read = _named(read)
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
        names = sorted(
            entry.name for entry in beside if inner_suffix(entry) in _ENDINGS and entry.exists()
        )
        raise InputError(f"{path}: no such file or folder. {closest(path.name, names)}")


def parquet_files(path: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """List the parquet files of a folder, sorted, with what the names of their folders say.

    Folders may be partitions (``task=asia/model=m``); other folders in the table's are left out,
    and files whose names begin with ``.`` or ``_``.
    """
    files = []
    for file in sorted(path.rglob("*")):
        *folders, name = file.relative_to(path).parts
        if not all("=" in folder for folder in folders) or name[0] in "._" or not file.is_file():
            continue
        if file.suffix.lower() in PARQUET:
            pairs = [tuple(map(unquote, folder.split("=", 1))) for folder in folders]
            files.append((file, {key: None if text == _NO_VALUE else text for key, text in pairs}))
    if not files:
        raise InputError(
            f"{path}: the folder holds no .parquet file. Name a file, or a folder of parquet files."
        )
    return files


def _read(path: Path, reading: Reading) -> FileTable:
    suffix = inner_suffix(path)
    if suffix not in _ENDINGS:
        remedy = "Save it as .xlsx." if suffix == ".xls" else "Convert the file."
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv, .jsonl, .json, .xlsx, .dta, "
            f".sav or .sas7bdat, not {suffix or 'missing'!r}. {remedy}"
        )
    if reading.sheet is not None and suffix not in WORKBOOKS:
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
            return _of_sheet(path, *read_workbook(path, reading.sheet))
        return FileTable(_read_parquet(path))
    except InputError:
        raise
    except DAMAGED as error:  # only the first line of such messages helps a user
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({str(error).splitlines()[0]}). "
            "Check that it is complete."
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
    columns = {name: _column(column) for name, column in cells.items()}
    return pd.DataFrame(columns, index=range(n_records))


def _column(cells: list[Any]) -> Cells:
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


def _of_sheet(path: Path, rows: list[list[Any]], notes: Sequence[Note]) -> FileTable:
    first, *body = rows
    width = max(at + 1 for row in rows for at, cell in enumerate(row) if cell is not None)
    header = ["" if name is None else str(name).strip() for name in first[:width]]
    named = [name for name in header if name]
    if len(named) < 2 <= width:
        raise InputError(
            f"{path}: the first row with cells must name the columns; it holds "
            f"{', '.join(named)!r} alone. Delete the rows above the names."
        )
    columns = {at: _column([row[at] for row in body]) for at in range(width)}
    kept = [at for at in range(width) if header[at] or columns[at].notna().any()]
    table = pd.DataFrame({at: columns[at] for at in kept})
    return FileTable(table.set_axis([header[at] for at in kept], axis=1), notes, of_text=True)
