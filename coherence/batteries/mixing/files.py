"""Tables of answers from files, one or several: what would count an answer twice is refused."""

import os
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.table.exact_csv import read_exact_csv
from coherence.table.frames import require_path
from coherence.table.text_files import is_gzip, refuse_bomb

_TEXTS = ("model", "experiment", "item", "order", "answer", "status")
_CONDITION = ["model", "experiment", "p", "item", "order"]


def read_mixing_answers(
    path: str | os.PathLike[str], *others: str | os.PathLike[str]
) -> pd.DataFrame:
    """Read tables of answers that were elicited elsewhere or earlier.

    Parameters
    ----------
    path, *others : path-like
        .csv or .parquet files with the columns of
        `coherence.batteries.mixing.answers.count_answers`; several are joined.

    Returns
    -------
    DataFrame
        The table; answers are text, so that "0 1" and "01" stay what they are. Of several files,
        one whose answers name no model gives them its own name, with as much of its folders as
        tells it from the others.

    Raises
    ------
    InputError
        A file is missing, empty or unreadable, or two files hold the same draws of a model, or
        draws that no number tells apart.

    Examples
    --------
    >>> import tempfile
    >>> import coherence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coherence.simulate_mixing("ideal", n_draws=5, rng=1).to_csv(f"{folder}/mine.csv")
    ...     answers = read_mixing_answers(f"{folder}/mine.csv")
    >>> answers["experiment"].unique().tolist()
    ['flip', 'two_flips', 'three_outcomes', 'reads', 'pennies', 'positioning', 'words']
    """
    paths = [require_path(one) for one in (path, *others)]
    tables = [_read(path) for path in paths]
    if len(tables) == 1:
        return tables[0]
    names = distinct_names(paths)
    tables = [
        _completed(table, Path(name).with_suffix("").as_posix())
        for table, name in zip(tables, names, strict=True)
    ]
    for first, second in combinations(zip(paths, tables, strict=True), 2):
        _check_apart(*first, *second)
    return pd.concat(tables, ignore_index=True)


def distinct_names(paths: list[Path]) -> list[str]:
    """Return the last parts of paths, as many as tell all of them apart."""
    resolved = [path.resolve() for path in paths]
    for path, whole in zip(paths, resolved, strict=True):
        if resolved.count(whole) > 1:
            raise InputError(f"{path} is named twice. Leave one of them out.")
    # The root is a part too, so that the longest names always differ.
    for length in range(1, max(len(whole.parts) for whole in resolved) + 1):
        names = [Path(*whole.parts[-length:]).as_posix() for whole in resolved]
        if len(set(names)) == len(names):
            break
    return names


def _read(source: Path) -> pd.DataFrame:
    if not source.is_file():
        raise InputError(f"{source}: no such file. Name a .csv or .parquet table of answers.")
    refuse_bomb(source)
    try:
        if source.suffix.lower() == ".parquet":
            return pd.read_parquet(source)
        return read_exact_csv(
            source,
            compression="gzip" if is_gzip(source) else None,
            dtype=dict.fromkeys(_TEXTS, str),
            keep_default_na=False,
            na_values=[""],
        )
    except (OSError, EOFError, ValueError, TypeError, NotImplementedError, zlib.error) as error:
        raise InputError(
            f"{source}: the file cannot be read ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def _completed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Fill in what this table leaves to its default, which would be lost in the joined table."""
    table = table.copy()
    for column, default in (("model", name), ("item", ""), ("order", "")):
        texts = pd.Series(None, index=table.index, dtype=object)
        if column in table.columns:
            texts = table[column].astype(object)
        table[column] = texts.where(texts.notna() & (texts != ""), default)
    if "count" not in table.columns:
        table["count"] = 1
    if "status" not in table.columns and "answer" in table.columns:
        table["status"] = np.where(table["answer"].notna(), "ok", "unparsed")
    return table


def _check_apart(path: Path, table: pd.DataFrame, other: Path, theirs: pd.DataFrame) -> None:
    """Raise where two files may hold the same answers."""
    keys = [name for name in _CONDITION if name in table.columns and name in theirs.columns]
    if "experiment" not in keys:
        return  # a fault of the table, which is named where it is counted
    first, second = _draws(table, keys), _draws(theirs, keys)
    equal = first.dropna(subset="draw").merge(second.dropna(subset="draw"), on=[*keys, "draw"])
    # Exact rates, and draws without a number, may be those of any row of their condition.
    loose = [
        draws.loc[draws["draw"].isna(), keys].merge(rest[keys].drop_duplicates(), on=keys)
        for draws, rest in ((first, second), (second, first))
    ]
    if len(equal):
        what = f"the same {len(equal)} draws of model {_first(equal, 'model')}"
        remedy = (
            "Leave one file out; or rename the model in one of them; "
            "or, if all were drawn for themselves, number the draws of one file anew"
        )
    elif len(equal := pd.concat(loose)):
        what = (
            f"answers of model {_first(equal, 'model')} to the same conditions, "
            "and no draw numbers tell all of them apart"
        )
        remedy = "Leave one file out, or rename the model in one of them, or add a column draw"
    else:
        return
    condition = ", ".join(
        f"{name} {_first(equal, name)}"
        for name in equal.columns
        if name != "model" and equal[name].iloc[0] != ""
    )
    raise InputError(
        f"{path} and {other} hold {what}; the first: {condition}. They would count twice. {remedy}."
    )


def _draws(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the conditions of a table with the numbers of their draws, each once."""
    draws = table[keys].astype({"model": str})
    if "p" in keys:
        # Of words p may be absent, and a rounding error must not part one condition in two.
        draws["p"] = pd.to_numeric(draws["p"], errors="coerce").fillna(0.5).round(9)
    numbers = table["draw"] if "draw" in table.columns else pd.Series(np.nan, index=table.index)
    draws["draw"] = pd.to_numeric(numbers, errors="coerce")
    return draws.drop_duplicates()


def _first(table: pd.DataFrame, column: str) -> str:
    value = table[column].iloc[0]
    if column in ("model", "item"):
        return repr(value)
    return f"{value:g}" if column in ("p", "draw") else str(value)
