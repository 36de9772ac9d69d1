"""Runs tables in and out of files: parquet, CSV, JSONL, or a folder of parquet files.

A table is checked against the schema as it is read, and written to a temporary file that then takes
the place of the old one.
"""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import pandas as pd

from coherence.errors import CoherenceError, InputError, SchemaError
from coherence.table.csv_files import as_column, read_cells
from coherence.table.files import replacing
from coherence.table.frames import require_frame, require_path
from coherence.table.incoming import AS_IT_IS, Reading, as_runs, with_index_columns
from coherence.table.printable import spreadsheet_safe
from coherence.table.runs import NOTES, Runs
from coherence.table.scan import parquet_files, require_there
from coherence.table.schema import COLUMN_NAMES, COLUMNS
from coherence.table.text_files import (
    AS_IT_SAYS,
    SEPARATORS,
    TextForm,
    inner_suffix,
    not_in_encoding,
    open_bytes,
    read_objects,
)

_TEXTS = tuple(column.name for column in COLUMNS if column.kind == "text")
_LABELS = tuple(column.name for column in COLUMNS if column.kind == "label")
_JSON_SUFFIXES = (".jsonl", ".ndjson")
STANDARD_INPUT = "standard input"
_PARQUET = b"PAR1"
# What may stand before the first character of a text: marks of Unicode, blanks, zero bytes.
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"
# What pandas and pyarrow raise of a table that a format cannot hold.
_NOT_HELD = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError, NotImplementedError),
)


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa  # imported here: most commands do without

    table = pd.read_parquet(path, engine="pyarrow")
    for at in range(table.shape[1]):
        column = table.iloc[:, at].array
        if isinstance(column.dtype, pd.StringDtype | pd.ArrowDtype):
            # A damaged page may hold bytes that are no text, which shows wherever they are used.
            pa.array(column).validate(full=True)
    return with_index_columns(table)


def _read_csv(path: Path, reading: Reading, form: TextForm) -> pd.DataFrame:
    read = {reading.name_in_file(name) for name in COLUMN_NAMES}.difference(reading.left_out)
    cells = read_cells(path, form, once=read)
    texts = {reading.name_in_file(name).strip() for name in _TEXTS}
    labels = {reading.name_in_file(name).strip() for name in _LABELS}
    columns = {
        # The raw answer 0.70 is no number yet.
        name: column.to_pandas()
        if name.strip() in texts
        else as_column(column, decimal=form.decimal, label=name.strip() in labels)
        for name, column in zip(cells.names, cells.columns, strict=True)
    }
    table = pd.DataFrame(columns)
    table.attrs[NOTES] = list(cells.notes)
    # Blanks around a name belong to it only where the user says so, or another has it without.
    asked = {name.strip(): name for name in (*reading.columns.values(), *reading.left_out)}
    plain = [asked.get(name.strip(), name.strip()) for name in cells.names]
    return table if len({*plain}) < len(plain) else table.set_axis(plain, axis="columns")


def _read_jsonl(path: Path, form: TextForm) -> pd.DataFrame:
    return pd.DataFrame.from_records([record for _, record in read_objects(path, text=form)])


def _read_file(
    path: Path, reading: Reading = AS_IT_IS, form: TextForm = AS_IT_SAYS
) -> pd.DataFrame:
    suffix = inner_suffix(path)
    reader: Callable[[Path], pd.DataFrame]
    if suffix in (".parquet", ".pq"):
        reader = _read_parquet
    elif suffix in SEPARATORS:
        reader = partial(_read_csv, reading=reading, form=form)
    elif suffix in _JSON_SUFFIXES:
        reader = partial(_read_jsonl, form=form)
    else:
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv or .jsonl, "
            f"not {suffix or 'missing'!r}. Convert the file."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes). Check the export that wrote it.")
    try:
        return reader(path)
    except InputError:
        raise
    except UnicodeError as error:
        raise not_in_encoding(path, error, form) from None
    except (OSError, EOFError, ValueError, TypeError, NotImplementedError) as error:
        # pyarrow's ArrowInvalid is a ValueError, and a type that pandas does not know one of the
        # last two; only the first line of such messages helps a user.
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def _read_folder(path: Path) -> pd.DataFrame:
    tables = []
    for file, keys in parquet_files(path):
        tables.append(_read_file(file).assign(**dict[str, Any](keys)))
    return pd.concat(tables, ignore_index=True)


def read_runs(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    percent: bool = False,
    ignore: Collection[str] = (),
    merge_labels: bool | None = None,
) -> pd.DataFrame:
    r"""Read and validate a runs table.

    Parameters
    ----------
    path : path
        A .parquet, .csv, .tsv or .jsonl file, the last three also packed by gzip, or a folder of
        .parquet files.
    columns : mapping of str to str, optional
        Column of the runs table -> column of the file, for example ``{"p": "confidence", "action":
        "choice"}``.
    sep : str, optional
        Separator of a .csv or .tsv file; None: told by the header, comma or semicolon, tab or bar.
    decimal : {".", ","}
        Decimal mark of such a file.
    encoding : str, optional
        Encoding of a text file; None: told by its first bytes (UTF-16, UTF-32), else UTF-8.
    percent : bool
        Whether stated probabilities are percentages, with a percent sign or without.
    ignore : collection of str
        Columns of the file to leave out.
    merge_labels : bool, optional
        What becomes of labels that differ only by blanks, case, Unicode form or type: True writes
        them as the most frequent of them, False keeps them apart; None takes them for an error.

    Returns
    -------
    DataFrame
        The table under the names of `coherence.table.schema.COLUMNS`; other columns are kept as
        they are. In CSV an empty text is a missing one, and labels that all look like numbers are
        numbers; raw answers stay as they were written.

    Raises
    ------
    InputError
        The path does not exist, cannot be read, is empty, or a mapped or ignored column is missing;
        signs, commas or bytes need an option, which is named.
    SchemaError
        The table breaks the schema; the message lists every error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("confidence;choice\n80%;treat\n15%;wait\n")
    ...     runs = read_runs(path, columns={"p": "confidence", "action": "choice"}, percent=True)
    >>> runs[["p", "action"]]
          p action
    0  0.80  treat
    1  0.15   wait
    """
    reading = Reading({} if columns is None else columns, decimal, percent, ignore, merge_labels)
    return read_file(path, reading, sep=sep, encoding=encoding).frame()


def read_file(
    path: str | os.PathLike[str],
    reading: Reading = AS_IT_IS,
    *,
    sep: str | None = None,
    encoding: str | None = None,
) -> Runs:
    """Read a file as a validated runs table; see `read_runs`."""
    return as_runs(read_table(path, reading, sep=sep, encoding=encoding), reading, Path(path))


def read_table(
    path: str | os.PathLike[str],
    reading: Reading,
    *,
    sep: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Read a table with the columns of its file."""
    source = require_path(path)
    require_there(source)
    form = TextForm(sep, reading.decimal, encoding)
    table = _read_folder(source) if source.is_dir() else _read_file(source, reading, form)
    if len(table) == 0:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    return table


def kind_of(head: bytes) -> str:
    """Tell what kind of table bytes are the beginning of."""
    if head.startswith(_PARQUET):
        return ".parquet"
    return ".jsonl" if head.lstrip(_BEFORE_TEXT)[:1] in (b"{", b"[") else ".csv"


def read_stream(
    stream: IO[bytes],
    reading: Reading = AS_IT_IS,
    *,
    source: str = STANDARD_INPUT,
    **written: str | None,
) -> Runs:
    """Read a runs table to the end of a stream."""
    with tempfile.TemporaryDirectory(prefix="coherence-") as folder:
        came = Path(folder) / "runs"
        with came.open("wb") as file:
            shutil.copyfileobj(stream, file)
        if came.stat().st_size == 0:
            raise InputError(
                f"{source}: nothing came (0 bytes). Pipe a table into the command, or name a file."
            )
        path = came
        try:
            with open_bytes(came) as content:
                kind = kind_of(content.read(256))
            path = came.rename(came.with_suffix(kind))
            return read_file(path, reading, **written)
        # The file is gone when the message is read.
        except SchemaError as error:
            raise SchemaError(error.errors, source) from None
        except InputError as error:
            raise error.renamed({str(path): source, str(came): source}) from None


def _write_jsonl(runs: pd.DataFrame, path: Path) -> None:
    if runs.columns.has_duplicates:
        twice = runs.columns[runs.columns.duplicated()][0]
        raise ValueError(f"two columns are named {twice!r}")
    # pandas writes at most 15 digits; a probability must come back as the number that it was.
    records = runs.astype(object).where(runs.notna(), None).to_dict("records")
    with path.open("w", encoding="utf-8") as lines:
        for record in records:
            lines.write(
                json.dumps(
                    record, ensure_ascii=False, allow_nan=False, default=lambda value: value.item()
                )
                + "\n"
            )


def write_runs(runs: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table so that a crash leaves either the old file or the new one.

    Parameters
    ----------
    runs : DataFrame
        Table to write.
    path : path
        Target; its ending (.parquet, .csv or .jsonl) chooses the format.

    Raises
    ------
    InputError
        Unknown ending, the folder is missing or not writable, or a column that the format cannot
        hold.
    WriteError
        The disk is full, or failed; an earlier file of that name is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=5, n_reps=2, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_runs(runs, f"{folder}/runs.parquet")
    ...     len(coherence.read_runs(f"{folder}/runs.parquet")) == len(runs)
    True
    """
    require_frame(runs)
    target = require_path(path)
    suffix = target.suffix.lower()
    if suffix not in (".parquet", ".csv", *_JSON_SUFFIXES):
        raise InputError(
            f"{target}: the file's ending must be .parquet, .csv or .jsonl, "
            f"not {suffix or 'missing'!r}."
        )
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist. Create it first.")
    try:
        with replacing(target) as temporary:
            _write(runs, temporary, suffix)
    except CoherenceError:
        raise
    except _NOT_HELD as error:
        raise InputError(
            f"{target}: a {suffix} file cannot hold this table ({' '.join(str(error).split())}). "
            "Every column must have one name and hold values of one plain kind."
        ) from error


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write results; in CSV, which people open, texts that a spreadsheet would run are guarded."""
    if path.suffix.lower() == ".csv":
        texts = table.select_dtypes(exclude=["number", "bool"])
        table = table.assign(**{str(name): texts[name].map(spreadsheet_safe) for name in texts})
    write_runs(table, path)


def _write(runs: pd.DataFrame, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        runs.to_parquet(path, index=False, engine="pyarrow")
    elif suffix == ".csv":
        # Texts in quotes: of a lone carriage return alone, Python's minimal quoting would leave a
        # line end.
        runs.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
    else:
        _write_jsonl(runs, path)
