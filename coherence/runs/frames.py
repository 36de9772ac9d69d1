"""What is a table here: a pandas DataFrame, or what hands its columns out as Arrow does."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from coherence.errors import InputError


def require_path(path: Any, name: str = "path") -> Path:
    """Return a path, or raise `InputError` where something else stands in its place."""
    if isinstance(path, str | os.PathLike) and path != "":
        return Path(path)
    raise InputError(f"{name} must be the name of a file; received {path!r}.")


def with_index_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of a named index: it may hold the context, or the model."""
    named = [name for name in table.index.names if name is not None]
    new = [name for name in named if name not in table.columns]
    return table.reset_index(level=new) if new else table


def require_frame(runs: Any, name: str = "runs") -> pd.DataFrame:
    """Return a table as a pandas DataFrame, or raise `InputError` and say how to make it one.

    Arrow's tables, frames of polars and others that export Arrow's C stream are converted.
    """
    if isinstance(runs, pd.DataFrame):
        return runs
    others = (str, os.PathLike, Mapping, list, tuple, np.ndarray)
    if not isinstance(runs, (*others, pd.Series)):
        try:
            table: pd.DataFrame = pa.table(runs).to_pandas()
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            pass  # a column alone, as a chunked array is
        else:
            return table
    kind = f"{type(runs).__module__}.{type(runs).__name__}".removeprefix("builtins.")
    if isinstance(runs, str | os.PathLike):
        remedy = f"Read the file first: coherence.read_runs({str(runs)!r})."
    elif isinstance(runs, others):
        remedy = f"Make it one: pandas.DataFrame({name})."
    elif kind.endswith(".LazyFrame"):  # a query of polars that was not run yet
        remedy = f"Run and convert it: {name}.collect()."
    elif "." in kind:  # what has columns and does not export them has this method
        remedy = f"Convert it: {name}.to_pandas()."
    else:
        remedy = "Pass one, or read a file with coherence.read_runs."
    raise InputError(f"{name} must be a pandas DataFrame; received {kind}. {remedy}")
