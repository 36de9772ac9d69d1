"""Beliefs on a scale of their own, such as 1 to 7, mapped by a straight line to probabilities.

What the ends of a scale mean is no property of the numbers: between two options a guess is one
half, so that 1 to 4 may be .5 to 1. The user says it, and a note prints the mapping.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.table.notes import Code, Note
from coherence.table.probabilities import Written, stated_columns
from coherence.table.runs import Runs
from coherence.table.schema import Naming

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_RANGE = rf"({_NUMBER})\s*\.\.\s*({_NUMBER})"
_SCALE = re.compile(rf"\s*{_RANGE}\s*(?:=\s*{_RANGE}\s*)?")
_SPREAD = "p_sd"
Values = TypeVar("Values", float, "pd.Series[float]")
_MOST_SHOWN = 8  # steps of a scale whose probabilities are listed


@dataclass(frozen=True)
class Scale:
    """A scale and the probabilities of its ends."""

    low: float
    high: float
    p_low: float = 0.0
    p_high: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Scale":
        """Read ``1..7`` or ``1..4=.5..1``."""
        match = _SCALE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise InputError(
                f"scale must be LOW..HIGH, or LOW..HIGH=P..P, such as 1..7, -1..1 or 1..4=.5..1; "
                f"received {text!r}."
            )
        low, high = float(match[1]), float(match[2])
        p_low, p_high = (0.0, 1.0) if match[3] is None else (float(match[3]), float(match[4]))
        if low == high:
            raise InputError(f"scale must have two different ends; received {text!r}.")
        if not (0 <= p_low <= 1 and 0 <= p_high <= 1 and p_low != p_high):
            raise InputError(
                f"scale must map its ends to two different probabilities in [0, 1]; received "
                f"{text!r}. A scale from {low:g} to {high:g} alone is --scale={low:g}..{high:g}."
            )
        return cls(low, high, p_low, p_high)

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"

    def probability(self, values: Values) -> Values:
        """Return the probabilities of values on the scale."""
        share = (values - self.low) / (self.high - self.low)
        return self.p_low + share * (self.p_high - self.p_low)

    def described(self) -> str:
        """Return the mapping, step by step where it is short."""
        low, high = sorted((self.low, self.high))
        steps = np.arange(low, high + 1) if low % 1 == high % 1 == 0 else np.array([low, high])
        if len(steps) > _MOST_SHOWN:
            steps = np.array([low, (low + high) / 2, high])
        values = self.probability(pd.Series(steps, dtype=np.float64))
        pairs = zip(steps, values, strict=True)
        return ", ".join(f"{step:g} as {value:.3g}" for step, value in pairs)


def with_scale(
    table: pd.DataFrame, scale: Scale, named: Naming, *, n_labels: int | None = None
) -> tuple[pd.DataFrame, list[str], list[Note]]:
    """Map stated beliefs from a scale to probabilities; return what is wrong and what was done.

    `n_labels` is the number of labels among which a prediction was made, where p is the confidence
    in it.
    """
    errors, notes, mapped = [], [], {}
    for name in stated_columns(Runs(table)):
        column = Written.of(table[name])
        if column.first_signed:
            errors.append(
                f"column {named(name)} has percent signs, such as {column.first_signed!r}, and is "
                "said to be on a scale. Leave scale (--scale) out."
            )
            continue
        numbers = pd.to_numeric(column.cells, errors="coerce").astype(np.float64)
        if name == _SPREAD:
            slope = abs((scale.p_high - scale.p_low) / (scale.high - scale.low))
            mapped[name] = numbers * slope
            continue
        errors += _outside(table[name], numbers, scale, named(name))
        inside = numbers.between(min(scale.low, scale.high), max(scale.low, scale.high))
        probabilities = scale.probability(numbers).where(inside)
        # What is no number stays as it is, and is refused with its rows as in any other column.
        odd = table[name].where(numbers.isna()).dropna()
        mapped[name] = (
            probabilities if odd.empty else table[name].where(numbers.isna(), probabilities)
        )
        text = f"{named(name)} was read on the scale {scale}: {scale.described()}."
        notes.append(Note(Code.SCALE, text))
    if not mapped and not errors:
        errors.append("scale (--scale) maps a stated belief, and there is none. Name it: --belief.")
    if n_labels is not None and n_labels > 1 and min(scale.p_low, scale.p_high) == 0:
        guess = f"{1 / n_labels:.2g}".removeprefix("0")
        text = (
            f"the lowest confidence in a prediction of {n_labels} labels was taken as 0, where "
            f"a guess is right with {guess}: if it stands for a guess, say --scale="
            f"{scale}={guess}..1."
        )
        notes.append(Note(Code.SCALE, text))
    return table.assign(**mapped), errors, notes


def _outside(
    cells: "pd.Series", numbers: "pd.Series[float]", scale: Scale, quoted: str
) -> Collection[str]:
    low, high = sorted((scale.low, scale.high))
    values = numbers.to_numpy()
    outside = np.flatnonzero((values < low) | (values > high))
    if not len(outside):
        return []
    first = cells.iloc[int(outside[0])]
    marked = len(np.unique(values[outside])) == 1
    mark = f", or say what cells hold that are missing: --missing={first!s}" if marked else ""
    said = (
        f"column {quoted} must lie on the scale {scale}; {len(outside)} of "
        f"{int((~np.isnan(values)).sum())} values do not, the first is {first!s} (row "
        f"{outside[0]}). "
    )
    if np.isinf(values).any():  # no scale holds it
        return [f"{said}Correct infinite values, or leave their cells empty{mark}."]
    whole = math.floor(np.nanmin(values)), math.ceil(np.nanmax(values))
    return [f"{said}Name a scale that holds them (--scale={whole[0]}..{whole[1]} does){mark}."]
