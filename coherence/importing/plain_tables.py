"""Any CSV, TSV, JSONL or parquet table whose columns the user maps.

Cells of text are read as text, so that an id such as 007 and a label such as NA stay what they are;
an empty cell is missing.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from pathlib import Path

from coherence.errors import InputError
from coherence.importing.log_format import AnswerLog, LogFormat, flatten_all, names_of
from coherence.table.csv_files import read_cells
from coherence.table.exact import EXACT, holds_exact
from coherence.table.foreign_files import FOREIGN, read_foreign
from coherence.table.missing import marks
from coherence.table.reading import ARRAY, LINES, PARQUET
from coherence.table.schema import COLUMN_NAMES, FEATURE_PREFIX, PROBABILITIES, is_state
from coherence.table.text_files import (
    AS_IT_SAYS,
    SEPARATORS,
    TextForm,
    header_of,
    inner_suffix,
    read_array,
    read_objects,
    read_text,
)

ROW = "row"  # what an empty name stands for: pandas writes an index under none
_DECIMAL_COMMA = re.compile(r"(\s*[+-]?[0-9]*),([0-9]+\s*%?\s*)")


def read_header(
    path: Path, text: TextForm = AS_IT_SAYS, *, max_bytes: int | None = None
) -> list[str]:
    """Return the column names of a CSV or TSV file."""
    names = header_of(path, read_text(path, text, max_bytes), text).names
    plain = [name.strip() for name in names]
    return [name or ROW for name in (plain if len({*plain}) == len(plain) else names)]


def read_rows(
    path: Path, text: TextForm = AS_IT_SAYS, *, max_bytes: int | None = None
) -> Iterator[dict[str, object]]:
    """Yield the rows of a CSV or TSV file, empty cells as None; what cannot be read is an error."""
    names = read_header(path, text, max_bytes=max_bytes)
    # A dict would keep the last of two columns, in silence.
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise InputError(
            f"{path}: column {twice[0]!r} occurs more than once. Name every column once."
        )
    for row in read_cells(path, text, max_bytes=max_bytes).records():
        cells = list(row.values())
        if text.decimal == ",":
            cells = [cell and _with_point(cell) for cell in cells]
        yield dict(zip(names, cells, strict=True))


def _with_point(cell: str) -> str:
    """Return a cell that is a number and nothing else with a point in place of its comma."""
    number = _DECIMAL_COMMA.fullmatch(cell)
    return f"{number[1]}.{number[2]}" if number else cell


def _read_parquet(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of a parquet file."""
    import pyarrow
    import pyarrow.parquet

    try:
        # A stream of batches: rows as Python objects take many times the room of the file.
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=10_000):
                for row in batch.to_pylist():
                    yield {name: _plain(value) for name, value in row.items()}
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the file cannot be read as parquet ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from None


def _read_foreign(path: Path, text: TextForm) -> Iterator[dict[str, object]]:
    """Yield the rows of a workbook, or of a file of a statistics program."""
    table = read_foreign(path, sheet=text.sheet, numbers=PROBABILITIES)
    for row in table.astype(object).where(table.notna(), None).to_dict("records"):
        yield {str(name): _plain(value) for name, value in row.items()}


def _plain(value: object) -> object:
    """Return a value of a parquet file as JSON would have it."""
    if isinstance(value, float) and value != value:
        return None  # NaN is how pandas writes what is missing
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def read_table(path: Path, *, max_bytes: int, text: TextForm = AS_IT_SAYS) -> AnswerLog:
    """Read a table whose columns are mapped by the user, or bear the names of the runs table."""
    suffix = inner_suffix(path)
    if suffix in LINES:
        rows = read_objects(path, text=text, max_bytes=max_bytes)
        records = tuple(flatten_all(row for _, row in rows))
    elif suffix == ARRAY:
        records = tuple(flatten_all(read_array(path, text=text)))
    elif suffix in FOREIGN:
        records = tuple(_read_foreign(path, text))
    elif suffix in SEPARATORS:
        records = tuple(read_rows(path, text, max_bytes=max_bytes))
    elif suffix in PARQUET:
        records = tuple(flatten_all(_read_parquet(path)))
    else:
        raise InputError(
            f"{path}: the ending of a table must be .csv, .tsv, .jsonl, .json, .parquet, .xlsx, "
            f".dta, .sav or .sas7bdat, not {suffix or 'missing'!r}. Convert the file."
        )
    if not records:
        raise InputError(f"{path}: the table has no rows. Check the export that wrote it.")
    if text.missing and suffix not in SEPARATORS:
        is_mark = marks(text.missing)
        records = tuple(
            {name: None if is_mark(cell) else cell for name, cell in record.items()}
            for record in records
        )
    names = names_of(records)
    known = {
        name: name for name in names if name in COLUMN_NAMES or name.startswith(FEATURE_PREFIX)
    }
    # With p there, a column such as p_value is no state.
    if "p" not in names:
        known |= {name: name for name in names if is_state(name)}
    if EXACT in known and not holds_exact(names):
        del known[EXACT]
    return AnswerLog(
        file=path.name, task=None, model=None, records=records, fields=known, is_text=False
    )


FORMAT = LogFormat(
    (*LINES, ARRAY, *SEPARATORS, *PARQUET, *FOREIGN),
    recognises=lambda path, text: True,
    read=read_table,
    takes_text=True,
)
