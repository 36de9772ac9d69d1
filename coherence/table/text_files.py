"""Texts in files: what gzip packed, in the encoding that the file's first bytes tell, and JSON.

What a file says of itself is believed. An object that has a key twice is refused: of two values
nobody knows which is meant.
"""

import codecs
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coherence.errors import InputError
from coherence.table.roles import Reading

_GZIP = b"\x1f\x8b"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16, whose mark is the first half of this one.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MOST_BYTES, MOST_TIMES = 200_000_000, 200
"""What is unpacked of a file that nobody said a limit of: so much, or so many times its size."""


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


def read_text(path: Path, reading: Reading | None = None) -> str:
    """Read a file as text in the encoding that the user names, its byte order mark, else UTF-8.

    Of a log, which is read without a `reading`, nobody names the encoding.
    """
    data, encoding = read_bytes(path), reading and reading.encoding
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding or marked)
    except UnicodeError as error:
        if reading is None:
            raise InputError(
                f"{path}: the log cannot be read as text ({error}). Check that it is complete."
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


def read_array(path: Path, reading: Reading) -> list[dict[str, object]]:
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
