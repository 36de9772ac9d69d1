"""Probabilities as people write them: percentages, percent signs and decimal commas.

A column of probabilities with a percent sign in every cell holds percentages, and a note says so.
Otherwise a number is taken as something else than it looks like only where the user says so: where
some cells alone have signs, or there are commas, the error names the option.
"""

import logging
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.table.naming import AS_IN_RUNS, Naming
from coherence.table.percentages import Tally, judge_percentages, together
from coherence.table.schema import PROBABILITIES, action_columns, state_columns

logger = logging.getLogger(__name__)
_WRITTEN = re.compile(r"\s*(?P<number>[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+))\s*(?P<sign>%?)\s*")
_STATED = ("p", "p_sd", "p_q05", "p_q95", "p_z")
"""Columns of what was stated; exact probabilities are a program's, and no answer in percent."""


def as_probabilities(
    runs: pd.DataFrame, *, percent: bool, decimal: str, source: str
) -> pd.DataFrame:
    """Turn percentages and decimal commas in columns of probabilities into numbers."""
    read, faults, notes = read_probabilities(runs, percent=percent, decimal=decimal)
    if faults:
        raise InputError.all_at_once(source, faults)
    log_notes(notes, source)
    return read


def log_notes(notes: Iterable[str], source: str) -> None:
    """Log what was assumed of percentages."""
    if said := "; ".join(notes):
        logger.warning("%s: %s", source, said)


def read_probabilities(
    runs: pd.DataFrame,
    *,
    percent: bool,
    decimal: str,
    judged: bool = False,
    named: Naming = AS_IN_RUNS,
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Do as `as_probabilities`, and return what is wrong, to be told with all that is."""
    tallies = {} if judged else tally_percentages(runs)
    faults, notes = judge_percentages(tallies, named, percent=percent)
    groups = together(tallies)
    mixed = {name for names, tally in groups if tally.mixed for name in names}
    hundredfold = {
        name
        for names, tally in groups
        # What is said to be percentages and is none is read as it stands; signs say it too.
        if (percent or tally.n_signed) and not tally.at_most_1
        for name in names
    }
    if judged and percent:
        hundredfold = set(_stated_columns(runs))
    read = {}
    numbers = [name for name in PROBABILITIES if name in runs.columns]
    for name in (*numbers, *state_columns(runs), *action_columns(runs)):
        column = runs[name]
        bare = 100.0 if name in hundredfold else 1.0
        # A column of another kind of number, True and False above all, is the validator's.
        if pd.api.types.is_numeric_dtype(column):
            if bare != 1.0 and not pd.api.types.is_bool_dtype(column):
                read[name] = column / bare
            continue
        written = [_WRITTEN.fullmatch(cell) if isinstance(cell, str) else None for cell in column]
        told = percent or name in mixed
        faults += _unsaid(column, written, named(name), percent=told, decimal=decimal)
        signs = [match for match in written if match is not None and match["sign"]]
        if signs and not told:
            notes.append(
                f"{named(name)} has percent signs and was read as percentages: "
                f"{signs[0][0].strip()} as {_number(signs[0]) / 100:g}"
            )
        cells = [_as_number(*each, bare=bare) for each in zip(column, written, strict=True)]
        if all(isinstance(cell, float) or cell is None or cell is pd.NA for cell in cells):
            cells = [cell if isinstance(cell, float) else np.nan for cell in cells]
            read[name] = pd.Series(cells, index=column.index, dtype="float64")
        else:
            read[name] = pd.Series(cells, index=column.index, dtype="object")
    return runs.assign(**read), faults, notes


def mixed_signs(cells: "pd.Series[Any]", column: str) -> list[str]:
    """Return a fault where some cells are numbers with a percent sign and others without."""
    written = [_WRITTEN.fullmatch(cell) if isinstance(cell, str) else None for cell in cells]
    return _unsaid(cells, written, repr(column), percent=False, decimal=",")


def _unsaid(
    cells: "pd.Series[Any]",
    written: Sequence[re.Match[str] | None],
    column: str,
    *,
    percent: bool,
    decimal: str,
) -> list[str]:
    """Return a fault for commas, and for percent signs in some cells alone, unsaid."""
    matches = [match for match in written if match is not None]
    faults = []
    commas = [match[0] for match in matches if "," in match["number"]]
    if commas and decimal != ",":
        faults.append(
            f"column {column} has decimal commas, such as {commas[0]!r}. "
            "Say so: decimal=',' (--decimal ,)."
        )
    signed = [match[0] for match in matches if match["sign"]]
    if not signed or percent:
        return faults
    bare: list[object] = [match[0] for match in matches if not match["sign"]]
    bare += [cell for cell in cells.dropna() if isinstance(cell, int | float)]
    if bare:
        faults.append(
            f"column {column} has both percent signs, such as {signed[0]!r}, and numbers without "
            f"one, such as {bare[0]!r}. Write it in one way; where all of them are percentages, "
            "say so: percent=True (--percent)."
        )
    return faults


def _number(written: re.Match[str]) -> float:
    return float(written["number"].replace(",", "."))


def _as_number(cell: object, written: re.Match[str] | None, *, bare: float) -> object:
    """Return the number of a cell, or the cell where it holds none."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        try:
            return cell / bare
        except OverflowError:  # an integer beyond all floats, which the validator refuses
            return math.inf if cell > 0 else -math.inf
    if written is None:
        return cell
    return _number(written) / (100.0 if written["sign"] else bare)


def _tally(column: "pd.Series[Any]") -> Tally:
    """Count the numbers of a column, with a percent sign and without."""
    if pd.api.types.is_bool_dtype(column):
        return Tally()
    if pd.api.types.is_numeric_dtype(column):
        return Tally.of(column.dropna().to_numpy(dtype=np.float64))
    bare, signed = [], []
    for cell in column:
        written = _WRITTEN.fullmatch(cell) if isinstance(cell, str) else None
        if written is not None and written["sign"]:
            signed.append(written[0])
        else:
            bare.append(_as_number(cell, written, bare=1.0))
    numbers = np.array([cell for cell in bare if isinstance(cell, float)], dtype=np.float64)
    return Tally.of(numbers[~np.isnan(numbers)], signed)


def tally_percentages(runs: pd.DataFrame) -> dict[str, Tally]:
    """Count what stated columns hold, as `judge_percentages` takes it."""
    return {name: _tally(runs[name]) for name in _stated_columns(runs)}


def _stated_columns(runs: pd.DataFrame) -> list[str]:
    return [name for name in (*_STATED, *state_columns(runs)) if name in runs.columns]
