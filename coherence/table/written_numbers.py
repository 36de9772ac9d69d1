"""Probabilities as people write them: percentages, percent signs and decimal commas.

A number is taken as something else than it looks like only where the user says so; where signs or
commas stand in a column of probabilities and nothing was said, the error names the option.
"""

import re
from collections.abc import Sequence

import pandas as pd

from coherence.errors import InputError
from coherence.table.schema import PROBABILITIES, action_columns, state_columns

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
        There are signs or commas of which nothing was said, or no stated number is above 1 though
        they are said to be percentages.

    Examples
    --------
    >>> written = pd.DataFrame({"p": ["70,5 %", "20"]})
    >>> as_probabilities(written, percent=True, decimal=",", source="mine.csv")["p"].tolist()
    [0.705, 0.2]
    """
    states = state_columns(runs)
    stated = [name for name in (*_STATED, *states) if name in runs.columns]
    numbers = [name for name in PROBABILITIES if name in runs.columns]
    if percent:
        _check_are_percentages(runs, stated, source)
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


def _check_are_percentages(runs: pd.DataFrame, stated: Sequence[str], source: str) -> None:
    """Raise where no stated number is above 1: probabilities would become a hundredth each."""
    bare = [
        number
        for name in stated
        for number in pd.to_numeric(runs[name], errors="coerce").dropna().tolist()
    ]
    if bare and 0 < max(bare) <= 1:
        raise InputError(
            f"{source}: stated probabilities are said to be percentages, and the largest is "
            f"{max(bare):g}. Leave percent (--percent) out if they are probabilities; if all of "
            "them are below one percent, divide them by 100 yourself."
        )
