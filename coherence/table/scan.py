"""Runs tables larger than memory: which units a parquet table has, and the rows of one of them.

Parquet files keep rows in groups. One pass over the columns ``task``, ``model`` and ``theta`` says
which groups hold which unit; the rows of a unit are then read alone, in their order.
"""

import math
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import InputError, closest
from coherence.table.frames import require_path
from coherence.table.incoming import (
    Reading,
    as_runs,
    map_columns,
    restore_whole_labels,
    with_index_columns,
)
from coherence.table.naming import Naming
from coherence.table.parquet_files import ParquetFile, is_parquet, parquet_files
from coherence.table.percentages import Tally, judge_percentages
from coherence.table.printable import numbered
from coherence.table.reading_notes import with_reading_notes
from coherence.table.storage import require_there
from coherence.table.written_numbers import log_notes, tally_percentages

UNIT = ("task", "model")
Key = tuple[str, str]


@dataclass(frozen=True)
class Part:
    """A group of rows, some of which belong to a unit.

    Parameters
    ----------
    file : ParquetFile
        Where it is.
    group : int
        Number of the group in the file.
    n_rows : int
        Rows in it, of whatever unit.
    shared : bool
        Whether it holds rows of other units too.
    stamp : (int, int)
        Size and time of the file when it was looked through.
    """

    file: ParquetFile
    group: int
    n_rows: int
    shared: bool
    stamp: tuple[int, int]


@dataclass(frozen=True, repr=False)
class RunsScan:
    """A runs table that is read by unit; `coherence.analyze` takes it in place of a table.

    Parameters
    ----------
    path : Path
        File or folder.
    reading : Reading
        How its columns are to be understood.
    parts : mapping
        (task, model) -> the groups that hold its rows, in their order; sorted by task and model.
    labels : DataFrame
        ``task`` and ``theta``: every state that a task has.
    names : tuple of str
        Columns that some file has, as it calls them.
    n_rows : int
        Rows of all units.
    notes : tuple of str
        What was assumed when the table was looked through; every unit has them.
    """

    path: Path
    reading: Reading
    parts: Mapping[Key, tuple[Part, ...]]
    labels: pd.DataFrame = field(compare=False)
    names: tuple[str, ...]
    n_rows: int
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the runs table that some file has."""
        back = {original: name for name, original in self.reading.columns.items()}
        kept = [name for name in self.names if name not in self.reading.ignore]
        return tuple(back.get(name, name) for name in kept)

    def __repr__(self) -> str:
        """Return a line."""
        rows = f"{self.n_rows:,} {numbered(self.n_rows, 'row')}"
        units = f"{len(self.parts):,} {numbered(len(self.parts), 'unit')}"
        return f"<RunsScan of {self.path}: {rows} in {units}>"

    @property
    def units(self) -> list[Key]:
        """Task and model of each unit, sorted."""
        return list(self.parts)

    @property
    def n_rows_read(self) -> int:
        """Rows that reading every unit once reads; above `n_rows` where units share groups."""
        return sum(part.n_rows for parts in self.parts.values() for part in parts)

    def read(self, task: str, model: str) -> pd.DataFrame:
        """Read the rows of one unit.

        Parameters
        ----------
        task, model : str
            Names; empty where the table has no such column.

        Returns
        -------
        DataFrame
            A validated runs table.

        Raises
        ------
        InputError
            There is no such unit, or a file cannot be read any more.
        SchemaError
            Its rows break the schema.
        """
        key = task, model
        if key not in self.parts:
            raise InputError(
                f"there is no unit {key!r} in {self.path}. {closest(str(key), self.parts)}"
            )
        tables = [_rows_of(part, key, self.reading) for part in self.parts[key]]
        where = ", ".join(f"{what} {name!r}" for what, name in zip(UNIT, key, strict=True) if name)
        # What other files have and this unit has not is there and empty, as in the table at once.
        together = pd.concat(tables, ignore_index=True)
        lacking = [name for name in self.names if name not in together.columns]
        together = together.assign(**dict.fromkeys(lacking))
        # Whether there are percentages was judged from all units: one may hold 0 and 1 alone.
        judged = self.reading.percent
        runs = as_runs(together, self.reading, self.path, where=where, judged=judged)
        return with_reading_notes(runs, self.notes)


def scan_runs(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    percent: bool = False,
    ignore: Collection[str] = (),
) -> RunsScan:
    """Look through a parquet table that may be larger than memory.

    Parameters
    ----------
    path : path
        A parquet file, or a folder of them, partitioned as ``task=asia/model=m`` or not.
    columns, percent, ignore
        As for `coherence.read_runs`.

    Returns
    -------
    RunsScan
        For `coherence.analyze`; its ``read(task, model)`` returns the rows of one unit.

    Raises
    ------
    InputError
        There is nothing there, it is not parquet or cannot be read, it has no rows, or no number
        of a stated column is above 1 though they are said to be percentages.

    Notes
    -----
    Reading a unit takes the groups of rows that hold it. It is fast where the rows of a unit lie
    together; a table whose units are mixed is laid out anew first, see
    `coherence.table.regroup.regrouped`.

    Examples
    --------
    >>> import tempfile
    >>> from coherence import simulate, write_runs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("rational", "leaky"):
    ...         runs = simulate(name, n_contexts=20, n_reps=5, rng=1)
    ...         write_runs(runs, f"{folder}/{name}.parquet")
    ...     scan = scan_runs(folder)
    ...     scan.units, len(scan.read("simulated", "leaky"))
    ([('simulated', 'leaky'), ('simulated', 'rational')], 600)
    """
    source = require_path(path)
    require_there(source)
    if not source.is_dir() and not is_parquet(source):
        raise InputError(
            f"path must be a parquet file, or a folder of them, to be read by unit; received "
            f"{source}. Write the table as parquet first."
        )
    reading = Reading({} if columns is None else columns, percent=percent, ignore=ignore)
    found: dict[Key, list[Part]] = {}
    labels, names, n_rows = [], dict[str, None](), 0
    for file in parquet_files(source):
        content, stamp = _opened(file.path), file.stamp
        own = [*content.schema_arrow.names, *file.keys]
        names |= dict.fromkeys(own)
        for group in range(content.num_row_groups):
            n_of_group = content.metadata.row_group(group).num_rows
            if not n_of_group:
                continue
            n_rows += n_of_group
            combinations = _combinations(content, group, file, reading)
            labels.append(combinations[["task", "theta"]])
            units = combinations[[*UNIT]].drop_duplicates().itertuples(index=False, name=None)
            of_group = list(units)
            for key in of_group:
                part = Part(file, group, n_of_group, len(of_group) > 1, stamp)
                found.setdefault(key, []).append(part)
    if not n_rows:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    scan = RunsScan(
        path=source,
        reading=reading,
        parts={key: tuple(found[key]) for key in sorted(found)},
        labels=_labels(labels),
        names=tuple(name for name in names if not _is_unnamed_index(name)),
        n_rows=n_rows,
    )
    if percent:
        faults, notes = judge_percentages(_tallies(scan), Naming(reading.columns))
        if faults:
            raise InputError.all_at_once(str(source), faults)
        log_notes(notes, str(source))
        scan = replace(scan, notes=tuple(f"{note}." for note in notes))
    return scan


def _labels(found: list[pd.DataFrame]) -> pd.DataFrame:
    """Put the states of every task together, each with the type that they have in their task."""
    together = pd.concat([part.astype({"theta": object}) for part in found], ignore_index=True)
    tasks = []
    for _, rows in together.groupby("task", sort=True):
        typed = restore_whole_labels(rows.infer_objects().drop_duplicates())
        tasks.append(typed.astype({"theta": object}))
    return pd.concat(tasks, ignore_index=True)


def _is_unnamed_index(name: str) -> bool:
    return name.startswith("__index_level_")


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise InputError(
            f"{path}: the file cannot be read as parquet ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


@contextmanager
def _rows_read(path: Path) -> Iterator[None]:
    """Name the file where bytes within are damaged, or pandas does not know a type."""
    try:
        yield
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"{path}: rows cannot be read ({str(error).splitlines()[0]}). "
            "Check that the file is complete."
        ) from error


def unit_names(rows: pd.DataFrame, name: str, reading: Reading) -> "pd.Series[Any]":
    """Write tasks or models as the analysis does: as text, empty where there is none.

    Parameters
    ----------
    rows : DataFrame
        Columns of a file.
    name : {"task", "model"}
        Which.
    reading : Reading
        What it is called in the file.

    Returns
    -------
    Series
        A text for each row.
    """
    original = reading.name_in_file(name)
    if original not in rows.columns or original in reading.ignore:
        return pd.Series("", index=rows.index, dtype=object)
    return rows[original].astype(object).map(_name).astype(object)


def _name(value: Any) -> str:
    """Write a task or model; a whole number is one also where missing ones made it a float."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _group(content: pq.ParquetFile, group: int, columns: list[str] | None = None) -> pa.Table:
    """Read a group of rows; damaged pages may hold bytes that are no text, which is found here."""
    table = content.read_row_group(group, columns=columns)
    table.validate(full=True)
    return table


def _combinations(
    content: pq.ParquetFile, group: int, file: ParquetFile, reading: Reading
) -> pd.DataFrame:
    """Return every combination of task, model and state in a group, in the order of their rows."""
    inside = {name: reading.name_in_file(name) for name in (*UNIT, "theta")}
    wanted = dict.fromkeys(name for name in inside.values() if name not in reading.ignore)
    there = [name for name in wanted if name in content.schema_arrow.names]
    if there:
        with _rows_read(file.path):
            table = _group(content, group, there).combine_chunks()
            distinct = table.group_by(there, use_threads=False).aggregate([]).to_pandas()
    else:
        distinct = pd.DataFrame(index=[0])
    distinct = distinct.assign(**dict[str, Any](file.keys))
    found = pd.DataFrame({name: unit_names(distinct, name, reading) for name in UNIT})
    theta = None if inside["theta"] in reading.ignore else distinct.get(inside["theta"])
    return found.assign(theta=theta)


def _tallies(scan: RunsScan) -> dict[str, Tally]:
    """Count the stated numbers of all units, group by group."""
    header = pd.DataFrame(columns=[name for name in scan.names if name not in scan.reading.ignore])
    named = map_columns(header, scan.reading.columns)[0].columns
    back = dict(zip(named, header.columns, strict=True))
    empty = pd.DataFrame(columns=named)
    tallies = tally_percentages(empty)
    groups = {(part.file.path, part.group) for parts in scan.parts.values() for part in parts}
    for path, group in sorted(groups):
        content = _opened(path)
        inside = {back[name]: name for name in tallies if back[name] in content.schema_arrow.names}
        with _rows_read(path):
            table = _group(content, group, list(inside))
            rows = table.to_pandas(ignore_metadata=True)
        for name in inside.values():
            part = rows.rename(columns=inside)[[name]]
            tallies[name] += tally_percentages(part)[name]
    return tallies


def read_group(part: Part) -> pd.DataFrame:
    """Read a group of rows, of whatever unit.

    Parameters
    ----------
    part : Part
        Which.

    Returns
    -------
    DataFrame
        Columns as the file calls them, with those that its folders say.

    Raises
    ------
    InputError
        The file cannot be read, or is another one than when it was looked through.
    """
    path = part.file.path
    with _rows_read(path):
        changed = part.file.stamp != part.stamp
    if changed:
        raise InputError(f"{path}: the file has changed since it was looked through. Begin anew.")
    content = _opened(path)
    with _rows_read(path):
        table = _group(content, part.group).to_pandas()
    return with_index_columns(table).assign(**dict[str, Any](part.file.keys))


def _rows_of(part: Part, key: Key, reading: Reading) -> pd.DataFrame:
    """Read the rows of a unit from one group."""
    rows = read_group(part)
    if part.shared:
        for name, wanted in zip(UNIT, key, strict=True):
            rows = rows[unit_names(rows, name, reading) == wanted]
    return rows
