"""What is a table here: a pandas DataFrame, and how other things become one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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


def require_frame(runs: Any, name: str = "runs") -> None:
    """Raise `InputError` unless a table is a pandas DataFrame, and say how to make it one."""
    if isinstance(runs, pd.DataFrame):
        return
    kind = f"{type(runs).__module__}.{type(runs).__name__}".removeprefix("builtins.")
    if isinstance(runs, str | os.PathLike):
        remedy = f"Read the file first: coherence.read_runs({str(runs)!r})."
    elif isinstance(runs, Mapping | list | tuple | np.ndarray):
        remedy = f"Make it one: pandas.DataFrame({name})."
    elif kind.endswith(".LazyFrame"):  # a query of polars that was not run yet
        remedy = f"Run and convert it: {name}.collect().to_pandas()."
    elif "." in kind:  # polars, pyarrow and others of their kind have this method
        remedy = f"Convert it: {name}.to_pandas()."
    else:
        remedy = "Pass one, or read a file with coherence.read_runs."
    raise InputError(f"{name} must be a pandas DataFrame; received {kind}. {remedy}")
