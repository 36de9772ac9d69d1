"""Files of text: CSV and JSON, packed by gzip or not, in the encoding that their first bytes tell.

Every cell of a CSV stays the text that it is. What is damaged or ambiguous is refused: rows too
short or too long (`pandas.read_csv` fills short ones, so that a file that was cut short reads as a
whole one), a quote that opens a cell by mistake and swallows the rows up to the next one, an object
that has a key twice.
"""

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from coherence.errors import InputError
from coherence.printable import counted
from coherence.runs.columns import Reading
from coherence.runs.notes import Code, Note

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
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    # EOFError is what a packed file that was cut short gives.
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut short ({error}). Get the file again."
        ) from None


def read_text(path: Path, reading: Reading | None = None) -> str:
    """Read a file as text in the encoding that the user names, its byte order mark, else UTF-8.

    Of a file that is read without a `reading`, as a log, nobody can name the encoding.
    """
    data, encoding = read_bytes(path), reading and reading.encoding
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding or marked)
    except UnicodeError as error:
        if reading is None:
            raise InputError(
                f"{path}: the file cannot be read as text ({error}). Save it as UTF-8, or check "
                "that it is complete."
            ) from None
        other = "another --encoding"
        if encoding is None:
            other = "its encoding, often --encoding cp1252 (Windows) or --encoding latin-1"
        remedy = f"Name {other}, or check that the file is complete."
        if b"\0" in data and encoding is None and marked == "utf-8":
            remedy = "It holds no text: save it as CSV; a Parquet table needs the ending .parquet."
        raise InputError(f"{path}: the file cannot be read as text ({error}). {remedy}") from None


class _TwiceError(ValueError):
    """A key that an object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceError(next(key for key, n in Counter(k for k, _ in pairs).items() if n > 1))
    return made


_STRICT = json.JSONDecoder(object_pairs_hook=_once)


def parse_json(path: Path, text: str, where: str, remedy: str) -> Any:
    """Parse JSON, or raise `InputError` with the place."""
    try:
        value = json.loads(text)
        # As many keys as there are marks behind one: none was twice. Else each object is looked at.
        if not isinstance(value, dict) or text.count('":') != len(value):
            value = _STRICT.decode(text)
    except _TwiceError as error:
        raise InputError(
            f"{path}: {where} has the key {str(error)!r} twice. Name every field once."
        ) from None
    except RecursionError:  # a few kilobytes of brackets are enough to exhaust the stack
        raise InputError(f"{path}: {where} is nested too deeply to be read.") from None
    except ValueError as error:
        raise InputError(f"{path}: {where} is not JSON ({error}). {remedy}") from None
    return value


def read_objects(
    path: Path, reading: Reading | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file with one JSON object per line, with the numbers of the lines."""
    # Lines end at a line feed alone: JSON allows the other line ends of Unicode in a string.
    lines = io.StringIO(read_text(path, reading), newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value = parse_json(path, line, f"line {number}", "Check that the file is complete.")
        if not isinstance(value, dict):
            raise InputError(
                f"{path}: line {number} is a JSON {type(value).__name__}, not an object. "
                "Each line must be one JSON object."
            )
        yield number, value


def read_array(path: Path, reading: Reading | None) -> list[dict[str, object]]:
    """Return the objects of a file that is one JSON array of them."""
    remedy = "Check that it is complete; a file with one object per line ends in .jsonl."
    value = parse_json(path, read_text(path, reading), "the file", remedy)
    rows: list[Any] = value if isinstance(value, list) else [value]
    odd = [type(row).__name__ for row in rows if not isinstance(row, dict)]
    if odd or rows is not value:
        held, remedy = "it is one object", "frame.to_json(path, orient='records') writes one"
        lists = {} if odd else {n: part for n, part in rows[0].items() if isinstance(part, list)}
        if odd:
            held = f"{len(odd)} of {len(rows)} entries are none, the first is a {odd[0]}"
        elif lists:
            name = max(lists, key=lambda name: len(lists[name]))
            held += f", whose key {name!r} holds a list of {len(lists[name])}"
            remedy = f"table = pd.DataFrame(json.load(open({path.name!r}))[{name!r}]) takes them"
        raise InputError(
            f"{path}: the file must be a JSON array of objects, one for each row; {held}. "
            f"In pandas {remedy}."
        )
    return list(rows)


DEEPEST = 6
"""Levels of nested objects that become columns."""


def dotted_fields(name: str, value: object, depth: int = 0) -> Sequence[tuple[str, object]]:
    """Return a field, or those of the objects within it under dotted names."""
    if not isinstance(value, dict) or not value or depth == DEEPEST:
        return ((name, value),)
    return [
        each
        for key, part in value.items()
        for each in dotted_fields(f"{name}.{key}", part, depth + 1)
    ]


SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Ending of a table -> its usual separator."""
_IMPORT_ID = re.compile(r"""\s*\{\s*["']ImportId["']\s*:""")
_CHUNK = 1 << 24  # bytes that are looked at at once; a sixteenth of them holds two lines
_BLOCK = 1 << 26  # bytes; no row is longer, and a header of 20,000 names is none of the usual ones


def read_csv(
    path: Path, reading: Reading | None
) -> tuple[pd.DataFrame, list[Note], dict[str, str]]:
    """Return the cells as text, what was passed over, and what a further line calls columns."""
    text = read_text(path, reading)
    header = _header_of(path, text, None if reading is None else reading.sep)
    if header.spaced:  # blanks behind separators, also before a quote, which pyarrow takes as text
        text = _without_blanks(text, header.sep)
    text = _with_plain_quotes(path, text, header.sep)
    table, n_blank = _cells(path, text, header, has_options=reading is not None)
    notes = []
    # A lone carriage return is half of a line's end where others end with a line feed.
    if not text.endswith("\n" if "\n" in text else "\r"):
        notes.append(
            "the last line has no end, as in a file that was cut short: its last cell may be "
            "incomplete. Compare it with its source."
        )
    if n_blank:
        notes.append(f"{counted(n_blank, 'blank line was', 'blank lines were')} skipped.")
    first = [[cell or "" for cell in row.values()] for row in table.slice(0, 2).to_pylist()]
    at = next((at for at, row in enumerate(first) if all(map(_IMPORT_ID.match, row))), -1)
    if at >= 0:  # what Qualtrics writes below the names: questions, and ids for an import
        lines = counted(at + 1, "further header line")
        notes.append(f"{lines} of Qualtrics, recognised by the ImportId, left out.")
    frame = table.slice(at + 1).to_pandas().set_axis(header.names, axis="columns")
    titles = zip((name.strip() for name in header.names), first[0] if at > 0 else (), strict=False)
    return frame, [Note(Code.FILE, note) for note in notes], dict(titles)


class _Header(NamedTuple):
    """The first line of a table."""

    names: list[str]  # its cells
    sep: str  # what separates them
    spaced: bool  # whether blanks follow separators, so that cells begin behind them
    width: int  # cells of the line below


def _header_of(path: Path, text: str, named_sep: str | None) -> _Header:
    """Return the cells of the first line of a table's text, and what separates them.

    The usual separator if it divides the line at all, unless another divides it and the first row
    into more cells, as many in both: names may hold commas between semicolons.
    """
    usual = SEPARATORS[inner_suffix(path)]
    start = text[: max(_CHUNK >> 4, text.find("\n", text.find("\n") + 1) + 1)]
    headers: list[_Header] = []
    for sep in [named_sep] if named_sep else [usual, ";", "\t", "|", ","]:
        try:
            cells = next(csv.reader(io.StringIO(start, newline=""), delimiter=sep), [])
            spaced = any(cell.startswith(" ") and cell.strip() for cell in cells[1:])
            lines = io.StringIO(start, newline="")
            rows = csv.reader(lines, delimiter=sep, skipinitialspace=spaced)
            names, first = next(rows, []), next(filter(None, rows), [])
        except csv.Error as error:
            if headers:  # a line that this one does not divide may be too long for a cell
                continue
            raise InputError(
                f"{path}: the file cannot be read as text ({error}). Check that it is complete."
            ) from None
        if not names:
            raise InputError(
                f"{path}: the first line must name the columns, and is blank. Delete the blank "
                "lines above the names, or check the export that wrote the file."
            )
        headers.append(_Header(names, sep, spaced, len(first)))
    divided = [each for each in headers if len(each.names) > 1] or headers[:1]
    told = divided[0]
    for header in divided[1:]:
        halved = any(name.count('"') % 2 for name in header.names)  # by what stands in quotes
        if len(told.names) < len(header.names) == header.width and not halved:
            told = header
    # Excel's own line, which only Excel reads.
    if len(told.names) <= 2 and told.names[0].strip().lower().startswith("sep="):
        raise InputError(
            f"{path}: its first line only names the separator to Excel. Delete that line; the "
            "separator is found without it."
        )
    return told


def _cells(path: Path, text: str, header: _Header, *, has_options: bool) -> tuple[pa.Table, int]:
    """Return the cells below the header, and how many lines were blank."""
    n_blank = 0

    def blank_or_wrong(row: Any) -> str:
        nonlocal n_blank
        is_blank = not row.text.strip(f" \t\r\n{header.sep}")
        n_blank += is_blank
        return "skip" if is_blank else "error"

    types = {f"f{at}": pa.large_string() for at in range(len(header.names))}
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8", "surrogatepass")),
            # The header is the first row here: a row is measured by it, and names may be long.
            pyarrow.csv.ReadOptions(
                autogenerate_column_names=True, use_threads=False, block_size=_BLOCK
            ),
            pyarrow.csv.ParseOptions(
                delimiter=header.sep,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=blank_or_wrong,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        ).slice(1)
    except pa.ArrowInvalid as error:
        wrong = _wrong_row(text, header.sep, error, has_options=has_options)
        raise InputError(f"{path}: {wrong}") from None
    if table.num_columns != len(header.names):
        wrong = _wrong_row(text, header.sep, "its header is no row", has_options=has_options)
        raise InputError(f"{path}: {wrong}")
    filled = pc.is_valid(table.column(0))
    for column in table.columns[1:]:
        if pc.all(filled).as_py() is not False:
            return table, n_blank
        filled = pc.or_(filled, pc.is_valid(column))
    kept = table.filter(filled)
    return kept, n_blank + table.num_rows - kept.num_rows


def _with_plain_quotes(path: Path, text: str, sep: str) -> str:
    """Refuse text behind a closing quote; write quotes that a backslash escapes in the usual way.

    They are read where all quotes within texts are of that kind.
    """
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
        if "end of data" in str(error):
            raise InputError(
                f"{path}: the file ends within a text in quotes: the last quote is not closed. "
                "Was it cut short? Get it again."
            ) from None
        raise InputError(
            f"{path}: text stands behind a closing quote in line {rows.line_num}, or in the cell "
            "that ends there: a quote that opens a cell by mistake swallows what follows. Double "
            "the quotes within texts, or write the file anew."
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


def _without_blanks(text: str, sep: str) -> str:
    written = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True)
    csv.writer(written, delimiter=sep, lineterminator="\n").writerows(rows)
    ended = text.endswith(("\n", "\r"))
    return written.getvalue() if ended else written.getvalue().removesuffix("\n")


def _wrong_row(text: str, sep: str, error: object, *, has_options: bool) -> str:
    """Say which line has too few or too many cells."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        header: Sequence[str] = next(rows, [])
        for cells in rows:
            if len(cells) == len(header) or not any(cell.strip() for cell in cells):
                continue
            remedy = "Check the quotes around texts and the separator."
            if len(cells) < len(header):
                remedy = "Was it cut short there? Get it again, or fill or remove the line."
            elif sep == ",":
                remedy = "Are there decimal commas? Write points, or texts in quotes"
                remedy += ", or another separator: --sep ';' --decimal ','." if has_options else "."
            n_cells = counted(len(cells), "cell")
            return f"line {rows.line_num} has {n_cells}, the header {len(header)}. {remedy}"
    except csv.Error as other:
        error = other
    said = str(error).splitlines()[0]
    return f"the file cannot be read as a table ({said}). Check that it is complete."
