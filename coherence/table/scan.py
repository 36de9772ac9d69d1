"""Runs tables larger than memory: Parquet, read one (task, model) at a time by `pyarrow.dataset`.

Parquet files keep rows in groups. One pass over the columns ``task``, ``model`` and ``theta`` says
which groups hold which evaluation; the rows of an evaluation are then read alone, in their order.
Where the rows of evaluations are mixed, they are first laid out anew in a temporary folder.
"""

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from coherence.errors import InputError, closest
from coherence.table.frames import require_path, with_index_columns
from coherence.table.notes import Note
from coherence.table.printable import numbered
from coherence.table.probabilities import (
    Tally,
    Written,
    judge_percentages,
    log_notes,
    stated_columns,
)
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
from coherence.table.states import label_text

Key = tuple[str, str]
MOST_READ = 4
"""How often each row may be read before it pays to write them all once."""
_ROWS_HELD = 1_000_000
_MOST_FILES = 500  # that are open at a time
_FILE = "__file__"  # the column that says in which of them a row is written


@dataclass(frozen=True)
class Part:
    """Groups of rows of one Parquet file, and what its folders say: ``task=asia``."""

    fragment: ds.ParquetFileFragment
    keys: Mapping[str, str | None]

    @classmethod
    def of_file(cls, path: Path, keys: Mapping[str, str | None]) -> "Part":
        """Open a file; its rows are not read yet."""
        try:
            (fragment,) = ds.dataset(path, format="parquet").get_fragments()
            fragment.ensure_complete_metadata()
            return cls(fragment, keys)
        except DAMAGED as error:
            raise InputError(
                f"{path}: the file cannot be read as parquet ({str(error).splitlines()[0]}). "
                "Check that it is complete."
            ) from error

    def groups(self, ids: Collection[int]) -> "Part":
        """Return some of its groups of rows, in their order."""
        return replace(self, fragment=self.fragment.subset(row_group_ids=sorted(ids)))

    def batches(self, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield rows in their order, with all columns or some, those of the folders included."""
        path = Path(self.fragment.path)
        with _rows_read(path):
            there = self.fragment.physical_schema.names
            read = there if columns is None else [name for name in columns if name in there]
            for batch in self.fragment.to_batches(columns=read, use_threads=False):
                # Damaged pages may hold bytes that are no text, which shows where they are used.
                batch.validate(full=True)
                for name, text in self.keys.items():
                    if (columns is None or name in columns) and name not in there:
                        cell = pa.scalar(text, pa.string())
                        batch = batch.append_column(name, pa.repeat(cell, len(batch)))
                yield batch


@contextmanager
def _rows_read(path: Path) -> Iterator[None]:
    """Name the file where bytes within are damaged, or of a type that cannot be used."""
    try:
        yield
    except DAMAGED as error:
        raise InputError(
            f"{path}: rows cannot be read ({str(error).splitlines()[0]}). "
            "Check that the file is complete."
        ) from error


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is a parquet file."""
    return path.suffix.lower() in PARQUET


def count_rows(path: Path) -> int:
    """Count the rows of a parquet table without reading it; 0 where it cannot be opened."""
    try:
        return sum(Part.of_file(file, {}).fragment.count_rows() for file, _ in parquet_files(path))
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
    parts : mapping
        (task, model) -> the groups of rows that hold it, in their order; sorted by task and model.
    labels : DataFrame
        ``task``, ``theta`` and ``action``: every state and action that a task has, with the lowest
        ``p`` beside them.
    names : tuple of str
        Columns that some file has, as it calls them.
    n_rows : int
        Rows of all evaluations.
    n_rows_read : int
        Rows that reading every evaluation once reads; above `n_rows` where evaluations share
        groups.
    notes : tuple of Note
        What was assumed when the table was looked through; every evaluation has them.
    """

    path: Path
    reading: Reading
    parts: Mapping[Key, tuple[Part, ...]] = field(compare=False)
    labels: pd.DataFrame = field(compare=False)
    names: tuple[str, ...]
    n_rows: int
    n_rows_read: int
    notes: tuple[Note, ...] = ()

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
        evaluations = f"{len(self.parts):,} {numbered(len(self.parts), 'evaluation')}"
        return f"<RunsScan of {self.path}: {rows} in {evaluations}>"

    @property
    def evaluations(self) -> list[Key]:
        """Task and model of each evaluation, sorted."""
        return list(self.parts)

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
        if key not in self.parts:
            raise InputError(
                f"there is no evaluation {key!r} in {self.path}. {closest(str(key), self.parts)}"
            )
        tables = [rows for part in self.parts[key] if (rows := self._rows(part, key)) is not None]
        # What other files have and this evaluation has not is there and empty, as in the table at
        # once.
        together = pd.concat(tables, ignore_index=True)
        lacking = [name for name in self.names if name not in together.columns]
        together = together.assign(**dict.fromkeys(lacking))
        where = ", ".join(
            f"{what} {name!r}" for what, name in zip(EVALUATION, key, strict=True) if name
        )
        # Whether there are percentages was judged from all evaluations: one may hold 0 and 1 alone.
        judged = self.reading.percent
        return as_runs(
            together, self.reading, self.path, where=where, judged=judged, notes=self.notes
        )

    def _rows(self, part: Part, key: Key) -> pd.DataFrame | None:
        """Read the rows of an evaluation out of a part of a file."""
        rows = []
        for batch in part.batches():
            keys = _keys(batch, self.reading)
            of_unit = ((keys["task"] == key[0]) & (keys["model"] == key[1])).to_numpy()
            if of_unit.any():
                rows.append(batch if of_unit.all() else batch.filter(pa.array(of_unit)))
        if not rows:
            return None
        with _rows_read(Path(part.fragment.path)):
            return with_index_columns(pa.Table.from_batches(rows).to_pandas())


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
    Reading an evaluation takes the groups of rows that hold it. It is fast where the rows of an
    evaluation lie together; `coherence.analyze` lays a table whose evaluations are mixed out anew
    first, in a temporary folder (environment variable ``TMPDIR``).

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
    files = [Part.of_file(*file) for file in parquet_files(source)]
    inside = dict.fromkeys(
        reading.name_in_file(name) for name in (*EVALUATION, "theta", "action", "p")
    )
    looked_at = [name for name in inside if name not in reading.left_out]
    groups: dict[Key, dict[int, list[int]]] = {}
    states, names, n_rows, n_rows_read = [], dict[str, None](), 0, 0
    for at, file in enumerate(files):
        names |= dict.fromkeys([*file.fragment.physical_schema.names, *file.keys])
        for group in file.fragment.split_by_row_group():
            n_of_group, evaluations = 0, set[Key]()
            for batch in replace(file, fragment=group).batches(looked_at):
                n_of_group += len(batch)
                with _rows_read(Path(group.path)):
                    distinct = _distinct(batch, reading)
                states.append(distinct.drop(columns="model").astype(object))
                evaluations.update(zip(distinct["task"], distinct["model"], strict=True))
            n_rows += n_of_group
            n_rows_read += n_of_group * len(evaluations)
            for key in evaluations:
                of_file = groups.setdefault(key, {}).setdefault(at, [])
                of_file += [info.id for info in group.row_groups]
    if not n_rows:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    scan = RunsScan(
        path=source,
        reading=reading,
        parts={
            key: tuple(files[at].groups(ids) for at, ids in groups[key].items())
            for key in sorted(groups)
        },
        labels=_labels(states),
        names=tuple(name for name in names if not name.startswith("__index_level_")),
        n_rows=n_rows,
        n_rows_read=n_rows_read,
    )
    if percent:
        errors, notes = judge_percentages(_tallies(scan, files), scan.named)
        if errors:
            raise InputError.all_at_once(str(source), errors)
        log_notes(notes, str(source))
        scan = replace(scan, notes=tuple(notes))
    return scan


def _distinct(batch: pa.RecordBatch, reading: Reading) -> pd.DataFrame:
    """Return the different tasks, models, states and actions of some rows, with the lowest p."""
    keys = _keys(batch, reading)
    for name in ("action", "p"):
        original = reading.name_in_file(name)
        there = original in batch.schema.names and original not in reading.left_out
        keys[name] = batch.column(original).to_pandas() if there else None
    keys["p"] = pd.to_numeric(keys["p"], errors="coerce") / (100 if reading.percent else 1)
    by = keys.groupby([*EVALUATION, "theta", "action"], dropna=False, observed=True, sort=False)
    return by["p"].min().reset_index()


def _keys(batch: pa.RecordBatch, reading: Reading) -> pd.DataFrame:
    """Return the task, model and state of some rows.

    Tasks and models are written as the analysis does: as text, empty where there is none.
    """
    columns = {
        name: batch.column(original)
        for name in (*EVALUATION, "theta")
        if (original := reading.name_in_file(name)) in batch.schema.names
        and original not in reading.left_out
    }
    keys = pd.DataFrame({"task": "", "model": "", "theta": None}, index=range(len(batch)))
    for name, column in columns.items():
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if name in EVALUATION:
            labels = column.dictionary_encode(null_encoding="encode")
            names, of_label = np.unique(
                [_name(label) for label in labels.dictionary.to_pylist()], return_inverse=True
            )
            codes = of_label[labels.indices.to_numpy(zero_copy_only=False)]
            keys[name] = pd.Categorical.from_codes(codes, pd.Index(names))
        else:
            keys[name] = column.to_pandas()
    return keys


def _name(value: Any) -> str:
    """Write a task or model."""
    if value is None or value != value:
        return ""
    return label_text(value)


def _labels(found: list[pd.DataFrame]) -> pd.DataFrame:
    """Put the states of every task together, each with the type that they have in their task."""
    together = pd.concat([part.astype({"theta": object}) for part in found], ignore_index=True)
    tasks = []
    for _, rows in together.groupby("task", sort=True):
        typed = restore_whole_labels(rows.infer_objects().drop_duplicates())
        tasks.append(typed.astype({"theta": object}))
    return pd.concat(tasks, ignore_index=True)


def _tallies(scan: RunsScan, files: list[Part]) -> dict[str, Tally]:
    """Count the stated numbers of all evaluations."""
    header = pd.DataFrame(columns=[name for name in scan.names if name not in scan.reading.ignore])
    named = scan.reading.renamed(header).columns
    back = dict(zip(named, header.columns, strict=True))
    tallies = dict.fromkeys(stated_columns(Runs(pd.DataFrame(columns=named))), Tally())
    inside = {back[name]: name for name in tallies}
    for batch in (batch for file in files for batch in file.batches(list(inside))):
        for name, column in batch.to_pandas().rename(columns=inside).items():
            tallies[str(name)] += Written.of(column).tally
    return tallies


@contextmanager
def regrouped(scan: RunsScan) -> Iterator[RunsScan]:
    """Give a table in which reading every evaluation reads each row a few times at most.

    It is the same where the rows of evaluations lie together well enough; else one of the same rows
    in a temporary folder, which is removed afterwards.
    """
    if scan.n_rows_read <= MOST_READ * scan.n_rows:
        yield scan
        return
    # A file for a few evaluations each: every row is read MOST_READ times at most.
    n_files = min(-(-len(scan.evaluations) // MOST_READ), _MOST_FILES)
    file_of = {
        key: at * n_files // len(scan.evaluations) for at, key in enumerate(scan.evaluations)
    }
    parts: dict[Key, list[Part]] = {key: [] for key in scan.evaluations}
    by_file: dict[str, list[Part]] = {}
    for part in (part for parts in scan.parts.values() for part in parts):
        by_file.setdefault(part.fragment.path, []).append(part)
    with tempfile.TemporaryDirectory(prefix="coherence-evaluations-") as folder:
        for number, held in enumerate(by_file.values()):
            ids = {info.id for part in held for info in part.fragment.row_groups}
            whole = held[0].groups(ids)
            written = _write_grouped(whole, Path(folder) / f"{number:05}", scan.reading, file_of)
            for key, fragments in written.items():
                parts[key] += fragments
        yield replace(scan, parts={key: tuple(of_unit) for key, of_unit in parts.items()})


def _write_grouped(
    part: Part, folder: Path, reading: Reading, file_of: Mapping[Key, int]
) -> dict[Key, list[Part]]:
    """Write the rows of a file into others, each with the rows of a few evaluations."""
    found: set[Key] = set()

    def numbered_batches() -> Iterator[pa.RecordBatch]:
        for batch in part.batches():
            grouped = _keys(batch, reading).groupby(list(EVALUATION), observed=True)
            evaluations: list[Any] = list(grouped.groups)
            found.update(evaluations)
            number = grouped.ngroup().to_numpy()
            file = np.array([file_of[key] for key in evaluations], dtype=np.int32)[number]
            yield batch.append_column(_FILE, pa.array(file))

    schema = part.fragment.physical_schema
    for name in part.keys:
        schema = schema if name in schema.names else schema.append(pa.field(name, pa.string()))
    schema = schema.append(pa.field(_FILE, pa.int32()))
    n_files = max(file_of.values()) + 1
    ds.write_dataset(
        numbered_batches(),
        folder,
        format="parquet",
        schema=schema,
        partitioning=[_FILE],
        basename_template="rows-{i}.parquet",
        use_threads=False,  # rows stay in their order
        min_rows_per_group=max(_ROWS_HELD // n_files, 1),
        max_rows_per_group=_ROWS_HELD,
        max_rows_per_file=0,
        max_open_files=_MOST_FILES + 1,
    )
    written: dict[Key, list[Part]] = {}
    for key in found:
        files = sorted((folder / str(file_of[key])).iterdir())
        written[key] = [Part.of_file(file, {}) for file in files]
    return written
