"""Probabilities as people write them: percentages, percent signs and decimal commas.

A number is taken as something else than it looks like only where the user says so; where signs or
commas stand in a column of probabilities and nothing was said, the error names the option.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.table.percentages import Tally, check_percentages
from coherence.table.schema import PROBABILITIES, action_columns, state_columns

logger = logging.getLogger(__name__)
_WRITTEN = re.compile(r"\s*(?P<number>[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+))\s*(?P<sign>%?)\s*")
_STATED = ("p", "p_sd", "p_q05", "p_q95", "p_z")
"""Columns of what was stated; exact probabilities are a program's, and no answer in percent."""


def as_probabilities(
    runs: pd.DataFrame, *, percent: bool, decimal: str, source: str, judged: bool = False
) -> pd.DataFrame:
    """Turn percentages and decimal commas in columns of probabilities into numbers.

    Parameters
    ----------
    runs : DataFrame
        A table under the names of the runs table.
    percent : bool
        Whether stated probabilities are percentages; a percent sign says it of any probability.
    decimal : {".", ","}
        The decimal mark of numbers that are text.
    source : str
        Name of the table, for messages.
    judged : bool
        Whether this is a part of a table that was found to hold percentages as a whole.

    Returns
    -------
    DataFrame
        What is no such number stays as it is, for the validator to name.

    Raises
    ------
    InputError
        There are signs or commas of which nothing was said, or no number of a stated column is
        above 1 though they are said to be percentages.

    Examples
    --------
    >>> written = pd.DataFrame({"p": ["70,5 %", "20"]})
    >>> as_probabilities(written, percent=True, decimal=",", source="mine.csv")["p"].tolist()
    [0.705, 0.2]
    """
    states = state_columns(runs)
    stated = _stated_columns(runs)
    numbers = [name for name in PROBABILITIES if name in runs.columns]
    if percent and not judged:
        tell_percentages(tally_percentages(runs, decimal=decimal), source)
    read = {}
    for name in (*numbers, *states, *action_columns(runs)):
        column = runs[name]
        bare = 100.0 if percent and name in stated else 1.0
        # A column of another kind of number, True and False above all, is the validator's.
        if pd.api.types.is_numeric_dtype(column):
            if bare != 1.0 and not pd.api.types.is_bool_dtype(column):
                read[name] = column / bare
            continue
        cells = [
            _as_number(
                cell,
                bare=bare,
                percent=percent,
                decimal=decimal,
                where=f"{source}: column {name!r}",
            )
            for cell in column
        ]
        numbers_only = all(
            isinstance(cell, float) or cell is None or cell is pd.NA for cell in cells
        )
        read[name] = pd.Series(
            cells, index=column.index, dtype="float64" if numbers_only else "object"
        )
    return runs.assign(**read)


def _as_number(cell: object, *, bare: float, percent: bool, decimal: str, where: str) -> object:
    """Return the number of a cell, or the cell where it holds none."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return cell / bare
    written = _WRITTEN.fullmatch(cell) if isinstance(cell, str) else None
    if written is None:
        return cell
    text = written["number"]
    if "," in text and decimal != ",":
        raise InputError(
            f"{where} has decimal commas, such as {cell!r}. Say so: decimal=',' (--decimal ,)."
        )
    if written["sign"] and not percent:
        raise InputError(
            f"{where} has percent signs, such as {cell!r}. Say so: percent=True (--percent)."
        )
    number = float(text.replace(",", "."))
    return number / 100.0 if written["sign"] else number / bare


def _bare_numbers(column: "pd.Series[Any]", decimal: str) -> "np.ndarray[Any, Any]":
    """Numbers of a column that have no percent sign."""
    if pd.api.types.is_bool_dtype(column):
        return np.empty(0)
    if pd.api.types.is_numeric_dtype(column):
        return column.dropna().to_numpy(dtype=np.float64)
    cells = [
        _as_number(cell, bare=1.0, percent=True, decimal=decimal, where="")
        for cell in column
        if not (isinstance(cell, str) and "%" in cell) and not _has_other_mark(cell, decimal)
    ]
    numbers = np.array([cell for cell in cells if isinstance(cell, float)], dtype=np.float64)
    return numbers[~np.isnan(numbers)]


def _has_other_mark(cell: object, decimal: str) -> bool:
    # The cell is refused later, with its column.
    return isinstance(cell, str) and "," in cell and decimal != ","


def tally_percentages(runs: pd.DataFrame, *, decimal: str) -> dict[str, Tally]:
    """Count what stated columns hold without a percent sign, as `check_percentages` takes it.

    Parameters
    ----------
    runs : DataFrame
        A table, or a part of one, under the names of the runs table, as it was written.
    decimal : {".", ","}
        The decimal mark of numbers that are text.

    Returns
    -------
    dict of str to Tally
        Column -> its numbers.

    Examples
    --------
    >>> tally_percentages(pd.DataFrame({"p": [70, 0.7, 0.2]}), decimal=".")
    {'p': Tally(n=3, largest=70.0, n_below=2, first_below=0.7)}
    """
    return {name: Tally.of(_bare_numbers(runs[name], decimal)) for name in _stated_columns(runs)}


def tell_percentages(columns: Mapping[str, Tally], source: str) -> None:
    """Refuse stated columns that cannot be percentages, and log what is below 1 in the others.

    Parameters
    ----------
    columns : mapping of str to Tally
        From `tally_percentages`, of the whole table.
    source : str
        Name of the table, for messages.

    Raises
    ------
    InputError
        A column has no value above 1.
    """
    if note := check_percentages(columns, source):
        logger.warning("%s: %s", source, note)


def _stated_columns(runs: pd.DataFrame) -> list[str]:
    return [name for name in (*_STATED, *state_columns(runs)) if name in runs.columns]
