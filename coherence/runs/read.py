"""From a table as its file has it to a runs table: columns found, cells read, all checked at once.

What was assumed on the way is a note of the table.
"""

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.runs.cells import numbers_or_labels, with_labels, without_marks, without_na
from coherence.runs.check import (
    cell_errors,
    damaged_ids,
    shape_errors,
    table_errors,
    without_missing_actions,
)
from coherence.runs.columns import (
    ANY,
    AS_IN_RUNS,
    AS_IT_IS,
    COMPARED,
    LABELS,
    Naming,
    Reading,
    declared,
    holds_exact,
)
from coherence.runs.formats import FileTable, read_table, require_frame, with_index_columns
from coherence.runs.notes import Code
from coherence.runs.roles import Findings, read_numbers, without_strangers
from coherence.runs.row_condition import RowCondition
from coherence.runs.runs import NAMED, Runs
from coherence.runs.several import (
    doubt_rows_of_options,
    named_parts,
    note_repeated_ids,
    with_matched_states,
    with_roles,
)

logger = logging.getLogger(__name__)


def as_runs(read: FileTable, reading: Reading, source: Path | str) -> Runs:
    """Turn a table as a file has it into a runs table, or raise with all that is wrong with it."""
    runs, found = examined(read, reading)
    title = f"{source}{', rows that where keeps' if len(runs) < len(read.table) else ''}"
    # All at once: each round of corrections takes a user as long as the first.
    if found.of_options:
        everything = [*dict.fromkeys([*found.of_options, *found.of_table])]
        count = f" has {len(everything)} errors" if len(everything) > 1 else ""
        raise InputError.all_at_once(f"{title}{count}", everything)
    if found.of_table:
        raise SchemaError(found.of_table, title)
    told = (Code.PERCENT, Code.SCALE, Code.SHAPE)  # all notes are in every report
    if assumed := [note for note in runs.notes if note.code in told]:
        logger.warning("%s: %s", source, " ".join(map(str, assumed)))
    return runs


def validate_runs(runs: pd.DataFrame, *, source: str = "runs table") -> Runs:
    """Return a table with its columns told apart, or raise `SchemaError` with every error."""
    return as_runs(FileTable(require_frame(runs)), AS_IT_IS, source)


def with_columns(runs: pd.DataFrame, needed: Collection[str] = ()) -> pd.DataFrame:
    """Return a table whose columns, those of its index too, are plain and some of them there."""
    runs = require_frame(runs)
    if strange := shape_errors(runs):
        raise InputError(f"runs: {strange[0]}")
    runs = with_index_columns(runs)
    for name in needed:
        if name not in runs.columns:
            raise InputError(f"runs must have a column {name!r}. {closest(name, runs.columns)}")
    return runs


def examined(
    read: FileTable,
    reading: Reading = AS_IT_IS,
    *,
    part: bool = False,
    named: Naming = AS_IN_RUNS,
    ours: bool = False,
) -> tuple[Runs, Findings]:
    """Read the columns of a table by their roles, and list everything that is wrong with it.

    A `part` of a table need not allow a check by itself. Where it is `ours`, no column is taken for
    one of somebody's own.
    """
    found, table = Findings(reading, named, read.titles), read.table
    given = Runs(table)
    found.notes += [*given.notes, *read.notes]
    if table.columns.nlevels == 1:  # names of columns may be numbers
        table = table.set_axis(table.columns.map(str), axis="columns")
    found.of_table += shape_errors(table) if len(table) else ["it has no rows."]
    if found.of_table:  # every later step would trip over them
        return given, found
    meant = given.meant | {*reading.columns} | {*(["acts"] if reading.acts else [])}
    table = with_index_columns(table).reset_index(drop=True)
    if given.meant and NAMED in table.columns:
        table = table.drop(columns=NAMED)
    parts = named_parts(table, reading)
    found.of_options += [
        f"there is no column {part!r} to use as {name!r}. {closest(part, table.columns)}"
        for part, name in {part: name for name, of in parts.items() for part in of}.items()
        if part not in table
    ]
    try:
        table = _kept_rows(table, read, found)
    except InputError as error:  # of rows that are not wanted nothing can be said
        found.of_options.append(str(error))
        return given, found
    of_labels = [part for name in (*LABELS, *COMPARED) for part in parts.get(name, [name])]
    of_labels = [name for name in dict.fromkeys(of_labels) if name in table]
    table = _without(table, damaged_ids(table[of_labels], found), found)
    table = with_roles(table, parts, found)
    table = _without(table, cell_errors(table, found), found)
    table, notes = with_labels(table, reading.decimal)
    found.notes += notes
    table = without_missing_actions(table, found)
    strange = not (ours or holds_exact(read.table.columns))  # the file's own, before --exact
    if strange:
        table = without_strangers(table, meant, found)
    table = read_numbers(table, found)
    unused = Runs(table).unused_labels
    for role in {"person", "group"} & reading.columns.keys() & {*table.columns}:
        note_repeated_ids(table, role, unused, found)
    if strange:
        doubt_rows_of_options(table, unused, found)
    runs = with_matched_states(Runs(table, found.notes, found.named, meant=meant), found)
    runs.notes = tuple(dict.fromkeys(found.notes))
    found.of_table += table_errors(runs, found, part=part)
    return runs, found


def _without(table: pd.DataFrame, errors: Mapping[str, str], found: Findings) -> pd.DataFrame:
    """Leave out the columns that have errors, which no later step could read."""
    found.of_table += errors.values()
    found.absent |= {*errors}
    return table.drop(columns=[*errors])


def _kept_rows(table: pd.DataFrame, read: FileTable, found: Findings) -> pd.DataFrame:
    """Read labels of values, empty cells that hold a mark, and keep the rows that are wanted."""
    reading = found.reading
    roles = {as_: name for name, as_ in reading.columns.items()}
    labelled = []
    for name, values in read.labelled.items():
        column = declared(roles.get(name, name), table.columns)
        if not values.twice and (column is None or column.kind in ("label", ANY)):
            table = table.assign(**{name: values.cells})
            labelled.append(repr(name))
        elif column is not None and column.kind in ("label", ANY):
            found.of_options.append(
                f"column {name!r} has one label for several values: {values.twice}. Give them "
                "labels of their own, or drop the labels."
            )
    if labelled:
        text = f"labels of values stand for the numbers of {listing(labelled)}."
        found.note(Code.FILE, text)
    table, notes = without_marks(table, [*reading.missing])
    found.notes += notes
    if read.of_text:
        table, notes = without_na(table, reading.decimal)
        found.notes += notes
    if reading.where is None:
        return table
    compared = {
        name: numbers_or_labels(table[name], reading.decimal)[0]
        for name in table
        if name in reading.where
    }
    table, note = RowCondition.parse(reading.where).kept_rows(table, compared)
    found.notes.append(note)
    return table


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
        one of Excel (.xlsx), each also packed by gzip; one of Stata (.dta) or SPSS (.sav; these and
        Excel need the extra ``files``); or a table that is in memory already, for which `sep`,
        `encoding` and `sheet` are left out.
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
        The table under the names of `coherence.runs.columns.COLUMNS`; other columns are kept as
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
    options = {name: value for name, value in locals().items() if name not in ("path", "columns")}
    reading = Reading({} if columns is None else columns, **options)
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
    return as_runs(FileTable(with_columns(table)), reading, "runs")


def read_file(path: str | os.PathLike[str], reading: Reading = AS_IT_IS) -> Runs:
    """Read a file as a validated runs table."""
    return as_runs(read_table(path, reading), reading, Path(path))
