"""Runs tables larger than memory: which units a parquet table has, and the rows of one of them.

Parquet files keep rows in groups. One pass over the columns ``task``, ``model`` and ``theta`` says
which groups hold which unit; the rows of a unit are then read alone, in their order.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import InputError, closest
from coherence.table.frames import require_path
from coherence.table.incoming import Reading, as_runs, restore_whole_labels
from coherence.table.parquet_files import ParquetFile, is_parquet, parquet_files
from coherence.table.storage import require_there

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
    """

    file: ParquetFile
    group: int
    n_rows: int
    shared: bool


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
    columns : tuple of str
        Columns of the runs table that some file has.
    n_rows : int
        Rows of all units.
    """

    path: Path
    reading: Reading
    parts: Mapping[Key, tuple[Part, ...]]
    labels: pd.DataFrame = field(compare=False)
    columns: tuple[str, ...]
    n_rows: int

    def __repr__(self) -> str:
        """Return a line."""
        return f"<RunsScan of {self.path}: {self.n_rows:,} rows in {len(self.parts):,} units>"

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
        return as_runs(pd.concat(tables, ignore_index=True), self.reading, self.path, where=where)


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
        There is nothing there, it is not parquet or cannot be read, or it has no rows.

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
        content = _opened(file.path)
        own = [*content.schema_arrow.names, *(key for key in file.keys)]
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
                part = Part(file, group, n_of_group, len(of_group) > 1)
                found.setdefault(key, []).append(part)
    if not n_rows:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    back = {original: name for name, original in reading.columns.items()}
    states = pd.concat(labels, ignore_index=True).drop_duplicates(ignore_index=True)
    return RunsScan(
        path=source,
        reading=reading,
        parts={key: tuple(found[key]) for key in sorted(found)},
        labels=restore_whole_labels(states),
        columns=tuple(back.get(name, name) for name in names),
        n_rows=n_rows,
    )


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise InputError(
            f"{path}: the file cannot be read as parquet ({str(error).splitlines()[0]}). "
            "Check that it is complete."
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
    if original not in rows.columns:
        return pd.Series("", index=rows.index, dtype=object)
    column = rows[original]
    return column.astype(object).where(column.notna(), "").astype(str)


def _combinations(
    content: pq.ParquetFile, group: int, file: ParquetFile, reading: Reading
) -> pd.DataFrame:
    """Return every combination of task, model and state in a group, in the order of their rows."""
    inside = {name: reading.name_in_file(name) for name in (*UNIT, "theta")}
    there = [name for name in inside.values() if name in content.schema_arrow.names]
    if there:
        table = content.read_row_group(group, columns=there).combine_chunks()
        distinct = table.group_by(there, use_threads=False).aggregate([]).to_pandas()
    else:
        distinct = pd.DataFrame(index=[0])
    distinct = distinct.assign(**dict[str, Any](file.keys))
    found = pd.DataFrame({name: unit_names(distinct, name, reading) for name in UNIT})
    return found.assign(theta=distinct.get(inside["theta"]))


def _rows_of(part: Part, key: Key, reading: Reading) -> pd.DataFrame:
    """Read the rows of a unit from one group."""
    try:
        table: pa.Table = _opened(part.file.path).read_row_group(part.group)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{part.file.path}: rows cannot be read ({str(error).splitlines()[0]}). "
            "Check that the file is complete and has not changed."
        ) from error
    rows: pd.DataFrame = table.to_pandas().assign(**dict[str, Any](part.file.keys))
    if part.shared:
        for name, wanted in zip(UNIT, key, strict=True):
            rows = rows[unit_names(rows, name, reading) == wanted]
    return rows
