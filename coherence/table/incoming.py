"""From the columns of somebody's file to those of a runs table, checked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from pandas.api.types import is_float_dtype

from coherence.errors import InputError, SchemaError, closest
from coherence.table.probabilities import log_notes, read_probabilities
from coherence.table.runs import Runs
from coherence.table.schema import COLUMN_NAMES, COLUMNS, Naming
from coherence.table.validation import examined


@dataclass(frozen=True)
class Reading:
    """How a file's columns are to be understood."""

    # column of the runs table -> column of the file
    columns: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."  # decimal mark of numbers that are text
    percent: bool = False  # whether stated probabilities are percentages
    ignore: Collection[str] = ()  # columns of the file to leave out
    # what becomes of labels that differ only in how they are written; see
    # `coherence.table.storage.read_runs`.
    merge_labels: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what is no mapping, such as a list of names."""
        if not isinstance(self.columns, Mapping):
            raise InputError(
                "columns must map columns of the runs table to columns of the file, such as "
                f"{{'p': 'confidence'}}; received {self.columns!r}."
            )

    def name_in_file(self, name: str) -> str:
        """Return what a column of the runs table is called in the file."""
        return self.columns.get(name, name)

    @property
    def left_out(self) -> list[str]:
        """Names of the columns to leave out, of which one may come as a text."""
        return [self.ignore] if isinstance(self.ignore, str) else list(self.ignore)


AS_IT_IS = Reading()


def as_runs(
    table: pd.DataFrame,
    reading: Reading,
    source: Path,
    *,
    where: str = "",
    judged: bool = False,
    notes: Sequence[str] = (),
) -> Runs:
    """Turn a table as a file has it into a runs table, or raise with all that is wrong with it."""
    kept = table.drop(columns=reading.left_out, errors="ignore")
    renamed, missing = map_columns(kept, reading.columns)
    errors = [
        f"there is no column {name!r} to ignore. {closest(name, table.columns)}"
        for name in reading.left_out
        if name not in table.columns
    ]
    errors += [
        f"there is no column {reading.columns[name]!r} to use as {name!r}. "
        f"{closest(reading.columns[name], kept.columns)}"
        for name in missing
    ]
    named = Naming({name: as_ for name, as_ in reading.columns.items() if name not in missing})
    numbers, of_numbers, assumed = read_probabilities(
        renamed, percent=reading.percent, decimal=reading.decimal, judged=judged, named=named
    )
    runs, of_table = examined(
        restore_whole_labels(numbers),
        merge_labels=reading.merge_labels,
        named=named,
        missing=missing,
    )
    title = f"{source}, {where}" if where else str(source)
    # All at once: each round of mending takes a user as long as the first.
    if errors or of_numbers:
        everything = [*errors, *of_numbers, *of_table]
        count = f" has {len(everything)} errors" if len(everything) > 1 else ""
        raise InputError.all_at_once(f"{title}{count}", everything)
    if of_table:
        raise SchemaError(of_table, title)
    log_notes(assumed, str(source))
    return Runs(runs.table, (*notes, *(f"{note}." for note in assumed), *runs.notes))


def with_index_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of what a parquet file keeps as a named index: it may be the model."""
    named = [name for name in table.index.names if name is not None]
    new = [name for name in named if name not in table.columns]
    return table.reset_index(level=new) if new else table


def restore_whole_labels(runs: pd.DataFrame) -> pd.DataFrame:
    """Undo what a missing value does to whole numbers: the label 1 must not come back as 1.0."""
    whole = {}
    for column in COLUMNS:
        name = column.name
        if column.kind != "label" or name not in runs or not is_float_dtype(runs[name]):
            continue
        labels = runs[name].dropna()
        # Beyond 2**53 a float is no label that anybody wrote.
        if len(labels) and (labels % 1 == 0).all() and labels.abs().max() < 2**53:
            whole[name] = runs[name].astype("Int64")
    return runs.assign(**whole)


def map_columns(runs: pd.DataFrame, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Give columns of a file their names in the runs table."""
    for name in columns:
        if name not in COLUMN_NAMES:
            raise InputError(
                f"columns maps to {name!r}, which is no column of the runs table. "
                f"{closest(name, COLUMN_NAMES)}"
            )
    if len(set(columns.values())) < len(columns):
        raise InputError(
            f"columns uses one column of the file twice: {dict(columns)}. Map every column once."
        )
    missing = [name for name, original in columns.items() if original not in runs.columns]
    renamed = {original: name for name, original in columns.items() if original != name}
    # A column of the file that already bears the name steps aside; it is not what the user asked
    # for.
    aside = {
        name: f"unmapped_{name}"
        for name in renamed.values()
        if name in runs.columns and name not in renamed
    }
    return runs.rename(columns={**aside, **renamed}), missing
