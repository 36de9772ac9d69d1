"""Any CSV, TSV or JSONL table whose columns the user maps.

Cells are read as text, so that an id such as 007 and a label such as NA stay what they are; an
empty cell is missing.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from coherence.errors import InputError
from coherence.importing.answer_log import AnswerLog, flatten, read_objects
from coherence.importing.log_format import LogFormat
from coherence.table.schema import COLUMN_NAMES, FEATURE_PREFIX

LINES = (".jsonl", ".ndjson")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
ROW = "row"  # what an empty name stands for: pandas writes an index under none


def read_header(path: Path) -> list[str]:
    """Return the column names of a CSV or TSV file; an empty name becomes ``row``.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of str
        Names in order.

    Raises
    ------
    InputError
        The file is empty or no text.
    """
    # utf-8-sig: spreadsheets put a byte order mark before the first name.
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            names = next(csv.reader(file, delimiter=SEPARATORS[path.suffix.lower()]), None)
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(
                f"{path}: the file cannot be read as text ({error}). Check that it is complete."
            ) from None
    if not names:
        raise InputError(f"{path}: the file is empty. Check the export that wrote it.")
    return [name or ROW for name in names]


def read_rows(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of a CSV or TSV file, empty cells as None; what cannot be read is an error."""
    names = read_header(path)
    # A dict would keep the last of two columns, in silence.
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: column {twice!r} occurs more than once. Name every column once.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=SEPARATORS[path.suffix.lower()])
        # The header, which was read above.
        next(reader)
        try:
            for cells in reader:
                # A blank line is no row; the csv module gives it as an empty one.
                if cells and len(cells) != len(names):
                    raise InputError(
                        f"{path}: line {reader.line_num} has {len(cells)} cells, "
                        f"the header {len(names)}. Check the quotes around texts."
                    )
                if cells:
                    yield {name: cell or None for name, cell in zip(names, cells, strict=True)}
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(
                f"{path}: the file cannot be read after line {reader.line_num} ({error}). "
                "Check that it is complete."
            ) from None


def read_table(path: Path, *, max_bytes: int) -> AnswerLog:
    """Read a table whose columns are mapped by the user, or bear the names of the runs table.

    Parameters
    ----------
    path : Path
        A .csv, .tsv or .jsonl file.
    max_bytes : int
        Not used: the file is not packed.

    Returns
    -------
    AnswerLog
        One record per row; nested JSON has dotted names.

    Raises
    ------
    InputError
        Unknown ending, no rows, or a line that cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix in LINES:
        records = tuple(
            {
                inner: cell
                for name, value in row.items()
                for inner, cell in flatten(value, name).items()
            }
            for _, row in read_objects(path)
        )
    elif suffix in SEPARATORS:
        records = tuple(read_rows(path))
    else:
        raise InputError(
            f"{path}: the ending of a table must be .csv, .tsv or .jsonl, "
            f"not {suffix or 'missing'!r}. Convert the file."
        )
    if not records:
        raise InputError(f"{path}: the table has no rows. Check the export that wrote it.")
    names = dict.fromkeys(name for record in records for name in record)
    known = {
        name: name for name in names if name in COLUMN_NAMES or name.startswith(FEATURE_PREFIX)
    }
    # With p there, a column such as p_value is no state.
    if "p" not in names:
        known |= {name: name for name in names if name.startswith("p_")}
    return AnswerLog(
        file=path.name, task=None, model=None, records=records, fields=known, is_text=False
    )


FORMAT = LogFormat((*LINES, *SEPARATORS), recognises=lambda path: True, read=read_table)
