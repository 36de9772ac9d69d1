"""Whether columns that are said to be percentages can be: decided from the whole column.

A single 0.7 may be 0.7% or a probability that was left as it is; beside values above 1 it is the
former, and where no value is above 1 nobody can tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from coherence.errors import InputError
from coherence.table.schema import COLUMN_NAMES


@dataclass(frozen=True)
class Tally:
    """What is to be known of the numbers of a column; those of its parts are added up.

    Parameters
    ----------
    n : int
        How many there are.
    largest : float
        The largest; 0 where none is above 0.
    n_below : int
        How many lie between 0 and 1, both left out.
    first_below : float
        The first of those; NaN where there is none.
    """

    n: int = 0
    largest: float = 0.0
    n_below: int = 0
    first_below: float = np.nan

    @staticmethod
    def of(numbers: Iterable[float]) -> "Tally":
        """Count numbers without a percent sign, as they were written."""
        values = np.asarray(
            numbers if isinstance(numbers, np.ndarray) else list(numbers), dtype=np.float64
        )
        below = values[(values > 0) & (values < 1)]
        first = float(below[0]) if below.size else np.nan
        return Tally(values.size, float(max(values.max(initial=0.0), 0.0)), below.size, first)

    def __add__(self, later: "Tally") -> "Tally":
        """Put a later part of the column behind this one."""
        first = self.first_below if self.n_below else later.first_below
        largest = max(self.largest, later.largest)
        return Tally(self.n + later.n, largest, self.n_below + later.n_below, first)


def check_percentages(columns: Mapping[str, Iterable[float] | Tally], source: str) -> str:
    """Refuse columns of percentages without a value above 1, and count values below 1 elsewhere.

    Parameters
    ----------
    columns : mapping of str to iterable of float or Tally
        Column -> its numbers without a percent sign, as they were written, or what is known of
        them, all parts of the table together. Columns of several states (``p_rain``, ``p_dry``)
        are one distribution and are judged together.
    source : str
        Name of the table, for messages.

    Returns
    -------
    str
        A note on values between 0 and 1, which are taken as percentages too; empty where there are
        none.

    Raises
    ------
    InputError
        No value of a column is above 1.

    Examples
    --------
    >>> check_percentages({"p": [70.0, 0.7, 20.0]}, "mine.csv")
    "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.7 as 0.7%"
    """
    states = [name for name in columns if name not in COLUMN_NAMES]
    together = {name: [name] for name in columns if name in COLUMN_NAMES}
    if states:
        together[", ".join(states)] = states
    tallies = {
        name: numbers if isinstance(numbers, Tally) else Tally.of(numbers)
        for name, numbers in columns.items()
    }
    notes = []
    for title, names in together.items():
        tally = sum((tallies[name] for name in names), Tally())
        if 0 < tally.largest <= 1:
            raise InputError(
                f"{source}: {title} is said to hold percentages, and the largest of "
                f"{tally.n} values is {tally.largest:g}. Leave percent (--percent) out if "
                "they are probabilities; if all of them are at most one percent, divide them by "
                "100 yourself."
            )
        if tally.n_below:
            # Signs make the meaning plain; only bare numbers were counted.
            verb = "is below 1 and was taken as a percentage"
            if tally.n_below > 1:
                verb = "are below 1 and were taken as percentages"
            first = tally.first_below
            notes.append(
                f"{tally.n_below} of {tally.n} values of {title!r} {verb}: {first:g} as {first:g}%"
            )
    return "; ".join(notes)
