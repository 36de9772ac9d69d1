"""Whether columns that are said to be percentages can be: decided from the whole column.

A single 0.7 may be 0.7% or a probability that was left as it is; beside many values above 1 it is
the former. Where no value is above 1 nobody can tell, and where few are they are the odd ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from coherence.table.naming import AS_IN_RUNS, Naming
from coherence.table.schema import COLUMN_NAMES, PROBABILITY_TOLERANCE

TEN = 10.0  # the top of another usual scale of answers
MANY = 10  # values among which one above 10% is to be expected
MOST_BELOW = 1 / 3  # of the numbers of a column of percentages; one such number may be chance


@dataclass(frozen=True)
class Tally:
    """What is to be known of the numbers of a column; those of its parts are added up."""

    n: int = 0  # how many there are without a percent sign
    largest: float = 0.0  # the largest; 0 where none is above 0
    n_below: int = 0  # how many lie between 0 and 1, both left out
    first_below: float = np.nan  # the first of those; NaN where there is none
    n_signed: int = 0  # how many numbers there are with a percent sign
    first_signed: str = ""  # the first of those; empty where there is none

    @staticmethod
    def of(numbers: Iterable[float], signed: Sequence[str] = ()) -> "Tally":
        """Count numbers without a percent sign, as they were written, and cells with one."""
        values = np.asarray(
            numbers if isinstance(numbers, np.ndarray) else list(numbers), dtype=np.float64
        )
        below = values[(values > 0) & (values < 1)]
        first = float(below[0]) if below.size else np.nan
        largest = float(values.max(initial=0.0))
        first_signed = signed[0] if signed else ""
        return Tally(values.size, largest, below.size, first, len(signed), first_signed)

    def __add__(self, later: "Tally") -> "Tally":
        """Put a later part of the column behind this one."""
        first = self.first_below if self.n_below else later.first_below
        return Tally(
            self.n + later.n,
            max(self.largest, later.largest),
            self.n_below + later.n_below,
            first,
            self.n_signed + later.n_signed,
            self.first_signed or later.first_signed,
        )

    @property
    def at_most_1(self) -> bool:
        """Whether its numbers without a sign may all be probabilities, and are not all 0."""
        return 0 < self.largest <= 1

    @property
    def mostly_probabilities(self) -> bool:
        """Whether so many numbers without a sign are below 1 that those above are the odd ones."""
        return self.n_below > 1 and self.n_below > MOST_BELOW * self.n

    @property
    def mixed(self) -> bool:
        """Whether signs stand beside numbers that may be probabilities as well as percentages."""
        return self.n_signed > 0 and self.at_most_1


def check_percentages(columns: Mapping[str, Iterable[float] | Tally], source: str) -> str:
    """Refuse columns of percentages without a value above 1, and count values below 1 elsewhere."""
    tallies = {
        name: numbers if isinstance(numbers, Tally) else Tally.of(numbers)
        for name, numbers in columns.items()
    }
    faults, notes = judge_percentages(tallies)
    if faults:
        raise InputError.all_at_once(source, faults)
    return "; ".join(notes)


def judge_percentages(
    columns: Mapping[str, Tally], named: Naming = AS_IN_RUNS, *, percent: bool = True
) -> tuple[list[str], list[str]]:
    """Find columns that cannot be percentages, and count what is below 1 in the others."""
    faults, notes = [], []
    for names, tally in together(columns):
        title = named.plain(names[0]) if len(names) == 1 else ", ".join(names)
        quoted = named(names[0]) if len(names) == 1 else repr(title)
        if tally.mixed:
            faults.append(_mixed_fault(quoted, tally))
        elif not percent:
            continue
        elif tally.at_most_1:
            faults.append(
                f"{title} is said to hold percentages, and the largest of "
                f"{tally.n} values is {tally.largest:g}. Leave percent (--percent) out if "
                "they are probabilities; if all of them are at most one percent, divide them by "
                "100 yourself."
            )
        elif len(names) == 1 and tally.mostly_probabilities:
            faults.append(
                f"{title} is said to hold percentages, and {tally.n_below} of {tally.n} values lie "
                f"between 0 and 1, such as {tally.first_below:g}, which would be less than 1%. "
                f"Correct those above 1 (the largest is {tally.largest:g}) and leave percent "
                "(--percent) out; if all of them are percentages, divide them by 100 yourself."
            )
        else:
            notes += _doubts(quoted, tally)
    return faults, notes


def _doubts(quoted: str, tally: Tally) -> list[str]:
    """Say what was taken as percentages and may be meant otherwise."""
    doubts = []
    if tally.largest <= TEN and tally.n >= MANY:
        doubts.append(
            f"caution: the largest of {tally.n} values of {quoted} is {tally.largest:g} and was "
            f"taken as {tally.largest:g}%; if the scale was 0 to 10, every one is ten times too "
            "small, and is to be divided by 10 instead"
        )
    if tally.n_below:
        # Signs make the meaning plain; only bare numbers were counted.
        verb = "is below 1 and was taken as a percentage"
        if tally.n_below > 1:
            verb = "are below 1 and were taken as percentages"
        first = tally.first_below
        doubts.append(
            f"{tally.n_below} of {tally.n} values of {quoted} {verb}: {first:g} as {first:g}%"
        )
    return doubts


def together(columns: Mapping[str, Tally]) -> list[tuple[list[str], Tally]]:
    """Add up the columns of several states, which are one distribution; others stand alone."""
    states = [name for name in columns if name not in COLUMN_NAMES]
    groups = [[name] for name in columns if name in COLUMN_NAMES] + ([states] if states else [])
    return [(names, sum((columns[name] for name in names), Tally())) for names in groups]


def remedy_outside(numbers: NDArray[np.float64]) -> str:
    """Say what to do about numbers that should be probabilities, of which some lie outside."""
    known = numbers[~np.isnan(numbers)]
    largest = known.max()
    if max(largest - 1, -known.min()) <= 0.01:
        return f" Up to {PROBABILITY_TOLERANCE:g} outside is a rounding error and would do."
    if not 1 < largest <= 100:
        return ""
    if Tally.of(known).mostly_probabilities:
        return " Most values are probabilities; correct the others, a percentage by dividing it."
    scale = " Divide answers on a scale of 0 to 10 by 10." if largest <= TEN else ""
    return scale + " Divide percentages by 100. --percent (percent=True) reads them as they are."


def _mixed_fault(quoted: str, tally: Tally) -> str:
    """Say what to do about a column that no option can read."""
    n, bare = tally.n + tally.n_signed, tally.first_below if tally.n_below else 1.0
    verb = "has" if tally.n_signed == 1 else "have"
    return (
        f"column {quoted} has both percent signs ({tally.n_signed} of {n} values {verb} one, such "
        f"as {tally.first_signed!r}) and numbers of at most 1 without one (such as {bare:g}), "
        "which may be probabilities or percentages: no option can tell. Write the column in one "
        "way, with a percent sign behind every percentage or as probabilities throughout."
    )
