"""Probabilities as people write them: percentages, percent signs and decimal commas.

A number is taken as something else than it looks like only where the user says so; where signs or
commas stand in a column of probabilities and nothing was said, the error names the option.
"""

import logging
import math
import re
from typing import Any

import pandas as pd

from coherence.errors import InputError
from coherence.table.percentages import check_percentages
from coherence.table.schema import PROBABILITIES, action_columns, state_columns

logger = logging.getLogger(__name__)
_WRITTEN = re.compile(r"\s*(?P<number>[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+))\s*(?P<sign>%?)\s*")
_STATED = ("p", "p_sd", "p_q05", "p_q95", "p_z")
"""Columns of what was stated; exact probabilities are a program's, and no answer in percent."""


def as_probabilities(
    runs: pd.DataFrame, *, percent: bool, decimal: str, source: str
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
    if percent and (note := note_on_percentages(runs, decimal=decimal, source=source)):
        logger.warning("%s: %s", source, note)
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


def _bare_numbers(column: "pd.Series[Any]", decimal: str) -> list[float]:
    """Numbers of a column that have no percent sign."""
    if pd.api.types.is_bool_dtype(column):
        return []
    if pd.api.types.is_numeric_dtype(column):
        return [float(cell) for cell in column.dropna()]
    cells = [
        _as_number(cell, bare=1.0, percent=True, decimal=decimal, where="")
        for cell in column
        if not (isinstance(cell, str) and "%" in cell) and not _has_other_mark(cell, decimal)
    ]
    return [cell for cell in cells if isinstance(cell, float) and not math.isnan(cell)]


def _has_other_mark(cell: object, decimal: str) -> bool:
    # The cell is refused later, with its column.
    return isinstance(cell, str) and "," in cell and decimal != ","


def note_on_percentages(runs: pd.DataFrame, *, decimal: str, source: str) -> str:
    """Refuse stated columns that cannot be percentages, and say what is below 1 in the others.

    Parameters
    ----------
    runs : DataFrame
        A table under the names of the runs table, as it was written.
    decimal : {".", ","}
        The decimal mark of numbers that are text.
    source : str
        Name of the table, for messages.

    Returns
    -------
    str
        A note; empty where there is nothing to say.

    Raises
    ------
    InputError
        A column has no value above 1.

    Examples
    --------
    >>> note_on_percentages(pd.DataFrame({"p": [70, 0.7]}), decimal=".", source="mine.csv")
    "1 of 2 values of 'p' is below 1 and was taken as a percentage: 0.7 as 0.7%"
    """
    bare = {name: _bare_numbers(runs[name], decimal) for name in _stated_columns(runs)}
    return check_percentages(bare, source)


def _stated_columns(runs: pd.DataFrame) -> list[str]:
    return [name for name in (*_STATED, *state_columns(runs)) if name in runs.columns]
