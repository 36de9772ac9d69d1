"""What a pass excludes: effects on the choice beyond a margin that the reader names.

Two one-sided tests at 2.5%, that the effect is at most minus the margin and that it is at least the
margin, both reject where the 95% interval lies within the margin (Schuirmann 1987); where a test
shows several actions, all of their intervals must, which takes no correction (Berger 1982).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from coherence.checks.covariance import SHIFT
from coherence.checks.rational import BEYOND
from coherence.errors import InputError
from coherence.report.unit import Unit
from coherence.report.wording import clean, format_numbers
from coherence.result import CheckResult

BOUNDED = ("residual_covariance", "rational_agent")
"""Tests of belief against choice whose effect is a difference of probabilities or of beliefs."""


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
    """Return the margin above which effects are excluded; NaN where nothing bounds them."""
    if result.check not in BOUNDED or result.interval is None:
        return math.nan
    if result.check == "rational_agent" and "quantity" in result.details:
        actions = result.details[result.details["quantity"].str.startswith(BEYOND)]
        # Empty where a hidden shift stands in place of differences.
        return float(actions[["low", "high"]].abs().max().max())
    if "component" not in result.details.columns:
        return max(abs(result.interval.low), abs(result.interval.high))
    actions = result.details[result.details["component"] != SHIFT]
    return float(actions[["low", "high"]].abs().to_numpy().max())


def with_margin(unit: Unit, margin: float) -> Unit:
    """Add to the conclusion what is shown to lie within the margin."""
    return replace(unit, conclusion=(*unit.conclusion, *held_against(unit.results, margin)))


def held_against(results: Sequence[CheckResult], margin: float) -> list[str]:
    """Say for every test of belief against choice whether its effect lies within the margin."""
    bounds = [(result, smallest_margin(result)) for result in results]
    told = [_sentence(*bound, margin) for bound in bounds if not math.isnan(bound[1])]
    return told or [f"There is no interval that a margin of {margin:g} could be held against."]


def _sentence(result: CheckResult, least: float, margin: float) -> str:
    name, amount = clean(result.check), format_numbers([least])[0]
    if least < margin:
        return (
            f"Within {margin:g} {result.unit} by {name}: two one-sided tests at 2.5% exclude "
            f"average differences above {amount}."
        )
    return (
        f"Not shown to be within {margin:g} {result.unit} by {name}: average differences up to "
        f"{amount} are not excluded."
    )
