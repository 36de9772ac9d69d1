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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from coherence.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Ending of a table -> its usual separator."""
_CHUNK = 1 << 18
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
_TAB_NAMES = ("\\t", "tab")  # what a shell passes on of a tab that was typed as an escape


@dataclass(frozen=True)
class TextForm:
    r"""What the user says about how a table of text is written."""

    # The separator of cells, one character; ``tab`` and ``\t`` are one too. None: told by the
    # header.
    sep: str | None = None
    decimal: str = "."  # the decimal mark
    # a name that Python knows; None: told by the file's first bytes, else UTF-8
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.sep in _TAB_NAMES:
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n.' + self.decimal):
            raise InputError(
                f"sep must be one character, and neither the decimal mark nor a quote; received "
                f"{self.sep!r}. A semicolon is --sep ';', a tab --sep tab."
            )
        if self.decimal not in (".", ","):
            raise InputError(f"decimal must be '.' or ','; received {self.decimal!r}.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise InputError(
                f"encoding must be a name that Python knows, such as utf-8, latin-1, cp1252 or "
                f"utf-16; received {self.encoding!r}."
            ) from None


AS_IT_SAYS = TextForm()
"""Nothing is said: the file tells, or it is UTF-8 with points."""


def inner_suffix(path: Path) -> str:
    """Return a file's ending in small letters, without the ``.gz`` behind it."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def bare_name(path: Path) -> str:
    """Return a file's name without its ending, nor the ``.gz`` behind that."""
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def is_gzip(path: Path) -> bool:
    """Tell by its first bytes whether a file is packed by gzip, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


MOST_BYTES, MOST_TIMES = 200_000_000, 200
"""What is unpacked of a table that nobody said a limit of: so much, or so many times its size."""


class _Bounded(io.RawIOBase):
    """Unpacked bytes up to a limit: a packed file may be a thousand times as large as it looks."""

    def __init__(self, packed: gzip.GzipFile, path: Path, limit: int) -> None:
        self._packed, self._path, self._limit, self._read = packed, path, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._packed.read(len(buffer))
        self._read += len(chunk)
        if self._read > self._limit:
            raise InputError(
                f"{self._path}: it unpacks to more than {self._limit:,.0f} bytes. "
                "If you trust it, unpack it (gunzip), or raise --max-bytes where there is one."
            )
        buffer[: len(chunk)] = chunk
        return len(chunk)


@contextmanager
def open_bytes(path: Path, *, max_bytes: int | None = None) -> Iterator[io.BufferedReader]:
    """Open a file and unpack it, if gzip has packed it."""
    if not is_gzip(path):
        with path.open("rb") as file:
            yield file
        return
    try:
        with gzip.open(path, "rb") as packed:
            limit = max_bytes or max(MOST_BYTES, MOST_TIMES * path.stat().st_size)
            yield io.BufferedReader(_Bounded(packed, path, limit), _CHUNK)
    # EOFError is what a packed file that was cut short gives.
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut short ({error}). Get the file again."
        ) from None


def encoding_of(path: Path, form: TextForm = AS_IT_SAYS) -> str:
    """Return the encoding of a file: the user's word, its byte order mark, else UTF-8."""
    if form.encoding is not None:
        return form.encoding
    with open_bytes(path) as file:
        head = file.read(4)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    return "utf-8"


def not_in_encoding(path: Path, error: UnicodeError, form: TextForm = AS_IT_SAYS) -> InputError:
    """Return the error that a file's bytes are no text in its encoding, with the option to give."""
    if form.encoding is None:
        remedy = "Name its encoding, often --encoding cp1252 (Windows) or --encoding latin-1"
    else:
        remedy = "Name another --encoding"
    return InputError(
        f"{path}: the file cannot be read as text ({error}). "
        f"{remedy}, or check that the file is complete."
    )


@contextmanager
def open_text(
    path: Path, form: TextForm = AS_IT_SAYS, *, max_bytes: int | None = None
) -> Iterator[IO[str]]:
    """Open a file as text, unpacked and decoded; lines end at a line feed and nowhere else."""
    encoding = encoding_of(path, form)
    try:
        with open_bytes(path, max_bytes=max_bytes) as file:
            # Not in text mode: its lines would also end at characters that JSON allows in a string.
            yield io.TextIOWrapper(file, encoding=encoding, newline="\n")
    except UnicodeError as error:
        raise not_in_encoding(path, error, form) from None


def parse_json(text: str | bytes, where: str) -> object:
    """Parse JSON; every way in which it can fail is an `InputError` that says where."""
    try:
        return json.loads(text)
    # A few kilobytes of brackets are enough to exhaust the stack.
    except RecursionError:
        raise InputError(f"{where} is nested too deeply to be read.") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are both of this kind
        raise InputError(
            f"{where} is not JSON ({error}). Check that the file is complete."
        ) from None


def read_objects(
    path: Path, *, text: TextForm = AS_IT_SAYS, max_bytes: int | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """Read a file with one JSON object per line."""
    with open_text(path, text, max_bytes=max_bytes) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            value = parse_json(line, f"{path}: line {number}")
            if not isinstance(value, dict):
                raise InputError(
                    f"{path}: line {number} is a JSON {type(value).__name__}, not an object. "
                    "Each line must be one JSON object."
                )
            yield number, value


class Header(NamedTuple):
    """The first line of a table."""

    names: list[str]  # its cells
    sep: str  # what separates them
    spaced: bool  # whether blanks follow separators, so that cells begin behind them


def header_and_separator(
    path: Path, form: TextForm = AS_IT_SAYS, *, max_bytes: int | None = None
) -> Header:
    """Return the cells of a table's first line and what separates them."""
    usual = SEPARATORS[inner_suffix(path)]
    with open_text(path, form, max_bytes=max_bytes) as lines:
        start = lines.read(_CHUNK)
    headers: list[Header] = []
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
            raise InputError(
                f"{path}: the file cannot be read as text ({error}). Check that it is complete."
            ) from None
        if len(header.names) > 1 or form.sep is not None:
            _check_width(path, header.names, first, sep)
            return header
        headers.append(header)
    return headers[0]


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
