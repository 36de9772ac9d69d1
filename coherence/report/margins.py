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
from coherence.report.wording import clean
from coherence.result import CheckResult


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
    if not bounds_margins(result):
        return math.nan
    ends = result.details[["plain_low", "plain_high"]].dropna()
    return float(ends.abs().to_numpy().max())


def bounds_margins(result: CheckResult) -> bool:
    """Tell whether plain averages are known, which a margin is held against."""
    plain = result.also.get(PLAIN)
    return plain is not None and not math.isnan(plain.value)


def held_against(result: CheckResult, margin: float) -> str:
    """Say whether the plain average lies within the margin."""
    asked = f"{100 * margin:g} points"
    if not bounds_margins(result):
        plain = result.also.get(PLAIN)
        why = plain.reason if plain is not None and plain.reason else result.reason
        return f"Nothing can be held against a margin of {asked}: {clean(why)}."
    least = smallest_margin(result)
    ends = result.details[["plain_low", "plain_high"]].dropna().to_numpy()
    # To the side that keeps the sentence true.
    amount = f"{math.ceil(1000 * least) / 10:g} points"
    if least < margin:
        return (
            f"Within {asked}: two one-sided tests at 2.5% exclude average differences of any "
            f"choice at equal belief above {amount}, every case weighed alike."
        )
    if (ends[:, 0] > margin).any() or (ends[:, 1] < -margin).any():
        return (
            f"Beyond {asked}: the average difference of a choice at equal belief, every case "
            "weighed alike, is larger."
        )
    return (
        f"Not shown to be within {asked}: average differences of a choice at equal belief of up to "
        f"{amount} are not excluded, every case weighed alike."
    )
