"""Files, streams and tables in memory as runs tables."""

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.table.formats import ARRAY, WORKBOOKS, FileTable, read_table
from coherence.table.roles import AS_IT_IS, Reading
from coherence.table.runs import Runs
from coherence.table.text_files import read_bytes
from coherence.table.validation import as_runs, with_columns

STANDARD_INPUT, IN_MEMORY = "standard input", "runs"
# What may stand before the first character of a text: marks of Unicode, blanks, zero bytes.
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


def read_runs(
    path: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    percent: bool = False,
    prediction: str | None = None,
    gold: str | None = None,
    acts: str | None = None,
    missing: Collection[str] = (),
    scale: str | None = None,
    where: str | None = None,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read and validate a runs table.

    Parameters
    ----------
    path : path or DataFrame
        A .parquet, .csv, .tsv, .jsonl (an object a line) or .json file (an array of objects), or
        one of Excel (.xlsx), each also packed by gzip; one of Stata (.dta), SPSS (.sav, .por) or
        SAS (.sas7bdat, .xpt; these and Excel need the extra ``files``); a folder of .parquet
        files; or a table that is in memory already, for which `sep`, `encoding` and `sheet` are
        left out.
    columns : mapping of str to str or list of str, optional
        Column of the runs table, or option of the command line that names it -> column of the file,
        for example ``{"belief": "p_ill", "action": "treats"}``; several columns for an id, for
        beliefs in several states and for a truth that is 1 in one of them. What is named is what
        its name says, such as the exact posterior (``{"exact": "p_true"}``), and stays so in what
        is returned and written.
    sep : str, optional
        Separator of a .csv or .tsv file; None: told by the header, comma or semicolon, tab or bar.
    decimal : {".", ","}
        Decimal mark of such a file.
    encoding : str, optional
        Encoding of a text file; None: told by its first bytes (UTF-16, UTF-32), else UTF-8.
    percent : bool
        Whether beliefs and exact posteriors are percentages, with a percent sign or without.
    prediction, gold : str, optional
        Columns of the file with predicted and with right labels: ``theta`` is then whether they are
        the same, and ``p`` the confidence in the prediction.
    acts : str, optional
        The action that stakes ``gain`` and ``loss``; the other one passes. ``columns={"penalty":
        NAME}`` names a loss with a gain of 1.
    missing : collection of str
        What cells hold that are missing, such as ``["NA", "-99"]``; empty cells are so anyway, and
        ``NA`` among the numbers of a .csv file.
    scale : str, optional
        Their scale, mapped by a straight line to probabilities: ``"1..7"``, or ``"1..4=.5..1"``
        where its lowest step is a guess between two.
    where : str, optional
        Rows to keep, as comparisons of the file's columns with literals: ``'type == "binary"'``.
        Nested fields have dotted names.
    sheet : str, optional
        Sheet of a workbook; None: the only one that holds cells.

    Returns
    -------
    DataFrame
        The table under the names of `coherence.table.schema.COLUMNS`; other columns are kept as
        they are. A label is its text, in every format: whole numbers where all are written so. In
        CSV an empty text is a missing one; raw answers stay as they were written.

    Raises
    ------
    InputError
        The path does not exist, cannot be read, is empty, or a mapped column is missing;
        signs, commas or bytes need an option, which is named.
    SchemaError
        The table breaks the schema; the message lists every error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("p_ill;treats\n80%;treat\n15%;wait\n")
    ...     runs = read_runs(path, columns={"p": "p_ill", "action": "treats"}, percent=True)
    >>> runs[["p", "action"]]
          p action
    0  0.80  treat
    1  0.15   wait
    """
    reading = Reading(
        {} if columns is None else columns,
        prediction=prediction,
        gold=gold,
        acts=acts,
        scale=scale,
        percent=percent,
        where=where,
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        missing=missing,
        sheet=sheet,
    )
    if isinstance(path, str | os.PathLike):
        return read_file(path, reading).frame()
    return read_frame(path, reading).frame()


def read_frame(table: Any, reading: Reading) -> Runs:
    """Read a table in memory under names of its own as a validated runs table."""
    for name in ("sep", "encoding", "sheet"):
        if (value := getattr(reading, name)) is not None:
            raise InputError(
                f"{name} says how a file is written; received {value!r} with a table in memory. "
                "Leave it out."
            )
    return as_runs(FileTable(with_columns(table)), reading, IN_MEMORY)


def read_file(path: str | os.PathLike[str], reading: Reading = AS_IT_IS) -> Runs:
    """Read a file as a validated runs table."""
    return as_runs(read_table(path, reading), reading, Path(path))


def read_stream(
    stream: IO[bytes], reading: Reading = AS_IT_IS, *, source: str = STANDARD_INPUT
) -> Runs:
    """Read a runs table to the end of a stream, whose first bytes tell what kind of table it is."""
    with tempfile.TemporaryDirectory(prefix="coherence-") as folder:
        path = Path(folder) / "runs"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        try:
            if path.stat().st_size == 0:
                raise InputError(
                    f"{source}: nothing came (0 bytes). Pipe a table into the command, or name a "
                    "file."
                )
            path = path.rename(path.with_suffix(_kind_of(path)))
            return read_file(path, reading)
        # The file is gone when the message is read.
        except SchemaError as error:
            raise SchemaError(error.errors, source) from None
        except InputError as error:
            raise error.renamed({str(path): source, str(path.with_suffix("")): source}) from None


def _kind_of(path: Path) -> str:
    """Tell by its first bytes what kind of table a file is."""
    with path.open("rb") as file:
        marked = {b"PAR1": ".parquet", b"PK\x03\x04": WORKBOOKS[0]}.get(file.read(4))
    if marked is not None:
        return marked
    first = read_bytes(path)[:256].lstrip(_BEFORE_TEXT)[:1]
    return {b"{": ".jsonl", b"[": ARRAY}.get(first, ".csv")
