"""Runs tables larger than memory: Parquet, of which one (task, model) at a time is read.

`pyarrow.dataset` filters the rows of an evaluation, and leaves out the groups of rows that its
statistics exclude. What is held is one evaluation, and the states and actions of all.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from coherence.errors import InputError, closest
from coherence.printable import numbered
from coherence.table.frames import require_path, with_index_columns
from coherence.table.notes import Note
from coherence.table.probabilities import Written, judge_percentages, log_notes, stated_columns
from coherence.table.reading import (
    DAMAGED,
    PARQUET,
    Reading,
    as_runs,
    parquet_files,
    require_there,
    restore_whole_labels,
)
from coherence.table.runs import EVALUATION, Runs
from coherence.table.schema import Naming

Key = tuple[str, str]


@contextmanager
def _named(path: Path, what: str) -> Iterator[None]:
    """Name the table where bytes within are damaged, or of types that cannot be used."""
    try:
        yield
    except DAMAGED as error:
        said = str(error).splitlines()[0]
        raise InputError(f"{path}: {what} ({said}). Check that it is complete.") from error


def _opened(path: Path) -> ds.Dataset:
    """Open a file or the files of a folder, whose names may hold columns: ``task=asia``."""
    files, schemas = [], []
    keys: dict[str, None] = {}
    for file, of_folders in parquet_files(path):
        with _named(file, "the file cannot be read as parquet"):
            schema = ds.dataset(file, format="parquet").schema
        files.append(str(file))
        schemas.append(pa.schema([_plain(column) for column in schema], schema.metadata))
        keys |= dict.fromkeys(of_folders)
    folders = pa.schema([(key, pa.string()) for key in keys])
    with _named(path, "columns of its files cannot be put together"):
        schema = pa.unify_schemas([*schemas, folders], promote_options="permissive")
    named = ds.partitioning(folders, flavor="hive") if keys else None
    base = str(path) if path.is_dir() else None
    return ds.dataset(files, schema, format="parquet", partitioning=named, partition_base_dir=base)


def _plain(column: pa.Field) -> pa.Field:
    """Return a column without its dictionary, which differs between files."""
    kind = column.type
    return column.with_type(kind.value_type) if pa.types.is_dictionary(kind) else column


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is a parquet file."""
    return path.suffix.lower() in PARQUET


def count_rows(path: Path) -> int:
    """Count the rows of a parquet table without reading it; 0 where it cannot be opened."""
    try:
        with _named(path, "rows cannot be counted"):
            return int(_opened(path).count_rows())
    except InputError:
        return 0


@dataclass(frozen=True, repr=False)
class RunsScan:
    """A runs table that is read by evaluation; `coherence.analyze` takes it in place of a table.

    Parameters
    ----------
    path : Path
        File or folder.
    reading : Reading
        How its columns are to be understood.
    dataset : pyarrow.dataset.Dataset
        The files.
    found : mapping
        (task, model) -> the cells by which its rows are known, such as 1 and 1.0; sorted.
    labels : DataFrame
        ``task``, ``theta`` and ``action``: every state and action that a task has, with the lowest
        ``p`` beside them.
    n_rows : int
        Rows of all evaluations.
    notes : tuple of Note
        What was assumed when the table was looked through; every evaluation has them.
    """

    path: Path
    reading: Reading
    dataset: ds.Dataset = field(compare=False)
    found: Mapping[Key, tuple[Mapping[str, Any], ...]]
    labels: pd.DataFrame = field(compare=False)
    n_rows: int
    notes: tuple[Note, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that some file has, as it calls them."""
        names = self.dataset.schema.names
        return tuple(name for name in names if not name.startswith("__index_level_"))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the runs table that some file has."""
        back = {original: name for name, original in self.reading.columns.items()}
        kept = [name for name in self.names if name not in self.reading.ignore]
        return tuple(back.get(name, name) for name in kept)

    @property
    def named(self) -> Naming:
        """What the files call their columns."""
        return Naming(self.reading.columns)

    def __repr__(self) -> str:
        """Return a line."""
        rows = f"{self.n_rows:,} {numbered(self.n_rows, 'row')}"
        evaluations = f"{len(self.found):,} {numbered(len(self.found), 'evaluation')}"
        return f"<RunsScan of {self.path}: {rows} in {evaluations}>"

    @property
    def evaluations(self) -> list[Key]:
        """Task and model of each evaluation, sorted."""
        return list(self.found)

    def read(self, task: str, model: str) -> pd.DataFrame:
        """Read the rows of one evaluation.

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
            There is no such evaluation, or a file cannot be read any more.
        SchemaError
            Its rows break the schema.
        """
        return self.runs(task, model).frame()

    def runs(self, task: str, model: str) -> Runs:
        """Read the rows of one evaluation, with its columns told apart."""
        key = task, model
        if key not in self.found:
            raise InputError(
                f"there is no evaluation {key!r} in {self.path}. {closest(str(key), self.found)}"
            )
        rows = pc.scalar(False)
        for cells in self.found[key]:
            equal = pc.scalar(True)
            for name, cell in cells.items():
                column = ds.field(name)
                missing = cell is None or cell != cell
                equal = (column.is_null(nan_is_null=True) if missing else column == cell) & equal
            rows = equal | rows
        with _named(self.path, "rows cannot be read"):
            table = self.dataset.to_table(filter=rows, use_threads=False)
            # Damaged pages may hold bytes that are no text, which shows where they are used.
            table.validate(full=True)
            together = with_index_columns(table.to_pandas())
        where = ", ".join(
            f"{what} {name!r}" for what, name in zip(EVALUATION, key, strict=True) if name
        )
        # Whether there are percentages was judged from all evaluations: one may hold 0 and 1 alone.
        judged = self.reading.percent
        return as_runs(
            together, self.reading, self.path, where=where, judged=judged, notes=self.notes
        )


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
        For `coherence.analyze`; its ``read(task, model)`` returns the rows of one evaluation.

    Raises
    ------
    InputError
        There is nothing there, it is not parquet or cannot be read, it has no rows, or no number
        of a stated column is above 1 though they are said to be percentages.

    Notes
    -----
    Reading an evaluation looks through the groups of rows that may hold it. It is fast where the
    rows of an evaluation lie together; where they are mixed, each reads the whole table.

    Examples
    --------
    >>> import tempfile
    >>> from coherence import simulate, write_runs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("rational", "leaky"):
    ...         runs = simulate(name, n_contexts=20, n_reps=5, rng=1)
    ...         write_runs(runs, f"{folder}/{name}.parquet")
    ...     scan = scan_runs(folder)
    ...     scan.evaluations, len(scan.read("simulated", "leaky"))
    ([('simulated', 'leaky'), ('simulated', 'rational')], 600)
    """
    source = require_path(path)
    require_there(source)
    if not source.is_dir() and not is_parquet(source):
        raise InputError(
            f"path must be a parquet file, or a folder of them, to be read by evaluation; received "
            f"{source}. Write the table as parquet first."
        )
    reading = Reading.of(columns, percent=percent, ignore=ignore)
    if reading.prediction is not None:
        raise InputError(
            "prediction and gold take a table in memory; received them for one that is read by "
            "evaluation. Read it with coherence.read_runs."
        )
    dataset = _opened(source)
    there = dataset.schema.names
    inside = {
        name: original
        for name in (*EVALUATION, "theta", "action", "p")
        if (original := reading.name_in_file(name)) in there and original not in reading.left_out
    }
    found: dict[Key, dict[str, Mapping[str, Any]]] = {}
    states, n_rows = [], 0
    with _named(source, "rows cannot be read"):
        scanner = dataset.scanner(columns=list(inside.values()), use_threads=False)
        for batch in scanner.to_batches():
            n_rows += len(batch)
            batch.validate(full=True)
            distinct = _distinct(batch, inside, percent=percent)
            for cells in distinct[list(EVALUATION)].drop_duplicates().itertuples(index=False):
                of_row = zip(EVALUATION, cells, strict=True)
                known = {inside[name]: cell for name, cell in of_row if name in inside}
                found.setdefault((_name(cells.task), _name(cells.model)), {})[repr(known)] = known
            states.append(distinct.assign(task=distinct["task"].map(_name)).drop(columns="model"))
    if not n_rows:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    scan = RunsScan(
        path=source,
        reading=reading,
        dataset=dataset,
        found={key: tuple(found[key].values()) for key in sorted(found)},
        labels=_labels(states),
        n_rows=n_rows,
    )
    return _with_percentages(scan) if percent else scan


def _distinct(batch: pa.RecordBatch, inside: Mapping[str, str], *, percent: bool) -> pd.DataFrame:
    """Return the different tasks, models, states and actions of some rows, with the lowest p."""
    by = [*EVALUATION, "theta", "action"]
    rows = pd.DataFrame(dict.fromkeys([*by, "p"]), index=range(len(batch)))
    for name, original in inside.items():
        rows[name] = batch.column(original).to_pandas()
    rows["p"] = pd.to_numeric(rows["p"], errors="coerce") / (100 if percent else 1)
    return (
        rows.groupby(by, dropna=False, sort=False)["p"]
        .min()
        .reset_index()
        .astype(dict.fromkeys(by, object))
    )


def _name(value: Any) -> str:
    """Write a task or model; a whole number is one also where missing ones made it a float."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _labels(found: list[pd.DataFrame]) -> pd.DataFrame:
    """Put the states of every task together, each with the type that they have in their task."""
    tasks = []
    for _, rows in pd.concat(found, ignore_index=True).groupby("task", sort=True):
        typed = restore_whole_labels(rows.infer_objects().drop_duplicates())
        tasks.append(typed.astype({"theta": object}))
    return pd.concat(tasks, ignore_index=True)


def _with_percentages(scan: RunsScan) -> RunsScan:
    """Judge from all evaluations whether stated numbers are percentages, and note it."""
    header = pd.DataFrame(columns=[name for name in scan.names if name not in scan.reading.ignore])
    named = scan.reading.renamed(header).columns
    # With --exact a column is added, behind those of the file.
    back = dict(zip(named, header.columns, strict=False))
    stated = stated_columns(Runs(pd.DataFrame(columns=named)))
    with _named(scan.path, "rows cannot be read"):
        table = scan.dataset.to_table(columns=[back[name] for name in stated], use_threads=False)
        table.validate(full=True)
        columns = {name: table.column(back[name]).to_pandas() for name in stated}
    tallies = {name: Written.of(column).tally for name, column in columns.items()}
    errors, notes = judge_percentages(tallies, scan.named)
    if errors:
        raise InputError.all_at_once(str(scan.path), errors)
    log_notes(notes, str(scan.path))
    return replace(scan, notes=tuple(notes))
