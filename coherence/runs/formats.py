"""A file as a table of cells: text as it is written, or the type that the file declares.

A reader knows its format and nothing of the runs table: what the cells of a column become is
decided by its role. What is damaged or ambiguous is an error with its place: rows too short or too
long (`pandas.read_csv` fills short ones, so that a file that was cut short reads as a whole one), a
quote that opens a cell by mistake and swallows the rows up to the next one, an object that has a
key twice, a formula without a value.
"""

import codecs
import csv
import gzip
import io
import json
import logging
import os
import re
import shlex
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from coherence.errors import CoherenceError, InputError, MissingExtraError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import Cells, numbers_or_labels
from coherence.runs.columns import Reading
from coherence.runs.notes import Code, Note

logger = logging.getLogger(__name__)
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Ending of a table of text -> its usual separator."""
LINES, ARRAY, WORKBOOKS = (".jsonl", ".ndjson"), ".json", (".xlsx", ".xlsm")
STATISTICS = {".dta": "read_dta", ".sav": "read_sav"}
"""Ending of a file of a statistics program -> what of `pyreadstat` reads it."""
_ENDINGS = (".parquet", ".pq", *SEPARATORS, *LINES, ARRAY, *STATISTICS, *WORKBOOKS)


class ValueLabels(NamedTuple):
    """What a file calls the numbers of a column."""

    cells: Cells  # the labels in place of the numbers
    twice: str  # which label stands for several numbers; empty where none does


@dataclass(frozen=True)
class FileTable:
    """A table as its file has it."""

    table: pd.DataFrame  # columns of text, or of the type that the file declares
    notes: Sequence[Note] = ()  # what was passed over
    titles: Mapping[str, str] = field(default_factory=dict)  # column -> its heading at length
    labelled: Mapping[str, ValueLabels] = field(default_factory=dict)
    of_text: bool = False  # whether numbers stand in it as text


def require_path(path: Any, name: str = "path") -> Path:
    """Return a path, or raise `InputError` where something else stands in its place."""
    if isinstance(path, str | os.PathLike) and path != "":
        return Path(path)
    raise InputError(f"{name} must be the name of a file; received {path!r}.")


def with_index_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of a named index: it may hold the context, or the model."""
    new = [name for name in table.index.names if name is not None and name not in table.columns]
    return table.reset_index(level=new) if new else table


def require_frame(runs: Any, name: str = "runs") -> pd.DataFrame:
    """Return a table as a pandas DataFrame; those that export Arrow's C stream are converted."""
    if isinstance(runs, pd.DataFrame):
        return runs
    remedy = f"Make it one: pandas.DataFrame({name})."
    if isinstance(runs, str | os.PathLike):
        remedy = f"Read the file first: coherence.read_runs({str(runs)!r})."
    elif hasattr(runs, "__arrow_c_stream__") and not isinstance(runs, pd.Series):
        # A column alone, as a chunked array is, makes no table.
        with suppress(pa.ArrowException, TypeError, ValueError):
            return pd.DataFrame(pa.table(runs).to_pandas())
    kind = f"{type(runs).__module__}.{type(runs).__name__}".removeprefix("builtins.")
    raise InputError(f"{name} must be a pandas DataFrame; received {kind}. {remedy}")


def read_table(path: str | os.PathLike[str], reading: Reading | None = None) -> FileTable:
    """Read a table with the columns of its file; without a `reading` errors propose no options."""
    source = require_path(path)
    if not source.exists():
        beside = source.parent.iterdir() if source.parent.is_dir() else ()
        names = sorted(each.name for each in beside if inner_suffix(each) in _ENDINGS)
        raise InputError(f"{source}: no such file or folder. {closest(source.name, names)}")
    if source.is_dir():
        raise InputError(f"{path} is a folder. Name a file; pandas.concat makes one of several.")
    read = _read(source, reading)
    columns = enumerate(map(str, read.table.columns))
    names = [name.strip() or f"Unnamed: {at}" for at, name in columns]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise InputError(f"{source}: column {twice[0]!r} occurs more than once. Rename one.")
    if len(read.table) == 0:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    for note in read.notes:
        logger.warning("%s: %s", path, note)
    return replace(read, table=read.table.set_axis(names, axis="columns"))


def read_columns(path: Path, texts: Collection[str]) -> pd.DataFrame:
    """Read a table of another kind: `texts` as they are written, others as numbers if they are."""
    table = read_table(path).table
    others = [str(name) for name in table.columns if name not in texts]
    return table.assign(**{name: numbers_or_labels(table[name])[0] for name in others})


def _read(path: Path, reading: Reading | None) -> FileTable:
    suffix = inner_suffix(path)
    if suffix not in _ENDINGS:
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv, .jsonl, .json, .xlsx, .dta "
            f"or .sav, not {suffix or 'missing'!r}. Save it as one of these."
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
            return _read_csv(path, reading)
        if suffix in LINES:
            return FileTable(_of_records(path, (row for _, row in read_objects(path, reading))))
        if suffix == ARRAY:
            return FileTable(_of_records(path, read_array(path, reading)))
        if suffix in STATISTICS:
            return _read_statistics(path)
        if suffix in WORKBOOKS:
            return _read_workbook(path, reading)
        return FileTable(_read_parquet(path))
    except CoherenceError:
        raise
    except Exception as error:  # whatever a library raises of a damaged file
        said = (str(error).splitlines() or ["unknown error"])[0]
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({said}). Check that it is complete."
        ) from error


# Bytes and text.
_GZIP = b"\x1f\x8b"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16, whose mark is the first half of this one.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def inner_suffix(path: Path) -> str:
    """Return a file's ending in small letters, without the ``.gz`` behind it."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def bare_name(path: Path) -> str:
    """Return a file's name without its ending, nor the ``.gz`` behind that."""
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacked if gzip has packed it, whatever its name."""
    data = path.read_bytes()
    try:
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    # EOFError is what a packed file that was cut short gives.
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut short ({error}). Get the file again."
        ) from None


def read_text(path: Path, reading: Reading | None = None) -> str:
    """Read a file as text in the encoding that the user names, its byte order mark, else UTF-8."""
    data = read_bytes(path)
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode((reading and reading.encoding) or marked)
    except (UnicodeError, LookupError) as error:  # bytes, or an encoding that Python has not
        remedy = "Save it as UTF-8"
        if reading is not None:
            remedy = "Name its encoding, often --encoding cp1252 (Windows) or --encoding latin-1"
        raise InputError(
            f"{path}: the file cannot be read as text ({error}). {remedy}, or check that the file "
            "is complete."
        ) from None


# JSON.
DEEPEST = 6
"""Levels of nested objects that become columns."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        key = next(key for key, n in Counter(k for k, _ in pairs).items() if n > 1)
        raise InputError(f"has the key {key!r} twice. Name every field once.")
    return made


_STRICT = json.JSONDecoder(object_pairs_hook=_once)


def parse_json(path: Path, text: str, where: str) -> Any:
    """Parse JSON, or raise `InputError` with the place."""
    try:
        value = json.loads(text)
        # As many keys as there are marks behind one: none was twice. Else each object is looked at.
        is_plain = isinstance(value, dict) and text.count('":') == len(value)
        return value if is_plain else _STRICT.decode(text)
    except InputError as error:
        said = str(error)
    except RecursionError:  # a few kilobytes of brackets are enough to exhaust the stack
        said = "is nested too deeply to be read."
    except ValueError as error:
        said = f"is not JSON ({error}). Check that the file is complete."
    raise InputError(f"{path}: {where} {said}")


def read_objects(
    path: Path, reading: Reading | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file with one JSON object per line, with the numbers of the lines."""
    # Lines end at a line feed alone: JSON allows the other line ends of Unicode in a string.
    lines = io.StringIO(read_text(path, reading), newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value = parse_json(path, line, f"line {number}")
        if not isinstance(value, dict):
            raise InputError(
                f"{path}: line {number} is a JSON {type(value).__name__}, not an object. "
                "Each line must be one JSON object."
            )
        yield number, value


def read_array(path: Path, reading: Reading | None) -> list[dict[str, object]]:
    """Return the objects of a file that is one JSON array of them."""
    rows = parse_json(path, read_text(path, reading), "the file")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f"{path}: the file must be a JSON array of objects, one for each row. In pandas "
            "table.to_json(path, orient='records') writes one."
        )
    return rows


def dotted_fields(name: str, value: object, depth: int = 0) -> Sequence[tuple[str, object]]:
    """Return a field, or those of the objects within it under dotted names."""
    if not isinstance(value, dict) or not value or depth == DEEPEST:
        return ((name, value),)
    return [
        each
        for key, part in value.items()
        for each in dotted_fields(f"{name}.{key}", part, depth + 1)
    ]


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
            whole = [
                c and c.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for c in cells
            ]
            return pd.Series(whole, dtype="str")
    return pd.Series(cells, dtype=object).infer_objects()


# CSV.
_IMPORT_ID = re.compile(r"""\s*\{\s*["']ImportId["']\s*:""")
_CHUNK = 1 << 24  # bytes that are looked at at once; a sixteenth of them holds two lines
_BLOCK = 1 << 26  # bytes; no row is longer, and a header of 20,000 names is none of the usual ones


def _read_csv(path: Path, reading: Reading | None) -> FileTable:
    """Return the cells as text, what was passed over, and what a further line calls columns."""
    text = read_text(path, reading)
    names, sep = _header_of(path, text, None if reading is None else reading.sep)
    table, n_blank = _csv_cells(path, _with_plain_quotes(path, text, sep), names, sep)
    if any(name.startswith(" ") for name in names[1:]):  # blanks behind separators
        columns = [pc.utf8_ltrim(column, " ") for column in table.columns]
        table = pa.table(columns, names=table.column_names)
    cells = table.to_pandas().set_axis(names, axis="columns")
    frame, notes = cells.dropna(how="all", ignore_index=True), []
    n_blank += len(cells) - len(frame)
    # A lone carriage return is half of a line's end where others end with a line feed.
    if not text.endswith("\n" if "\n" in text else "\r"):
        notes.append(
            "the last line has no end, as in a file that was cut short: its last cell may be "
            "incomplete. Compare it with its source."
        )
    if n_blank:
        notes.append(f"{counted(n_blank, 'blank line was', 'blank lines were')} skipped.")
    first = frame.head(2).fillna("").to_numpy().tolist()
    at = next((at for at, row in enumerate(first) if all(map(_IMPORT_ID.match, row))), -1)
    if at >= 0:  # what Qualtrics writes below the names: questions, and ids for an import
        lines = counted(at + 1, "further header line")
        notes.append(f"{lines} of Qualtrics, recognised by the ImportId, left out.")
    titles = zip((name.strip() for name in names), first[0] if at > 0 else (), strict=False)
    frame = frame[at + 1 :].reset_index(drop=True)
    return FileTable(frame, [Note(Code.FILE, n) for n in notes], dict(titles), of_text=True)


def _header_of(path: Path, text: str, named_sep: str | None) -> tuple[list[str], str]:
    """Return the cells of the first line of a table's text, and what separates them.

    The usual separator if it divides the line at all, unless another divides it and the first row
    into more cells, as many in both: names may hold commas between semicolons.
    """
    usual = SEPARATORS[inner_suffix(path)]
    start = text[: max(_CHUNK >> 4, text.find("\n", text.find("\n") + 1) + 1)]
    told: tuple[list[str], str] = [], named_sep or usual
    for sep in [named_sep] if named_sep else [usual, ";", "\t", "|", ","]:
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=sep)
        try:
            names, row = next(rows, []), next(filter(None, rows), [])
        except csv.Error:  # a line that this one does not divide may be too long for a cell
            continue
        whole = len(names) == len(row) and not any(name.count('"') % 2 for name in names)
        if len(names) > len(told[0]) and (whole or len(told[0]) < 2):
            told = names, sep
    if not told[0]:
        raise InputError(
            f"{path}: the first line must name the columns, and is blank or cannot be read. Delete "
            "the lines above the names, or check the export that wrote the file."
        )
    return told


def _csv_cells(path: Path, text: str, names: list[str], sep: str) -> tuple[pa.Table, int]:
    """Return the cells below the header, and how many lines were blank."""
    n_blank, wrong = 0, ""

    def blank_or_wrong(row: Any) -> str:
        nonlocal n_blank, wrong
        if not row.text.strip(f" \t\r\n{sep}"):
            n_blank += 1
            return "skip"
        wrong = (
            f"row {row.number} ({row.text[:40]!r}) has {counted(row.actual_columns, 'cell')}, the "
            f"header {row.expected_columns}. Was it cut short there? Else quote texts that hold "
            "the separator, or name it where commas are decimal: --sep ';' --decimal ','."
        )
        return "error"

    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8", "surrogatepass")),
            # The header is the first row here: a row is measured by it, and names may be long.
            pyarrow.csv.ReadOptions(
                autogenerate_column_names=True, use_threads=False, block_size=_BLOCK
            ),
            pyarrow.csv.ParseOptions(
                delimiter=sep,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=blank_or_wrong,
            ),
            pyarrow.csv.ConvertOptions(
                column_types={f"f{at}": pa.large_string() for at in range(len(names))},
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        ).slice(1)
    except pa.ArrowInvalid as error:
        said = f"the file cannot be read as a table ({str(error).splitlines()[0]})."
        raise InputError(f"{path}: {wrong or said}") from None
    return table, n_blank


def _with_plain_quotes(path: Path, text: str, sep: str) -> str:
    """Refuse text behind a closing quote; write quotes behind a backslash in the usual way."""
    if '"' not in text or _are_well_formed(text, sep):
        return text
    plain = text.replace('\\"', '""')
    doubled = re.search(rf'[^{re.escape(sep)}\r\n]""|""[^{re.escape(sep)}\r\n]', text)
    if plain != text and "\\\\" not in text and not doubled and _are_well_formed(plain, sep):
        return plain
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    try:
        for _ in rows:
            pass
    except csv.Error as error:
        raise InputError(
            f"{path}: text stands behind a closing quote in line {rows.line_num}, or in the cell "
            f"that ends there, or the file was cut short ({error}): a quote that opens a cell by "
            "mistake swallows what follows. Double the quotes within texts, or get the file again."
        ) from None
    return text


def _are_well_formed(text: str, sep: str) -> bool:
    """Tell whether every quote opens a cell, closes one, or is doubled."""
    ends = np.zeros(256, dtype=bool)
    ends[[ord(sep) if ord(sep) < 128 else 10, 10, 13, ord('"')]] = True
    whole = np.frombuffer(b"\n" + text.encode("utf-8", "surrogatepass") + b"\n", dtype=np.uint8)
    n = 0
    for start in range(0, whole.size, _CHUNK):  # in parts, for the room that it takes
        at = start + np.flatnonzero(whole[start : start + _CHUNK] == ord('"'))
        opening, closing = at[n % 2 :: 2], at[1 - n % 2 :: 2]
        if not (ends[whole[opening - 1]].all() and ends[whole[closing + 1]].all()):
            return False
        n += at.size
    return n % 2 == 0


# Files of programs.
def _package(name: str, path: Path) -> Any:
    try:
        return import_module(name)
    except ImportError:
        remedy = f"Or install {name} alone: pip install {name}; or save it as CSV."
        raise MissingExtraError("files", f"Reading {path}", remedy) from None


_NULLABLE = {
    pa.type_for_alias(name): getattr(pd, f"{name.title().replace('Ui', 'UI')}Dtype")()
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def _read_parquet(path: Path) -> pd.DataFrame:
    packed = path.suffix.lower() == ".gz"
    held = pq.read_table(io.BytesIO(read_bytes(path)) if packed else path)
    held.validate(full=True)  # a damaged page may hold bytes that are no text
    for _ in range(DEEPEST):
        if not any(pa.types.is_struct(each.type) for each in held.schema):
            break
        held = held.flatten().replace_schema_metadata(None)
    table, columns = held.to_pandas(), dict(zip(held.column_names, held.columns, strict=True))
    for name in columns.keys() & {*table.columns}:
        # Of whole numbers beside a gap pandas makes floats, which hold 16 digits.
        if pa.types.is_integer(columns[name].type) and columns[name].null_count:
            table[name] = columns[name].to_pandas(types_mapper=_NULLABLE.get).array
    return with_index_columns(table)


def _read_statistics(path: Path) -> FileTable:
    """Read a file of Stata or SPSS, and the labels of columns whose numbers all have one."""
    pyreadstat = _package("pyreadstat", path)
    if path.suffix.lower() == ".gz":  # these readers want a file by name
        raise InputError(f"{path}: unpack the file first (gunzip).")
    table, about = getattr(pyreadstat, STATISTICS[inner_suffix(path)])(str(path))
    labelled = {}
    for name in table.columns:
        cells, is_float = table[name], pd.api.types.is_float_dtype(table[name])
        names = about.variable_value_labels.get(name, {})
        codes = cells.dropna().unique()
        # A scale of which the ends alone are named stays one of numbers.
        if names and len(codes) and {*codes} <= {*names}:
            of_label = {
                label: [f"{c:g}" for c in codes if names[c] == label] for label in names.values()
            }
            shared = [
                f"{n!r} stands for {listing(of)}" for n, of in of_label.items() if len(of) > 1
            ]
            labelled[name] = ValueLabels(cells.map(names).astype(object), "; ".join(shared))
        if cells.dtype == object or pd.api.types.is_string_dtype(cells):
            # An empty text is how these programs write a missing one.
            table[name] = cells.map(lambda cell: None if cell == "" else cell)
        elif is_float and about.readstat_variable_types.get(name) == "float":
            table[name] = cells.astype("float32")
        elif is_float and len(codes) and (codes % 1 == 0).all() and abs(codes).max() < 2**53:
            # All numbers of SPSS are floating-point; ids and states were whole ones.
            table[name] = cells.astype("Int64")
    return FileTable(table, labelled=labelled)


_IN_LINE = re.compile(rb't="inlineStr"><is><t(?: [^>]*)?>([^<]*)</t></is>')  # slow to read
_CELL_MARKS = (b"<f", b"mergeCell ", b't="e"', b"t='e'", b'hidden="', b"hidden='")


def _read_workbook(path: Path, reading: Reading | None) -> FileTable:
    """Read the sheet that holds cells, or the one that is named."""
    openpyxl = _package("openpyxl", path)
    data = io.BytesIO()
    packed = zipfile.ZipFile(io.BytesIO(read_bytes(path)))
    with packed, zipfile.ZipFile(data, "w") as unpacked:
        for part in packed.namelist():
            unpacked.writestr(part, _IN_LINE.sub(rb't="str"><v>\1</v>', packed.read(part)))
        parts = [unpacked.read(n) for n in packed.namelist() if n.startswith("xl/worksheets/")]
    # Values alone are read in half of the time.
    plain = not any(mark in part for part in parts for mark in _CELL_MARKS)
    book = openpyxl.load_workbook(data, data_only=True, read_only=plain)
    for sheet in book.worksheets if plain else ():
        sheet.reset_dimensions()  # some programs write wrong ones
    cells = {sheet.title: [[*row] for row in sheet.values] for sheet in book.worksheets}
    filled = [name for name, rows in cells.items() if any(map(_holds_cells, rows))]
    name = (reading and reading.sheet) or (filled[0] if len(filled) == 1 else None)
    if name not in filled:
        received = f"received {name!r}" if name else ("several do" if filled else "none does")
        typed = f" (--sheet {shlex.quote(filled[-1])})" if filled else ""
        raise InputError(
            f"{path}: sheet must name one that holds cells; {received}. It has "
            f"{listing(map(repr, filled)) or 'none'}{typed}."
        )
    if any(b"<f" in part for part in parts):
        _require_values(path, book[name], openpyxl.load_workbook(data)[name])
    notes = [] if plain else _mark(cells[name], book[name])
    rows = [row for row in cells[name] if _holds_cells(row)]
    columns = [[None if c == "" else c for c in column] for column in zip_longest(*rows)]
    while columns[-1].count(None) == len(rows):
        columns.pop()
    header = ["" if column[0] is None else str(column[0]).strip() for column in columns]
    if sum(map(bool, header)) < 2 <= len(columns):
        raise InputError(
            f"{path}: the first row with cells must name the columns; it holds "
            f"{''.join(header)!r} alone. Delete the rows above the names."
        )
    below = [column_of(column[1:]) for column in columns]
    kept = [at for at, title in enumerate(header) if title or below[at].notna().any()]
    table = pd.DataFrame({at: below[at] for at in kept})
    return FileTable(table.set_axis([header[at] for at in kept], axis=1), notes, of_text=True)


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
        raise InputError(
            f"{path}: {counted(len(bare), 'cell')} with a formula that no program has computed "
            f"({listing(bare)}). Open the file in a spreadsheet program, and save it."
        )


def _mark(cells: list[list[Any]], sheet: Any) -> list[Note]:
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
    hidden = sum(each.hidden for each in sheet.row_dimensions.values())
    shown = listing(f"{cell.coordinate} ({cell.value})" for cell in errors)
    notes = (
        (merged, f"merged cells ({len(merged)}): each has the value of the first."),
        (errors, f"cells with an error ({len(errors)}) are missing: {shown}."),
        (hidden, f"hidden rows ({hidden}) are read like the others."),
    )
    return [Note(Code.FILE, note) for there, note in notes if there]
