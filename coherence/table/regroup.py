"""Tables whose units are mixed, laid out anew so that the rows of a unit lie together."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from coherence.errors import InputError
from coherence.table.parquet_files import ParquetFile
from coherence.table.scan import UNIT, Key, Part, RunsScan, read_group, unit_names

MOST_READ = 4.0
"""How often each row may be read before it pays to write them all once."""
ROWS_HELD = 2_000_000


@contextmanager
def regrouped(scan: RunsScan, *, rows_held: int = ROWS_HELD) -> Iterator[RunsScan]:
    """Give a table in which reading every unit reads each row a few times at most.

    Parameters
    ----------
    scan : RunsScan
        From `coherence.scan_runs`.
    rows_held : int
        Rows that are held in memory at a time.

    Yields
    ------
    RunsScan
        The same, where the rows of units lie together well enough; else one of the same rows in a
        temporary folder (environment variable ``TMPDIR``), which is removed afterwards.
    """
    if scan.n_rows_read <= MOST_READ * scan.n_rows:
        yield scan
        return
    with tempfile.TemporaryDirectory(prefix="coherence-units-") as folder:
        parts: dict[Key, list[Part]] = {key: [] for key in scan.parts}
        for number, table in enumerate(_batches(scan, rows_held)):
            _write_grouped(table, Path(folder) / f"{number:05}.parquet", scan, parts)
        yield replace(scan, parts={key: tuple(of_unit) for key, of_unit in parts.items()})


def _batches(scan: RunsScan, rows_held: int) -> Iterator[pd.DataFrame]:
    """Read all groups in the order of their rows, several at a time."""
    groups: dict[tuple[Path, int], Part] = {}
    for part in (part for parts in scan.parts.values() for part in parts):
        groups[part.file.path, part.group] = part
    held: list[pd.DataFrame] = []
    n_held = 0
    for path, number in sorted(groups):
        part = groups[path, number]
        held.append(read_group(part))
        n_held += part.n_rows
        if n_held >= rows_held:
            yield pd.concat(held, ignore_index=True)
            held, n_held = [], 0
    if held:
        yield pd.concat(held, ignore_index=True)


def _write_grouped(
    table: pd.DataFrame, path: Path, scan: RunsScan, parts: dict[Key, list[Part]]
) -> None:
    """Write a file with a group for every unit, and note where each is."""
    keys = [unit_names(table, name, scan.reading) for name in UNIT]
    file, order = ParquetFile(path), []
    try:
        schema = pa.Schema.from_pandas(table, preserve_index=False)
        with pq.ParquetWriter(path, schema) as writer:
            for (task, model), rows in table.groupby(keys, sort=True):
                of_unit = pa.Table.from_pandas(rows, schema, preserve_index=False)
                writer.write_table(of_unit, row_group_size=max(len(rows), 1))
                order.append(((str(task), str(model)), len(rows)))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{scan.path}: rows of its units are mixed, and cannot be laid out anew because a "
            f"column holds values of several types ({str(error).splitlines()[0]}). Write the table "
            "sorted by task and model, with one type in every column."
        ) from error
    for group, (key, n_rows) in enumerate(order):
        parts[key].append(Part(file, group, n_rows, shared=False, stamp=file.stamp))
