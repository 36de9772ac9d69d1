"""How a table of text is written: compression, encoding, separator and decimal mark.

What a file says of itself is believed: the first bytes of gzip and of Unicode's byte order marks,
and a header that only another separator than the usual one divides. What no file says, such as
Latin-1 or a decimal comma, is the user's to name, and errors name the option for it.
"""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from coherence.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Ending of a table -> its usual separator."""
_CHUNK = 1 << 24  # characters, within which a header ends
_GZIP = b"\x1f\x8b"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16, whose mark is the first half of this one.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_SEPARATORS = (";", "\t", "|", ",")


@dataclass(frozen=True)
class TextForm:
    r"""What the user says about how a table of text is written."""

    # The separator of cells, one character; ``tab`` and ``\t`` are one too. None: told by the
    # header.
    sep: str | None = None
    decimal: str = "."  # the decimal mark
    # a name that Python knows; None: told by the file's first bytes, else UTF-8
    encoding: str | None = None
    missing: tuple[str, ...] = ()  # what cells hold that are missing, such as NA and -99
    sheet: str | None = None  # of a workbook

    def __post_init__(self) -> None:
        if self.sep in ("\\t", "tab"):  # what a shell passes on of a tab that was typed
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n.' + self.decimal):
            raise InputError(
                f"sep must be one character, and neither the decimal mark nor a quote; received "
                f"{self.sep!r}. A semicolon is --sep ';', a tab --sep tab."
            )
        marks = self.missing
        if isinstance(marks, str) or not isinstance(marks, Collection):
            marks = (marks,)
        marks = tuple(str(mark).strip() for mark in marks)
        if not all(marks):
            raise InputError(
                f"missing must hold texts or numbers, such as --missing NA,-99; received "
                f"{self.missing!r}. Empty cells are missing without it."
            )
        object.__setattr__(self, "missing", marks)
        if self.decimal not in (".", ","):
            raise InputError(f"decimal must be '.' or ','; received {self.decimal!r}.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise InputError(
                f"encoding must be a name that Python knows, such as utf-8, latin-1, cp1252 or "
                f"utf-16; received {self.encoding!r}."
            ) from None


def inner_suffix(path: Path) -> str:
    """Return a file's ending in small letters, without the ``.gz`` behind it."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def bare_name(path: Path) -> str:
    """Return a file's name without its ending, nor the ``.gz`` behind that."""
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


MOST_BYTES, MOST_TIMES = 200_000_000, 200
"""What is unpacked of a file that nobody said a limit of: so much, or so many times its size."""


def read_bytes(path: Path) -> bytes:
    """Read a file, unpacked if gzip has packed it, whatever its name."""
    data = path.read_bytes()
    if not data.startswith(_GZIP):
        return data
    # A packed file may be a thousand times as large as it looks.
    limit = max(MOST_BYTES, MOST_TIMES * len(data))
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(limit + 1)
    # EOFError is what a packed file that was cut short gives.
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut short ({error}). Get the file again."
        ) from None
    if len(unpacked) > limit:
        raise InputError(
            f"{path}: it unpacks to more than {limit:,.0f} bytes. "
            "If you trust it, unpack it (gunzip)."
        )
    return unpacked


def read_text(path: Path, form: TextForm | None = None) -> str:
    """Read a file as text in the encoding that the user names, its byte order mark, else UTF-8.

    Of a log, which is read without a `form`, nobody names the encoding.
    """
    data = read_bytes(path)
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode((form and form.encoding) or marked)
    except UnicodeError as error:
        if form is None:
            raise InputError(
                f"{path}: the log cannot be read as text ({error}). Check that it is complete."
            ) from None
        other = "another --encoding"
        if form.encoding is None:
            other = "its encoding, often --encoding cp1252 (Windows) or --encoding latin-1"
        remedy = f"Name {other}, or check that the file is complete."
        if b"\0" in data and form.encoding is None and marked == "utf-8":
            remedy = "It holds no text: save it as CSV; a Parquet table needs the ending .parquet."
        raise InputError(f"{path}: the file cannot be read as text ({error}). {remedy}") from None


def read_objects(
    path: Path, *, text: TextForm | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file with one JSON object per line, with the numbers of the lines."""
    # Lines end at a line feed alone: JSON allows the other line ends of Unicode in a string.
    lines = io.StringIO(read_text(path, text), newline="\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        # A few kilobytes of brackets are enough to exhaust the stack.
        except RecursionError:
            raise InputError(f"{path}: line {number} is nested too deeply to be read.") from None
        except ValueError as error:
            raise InputError(
                f"{path}: line {number} is not JSON ({error}). Check that the file is complete."
            ) from None
        if not isinstance(value, dict):
            raise InputError(
                f"{path}: line {number} is a JSON {type(value).__name__}, not an object. "
                "Each line must be one JSON object."
            )
        yield number, value


_DEEPEST = 6  # levels of nested objects that become columns


def with_dotted_names(record: Mapping[str, object]) -> dict[str, object]:
    """Return a record whose nested objects are fields of their own, under dotted names."""
    return {
        field: value for name, part in record.items() for field, value in _fields(part, name, 0)
    }


def _fields(value: object, name: str, depth: int) -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict) or not value or depth == _DEEPEST:
        yield name, value
        return
    for key, part in value.items():
        yield from _fields(part, f"{name}.{key}", depth + 1)


def read_array(path: Path, *, text: TextForm) -> list[dict[str, object]]:
    """Return the objects of a file that is one JSON array of them."""
    try:
        value = json.loads(read_text(path, text))
    except RecursionError:
        raise InputError(f"{path}: the file is nested too deeply to be read.") from None
    except ValueError as error:
        raise InputError(
            f"{path}: the file is not JSON ({error}). Check that it is complete; a file with one "
            "object per line ends in .jsonl."
        ) from None
    rows: list[Any] = value if isinstance(value, list) else [value]
    odd = [type(row).__name__ for row in rows if not isinstance(row, dict)]
    if odd or rows is not value:
        held, remedy = "it is one object", "frame.to_json(path, orient='records') writes one"
        lists = (
            {name: part for name, part in rows[0].items() if isinstance(part, list)}
            if not odd
            else {}
        )
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
    return [dict(row) for row in rows]


class Header(NamedTuple):
    """The first line of a table."""

    names: list[str]  # its cells
    sep: str  # what separates them
    spaced: bool  # whether blanks follow separators, so that cells begin behind them


def header_of(path: Path, text: str, form: TextForm) -> Header:
    """Return the cells of the first line of a table's text, and what separates them."""
    usual, start = SEPARATORS[inner_suffix(path)], text[:_CHUNK]
    headers: list[tuple[Header, list[str]]] = []
    for sep in [form.sep] if form.sep is not None else [usual, *_OTHER_SEPARATORS]:
        try:
            cells = next(csv.reader(io.StringIO(start, newline=""), delimiter=sep), [])
            spaced = any(cell.startswith(" ") and cell.strip() for cell in cells[1:])
            rows = csv.reader(
                io.StringIO(start, newline=""), delimiter=sep, skipinitialspace=spaced
            )
            header = Header(next(rows, []), sep, spaced)
            first = next(filter(None, rows), [])
        except csv.Error as error:
            if headers:  # a line that this one does not divide may be too long for a cell
                continue
            raise InputError(
                f"{path}: the file cannot be read as text ({error}). Check that it is complete."
            ) from None
        if not header.names:
            raise InputError(
                f"{path}: the first line must name the columns, and is blank. Delete the blank "
                "lines above the names, or check the export that wrote the file."
            )
        headers.append((header, first))
    header, first = _told(headers)
    if len(header.names) > 1 or form.sep is not None:
        _check_width(path, header.names, first, header.sep)
    return header


def _told(headers: Sequence[tuple[Header, list[str]]]) -> tuple[Header, list[str]]:
    """Return the header, and the first row, as the separator that it tells divides them.

    The usual one if it divides the header at all, unless another divides it and the first row into
    more cells, as many in both: names may hold commas between semicolons.
    """
    divided = [each for each in headers if len(each[0].names) > 1]
    if not divided:
        return headers[0]
    told = divided[0]
    for header, first in divided[1:]:
        halved = any(name.count('"') % 2 for name in header.names)  # by what stands in quotes
        if len(header.names) > len(told[0].names) and len(first) == len(header.names):
            told = told if halved else (header, first)
    return told


def _check_width(path: Path, header: list[str], first: list[str], sep: str) -> None:
    # Excel's own line, which only Excel reads.
    if len(header) <= 2 and header[0].strip().lower().startswith("sep="):
        raise InputError(
            f"{path}: its first line only names the separator to Excel. Delete that line; the "
            f"separator is found without it, or named by --sep."
        )
    # pandas would take the first column for row names, and shift all others by one.
    if len(first) > len(header):
        remedy = (
            "Are there decimal commas? Then texts need quotes, or another separator: "
            "--sep ';' --decimal ','."
            if sep == ","
            else "Check the quotes around texts."
        )
        raise InputError(
            f"{path}: line 2 has {len(first)} cells, the header {len(header)}. {remedy}"
        )
