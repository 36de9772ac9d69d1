"""Counts of things that happen by chance at a known rate: the Poisson distribution up to a bound.

The exact Poisson probabilities are irrational; given that the count is at most `at_most` they are
fractions, and beliefs renormalised over the counts up to there are to be compared with just these.
"""

from fractions import Fraction
from math import factorial

from coherence.errors import InputError
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Setting,
    Wording,
    in_words,
    tell_all,
)

_WORDINGS = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "At an office {rate} letters arrive per day on average. Letters arrive at random "
                "and independently of each other."
            ),
            "end": "The number of letters that arrive today is",
        },
    ),
    Wording(
        "story",
        {
            "setup": (
                "Over the years a village has seen {rate} storms per winter on average, with no "
                "rhyme or reason to when they come."
            ),
            "end": "Counted after this winter, the number of storms was",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Quantity: calls per hour\nMean: {rate}\nArrival: random, independent",
            "end": "Calls in the next hour:",
        },
        "\n",
    ),
)


def poisson_counts(rate: int, at_most: int) -> dict[int, Fraction]:
    """Return the Poisson distribution with a whole mean, given a count of at most `at_most`."""
    if rate < 1 or at_most < 1:
        raise InputError(f"rate and at_most must be at least 1; received {rate} and {at_most}.")
    weights = {k: Fraction(rate**k, factorial(k)) for k in range(at_most + 1)}
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def single(rate: int, at_most: int | None = None) -> Setting:
    """Return the setting of one count."""
    # Beyond it lies less than one in a thousand for the means of the grid.
    largest = int(rate + 4 * rate**0.5) + 4 if at_most is None else at_most
    return Setting(
        scenario="counts",
        variant="single",
        group=f"counts with mean {rate}",
        name=f"counts/single/mean {rate} up to {largest}",
        parameters={"rate": str(rate), "at_most": str(largest)},
        truth=in_words(poisson_counts(rate, largest)),
        texts=tell_all(_WORDINGS, ("setup", "end"), {"rate": rate}),
        story=_WORDINGS[0].tell(("setup",), {"rate": rate}),
        claim="the number of letters that arrive today is {}",
    )
