"""The conditions of the battery and what a sampler without fault would do in each.

Five experiments of 20 points: one flip, two flips in one answer, three outcomes, decisions (placing
reads, matching pennies, positioning), and words. Source: supplementary scoring system of the
"failure to mix" study.
"""

from dataclasses import dataclass

import numpy as np

from coherence.batteries.mixing.equilibrium import GAMES
from coherence.inputs import Floats

FLIPS = ("0 0", "0 1", "1 0", "1 1")
ORDERS = ("forward", "reverse")
MIDDLE = 0.4  # probability of outcome 1 among three, in every condition


@dataclass(frozen=True)
class BatteryPart:
    """A part of the battery."""

    name: str  # value of the `experiment` column
    number: int  # experiment that its points count for, 1 to 5
    title: str  # for tables and figures
    # the possible answers; those of `words` are the first and the second word of the pair
    outcomes: tuple[str, ...]
    probabilities: tuple[float, ...]  # published values of `p`


_GRID = tuple(i / 20 for i in range(21))
_TENTHS = tuple(i / 10 for i in range(1, 10))

PARTS = {
    part.name: part
    for part in (
        BatteryPart("flip", 1, "one flip", ("1", "0"), _GRID),
        BatteryPart("two_flips", 2, "two flips", FLIPS, _GRID),
        BatteryPart(
            "three_outcomes",
            3,
            "three outcomes",
            ("0", "1", "2"),
            tuple(i / 10 for i in range(6, -1, -1)),
        ),
        BatteryPart("reads", 4, "placing reads", ("A", "B"), _TENTHS),
        BatteryPart("pennies", 4, "matching pennies", GAMES["pennies"].actions, _TENTHS),
        BatteryPart("positioning", 4, "positioning", GAMES["positioning"].actions, _TENTHS),
        BatteryPart("words", 5, "words", ("first", "second"), (0.5,)),
    )
}
"""All parts by name; in `p` the instructed probability of the first outcome, of "1" in both flips,
or the parameter of a game."""

EXPERIMENTS = {1: "one flip", 2: "two flips", 3: "three outcomes", 4: "decisions", 5: "words"}


def literal_shares(name: str, p: Floats) -> Floats:
    """Return the outcome probabilities of a sampler that takes `p` for the rate everywhere.

    As the published scoring does: for the rate of the counted outcome, in games too.
    """
    if name == "two_flips":
        # Both flips by themselves, in the order of `FLIPS`.
        return np.stack([(1 - p) ** 2, (1 - p) * p, p * (1 - p), p**2], axis=1)
    if name == "three_outcomes":
        return np.stack([p, np.full_like(p, MIDDLE), 1 - MIDDLE - p], axis=1)
    return np.stack([p, 1 - p], axis=1)


def equilibrium_shares(name: str, p: Floats) -> Floats:
    """Return those of a faultless sampler: games at their equilibrium, else `literal_shares`."""
    if name in GAMES:
        best = optimal_rates(name, p)
        return np.stack([best, 1 - best], axis=1)
    return literal_shares(name, p)


def optimal_rates(name: str, p: Floats) -> Floats:
    """Return the best rates of the first outcome: `p`, but in games those of the equilibrium."""
    if name in GAMES:
        return np.array([GAMES[name].optimum(float(parameter)) for parameter in p])
    return p.copy()
