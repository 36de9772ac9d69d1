"""Runs tables into files: parquet, CSV or JSONL, written whole or not at all."""

import csv
import json
import os
from pathlib import Path

import pandas as pd

from coherence.errors import CoherenceError, InputError
from coherence.printable import spreadsheet_safe
from coherence.runs.cells import without_na
from coherence.runs.columns import holds_exact
from coherence.runs.files import replacing
from coherence.runs.formats import require_frame, require_path, with_index_columns
from coherence.runs.roles import MAY_BE_STRANGERS
from coherence.runs.runs import NAMED, meant_in


def write_runs(runs: pd.DataFrame, path: str | os.PathLike[str], *, replace: bool = True) -> None:
    """Write a table so that a crash leaves either the old file or the new one.

    Parameters
    ----------
    runs : DataFrame
        Table to write; a named index is written as columns. Columns such as ``group``,
        if they were named when it was read, are listed in a column ``named_columns``, which
        `coherence.read_runs` takes out again.
    path : path
        Target; its ending (.parquet, .csv or .jsonl) chooses the format.
    replace : bool
        Whether a file of that name is replaced. If not, one that differs is kept, and an error.

    Raises
    ------
    InputError
        Unknown ending, the folder is missing or not writable, a column that the format cannot
        hold (in CSV also the text NA among numbers), or a file that may not be replaced.
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
    runs = with_index_columns(require_frame(runs))
    target = require_path(path)
    suffix = target.suffix.lower()
    if suffix not in (".parquet", ".csv", ".jsonl", ".ndjson"):
        raise InputError(
            f"{target}: the file's ending must be .parquet, .csv or .jsonl, "
            f"not {suffix or 'missing'!r}."
        )
    meant = meant_in(runs) & MAY_BE_STRANGERS
    if meant and not holds_exact(runs.columns):
        runs = runs.assign(**{NAMED: ",".join(sorted(meant))})
    if suffix == ".csv" and {"p", "theta"} & {*runs.columns} and without_na(runs, ".")[1]:
        raise InputError(
            f"{target}: in a .csv file the text 'NA' among numbers would be read as missing. Write "
            "it as .parquet or .jsonl."
        )
    try:
        with replacing(target, keep=not replace) as temporary:
            _write(runs, temporary, suffix)
    except (CoherenceError, OSError):
        raise
    except Exception as error:  # whatever pandas and pyarrow raise of it
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
    elif runs.columns.has_duplicates:
        raise ValueError("two columns have one name")
    else:
        # pandas writes at most 15 digits; a probability must come back as the number that it was.
        records = runs.astype(object).where(runs.notna(), None).to_dict("records")
        encode = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, default=lambda value: value.item()
        ).encode
        with path.open("w", encoding="utf-8") as lines:
            lines.writelines(f"{encode(record)}\n" for record in records)
