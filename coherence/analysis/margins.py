"""What a pass excludes: effects on the choice beyond a margin that the reader names.

Two one-sided tests at 2.5%, that the effect is at most minus the margin and that it is at least the
margin, both reject where the 95% interval lies within the margin (Schuirmann 1987); where a test
shows several actions, all of their intervals must, which takes no correction (Berger 1982). The
effect is the plain average: weighed by what beliefs leave open, an effect near the ends of beliefs
counts next to nothing.
"""

import math

from coherence.checks.sufficiency import PLAIN
from coherence.errors import InputError
from coherence.report.wording import clean, format_numbers
from coherence.result import CheckResult

BOUNDED = ("sufficiency",)
"""The test of belief against choice whose effect a margin bounds."""


def as_margin(value: object) -> float:
    """Validate a margin."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(value) < 1:  # type: ignore[arg-type]
        raise InputError(
            f"margin must be a number between 0 and 1, a difference of probabilities; received "
            f"{value!r}. Give the largest difference that you would call none, such as 0.05."
        )
    return float(value)  # type: ignore[arg-type]


def smallest_margin(result: CheckResult) -> float:
    """Return the margin above which plain averages are excluded; NaN where nothing bounds them."""
    plain = result.also.get(PLAIN)
    if plain is None or math.isnan(plain.value):
        return math.nan
    ends = result.details[["plain_low", "plain_high"]].dropna()
    return float(ends.abs().to_numpy().max())


def held_against(result: CheckResult, margin: float) -> str:
    """Say whether the plain average lies within the margin."""
    least = smallest_margin(result)
    if math.isnan(least):
        plain = result.also.get(PLAIN)
        why = plain.reason if plain is not None and plain.reason else result.reason
        return f"Nothing can be held against a margin of {margin:g}: {clean(why)}."
    amount = format_numbers([least])[0]
    if least < margin:
        return (
            f"Within {margin:g}: two one-sided tests at 2.5% exclude differences of choice at "
            f"equal belief above {amount}, every case weighed alike."
        )
    return (
        f"Not shown to be within {margin:g}: differences of choice at equal belief up to {amount} "
        "are not excluded, every case weighed alike."
    )
