"""CSV through pyarrow, as text: rows too short or too long are errors, and nothing is guessed.

`pandas.read_csv` fills short rows in silence, so that a file that was cut short within its last row
reads as a whole one. Here every cell is text until a column as a whole is converted, once.
"""

import csv
import io
import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from coherence.errors import InputError
from coherence.printable import counted
from coherence.table.missing import without_marks
from coherence.table.notes import Code, Note
from coherence.table.text_files import TextForm, header_of, read_text

logger = logging.getLogger(__name__)
_IMPORT_ID = re.compile(r"""\s*\{\s*["']ImportId["']\s*:""")
_BLOCK = 1 << 26  # bytes; no row is longer, and a header of 20,000 names is none of the usual ones
_FIRST = 1_000  # cells that are tried before all of a column
UNNAMED = "Unnamed: "
"""What a column without a name is called, with its number."""


@dataclass(frozen=True)
class Cells:
    """The cells of a CSV file."""

    names: list[str]  # of its columns, as written; none occurs twice
    columns: list[pa.ChunkedArray]  # the cells of each as text, null where they are empty
    notes: tuple[Note, ...]  # what was passed over, and what may be missing
    questions: Mapping[str, str]  # column -> what a further header line calls it


def read_cells(
    path: Path,
    form: TextForm,
    *,
    once: Collection[str],
) -> Cells:
    """Read a CSV or TSV file as text; the columns named in `once` may not stand there twice."""
    text = read_text(path, form)
    header = header_of(path, text, form)
    if header.spaced:  # blanks behind separators, also before a quote, which pyarrow takes as text
        text = _without_blanks(text, header.sep)
    blank = 0

    def blank_or_wrong(row: Any) -> str:
        nonlocal blank
        if row.text.strip(f" \t\r\n{header.sep}"):
            return "error"
        blank += 1
        return "skip"

    texts = {f"f{at}": pa.string() for at in range(len(header.names))}
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8")),
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
                column_types=texts,
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: {_wrong_row(text, header.sep, error)}") from None
    table = table.slice(1)
    if table.num_columns != len(header.names):
        raise InputError(f"{path}: {_wrong_row(text, header.sep, 'its header is no row')}")
    filled = pc.is_valid(table.column(0))
    for column in table.columns[1:]:
        if pc.all(filled).as_py() is not False:
            break
        filled = pc.or_(filled, pc.is_valid(column))
    n_filled = pc.sum(filled).as_py() or 0
    blank += table.num_rows - n_filled
    if n_filled < table.num_rows:
        table = table.filter(filled)
    _refuse_open_quote(path, text, table)
    names = _names(path, header.names, once)
    notes = []
    # A lone carriage return is half of a line's end where others end with a line feed.
    if not text.endswith("\n" if "\n" in text else "\r"):
        cut = (
            "the last line has no end, as in a file that was cut short: its last cell may be "
            "incomplete. Compare it with its source."
        )
        notes.append(Note(Code.FILE, cut))
    if blank:
        skipped = f"{counted(blank, 'blank line was', 'blank lines were')} skipped."
        notes.append(Note(Code.FILE, skipped))
    table, questions = _without_header_lines(table, names)
    if questions:
        lines = counted(len(questions), "further header line")
        of_qualtrics = f"{lines} of Qualtrics, recognised by the ImportId, left out."
        notes.append(Note(Code.FILE, of_qualtrics))
    columns, of_marks = without_marks(dict(zip(names, table.columns, strict=True)), form.missing)
    notes += of_marks
    for note in notes:
        logger.warning("%s: %s", path, note)
    texts_of = dict(zip(names, questions[0], strict=True)) if len(questions) > 1 else {}
    return Cells(names, list(columns.values()), tuple(notes), texts_of)


def _without_header_lines(
    table: pa.Table, names: Collection[str]
) -> tuple[pa.Table, list[list[str]]]:
    """Take off what Qualtrics writes below the names: the questions, and ids for an import."""
    first = [[cell or "" for cell in row.values()] for row in table.slice(0, 2).to_pylist()]
    for at, row in enumerate(first):
        if names and all(_IMPORT_ID.match(cell) for cell in row):
            return table.slice(at + 1), first[: at + 1]
    return table, []


def _names(path: Path, header: list[str], once: Collection[str]) -> list[str]:
    """Return names that tell all columns apart; what stands nowhere gets a number."""
    names = [name if name.strip() else f"{UNNAMED}{at}" for at, name in enumerate(header)]
    numbers: Counter[str] = Counter()
    unlike = []
    for name in names:
        if numbers[name] and name in once:
            raise InputError(
                f"{path}: column {name!r} occurs more than once. Name every column once."
            )
        unlike.append(f"{name}.{numbers[name]}" if numbers[name] else name)
        numbers[name] += 1
    return unlike


def _without_blanks(text: str, sep: str) -> str:
    written = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True)
    csv.writer(written, delimiter=sep, lineterminator="\n").writerows(rows)
    ended = text.endswith(("\n", "\r"))
    return written.getvalue() if ended else written.getvalue().removesuffix("\n")


def _wrong_row(text: str, sep: str, error: object) -> str:
    """Say which line has too few or too many cells."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        header = next(rows, [])
        for cells in rows:
            if len(cells) != len(header) and any(cell.strip() for cell in cells):
                few = len(cells) < len(header)
                remedy = (
                    "Was the file cut short there? Get it again, or fill or remove the line."
                    if few
                    else "Check the quotes around texts and the separator."
                )
                return (
                    f"line {rows.line_num} has {counted(len(cells), 'cell')}, the header "
                    f"{len(header)}. {remedy}"
                )
    except csv.Error as other:
        error = other
    said = str(error).splitlines()[0]
    return f"the file cannot be read as a table ({said}). Check that it is complete."


def _refuse_open_quote(path: Path, text: str, table: pa.Table) -> None:
    """Refuse a file that ends within a text in quotes, which holds the line end then."""
    if not table.num_rows or text.count('"') % 2 == 0:
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if last is not None and last.endswith(("\n", "\r")):
        raise InputError(
            f"{path}: the file ends within a text in quotes: the last quote is not closed. "
            "Was it cut short? Get it again."
        )


def as_column(cells: pa.ChunkedArray, *, decimal: str, label: bool) -> "pd.Series[Any]":
    """Convert the cells of a column where all that are filled are numbers, or True and False."""
    plain = pc.utf8_trim_whitespace(cells)
    plain = pc.if_else(pc.equal(plain, ""), None, plain)  # blanks alone, as spreadsheets show them
    if decimal == "," and not pc.any(pc.match_substring(plain, ".")).as_py():
        plain = pc.replace_substring(plain, ",", ".")
    zeros = label and pc.any(pc.match_substring_regex(plain, r"^[+-]?0[0-9]")).as_py()
    if zeros or cells.null_count == len(cells):
        return as_text(cells)
    first = plain.slice(0, _FIRST)
    for kind in (pa.int64(), pa.float64()):
        try:
            pc.cast(first, kind)  # a column of texts says so at once
            numbers = pc.cast(plain, kind)
        except pa.ArrowInvalid:
            continue
        if kind == pa.float64() and pc.any(pc.is_nan(numbers)).as_py():
            break  # somebody's "nan" is no number
        largest = pc.max(pc.abs(numbers)).as_py() if kind == pa.float64() and label else 0
        if largest >= 2**53:
            break  # ids of many digits would run together
        converted: pd.Series[Any] = numbers.to_pandas()
        return converted
    lower = pc.utf8_lower(plain)
    if pc.all(pc.is_in(lower, pa.array(["true", "false", None]))).as_py():
        truths: pd.Series[Any] = pc.equal(lower, "true").to_pandas()
        return truths
    return as_text(cells)


def as_text(cells: pa.ChunkedArray) -> "pd.Series[Any]":
    """Return texts with missing ones as pandas has them, which are not numbers where all are."""
    texts: pd.Series[Any] = cells.to_pandas()
    return texts.astype("float64") if cells.null_count == len(cells) else texts
