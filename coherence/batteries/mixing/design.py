"""The conditions of the battery, and what a sampler without fault would do in each.

Five experiments of 20 points: one flip, two flips in one answer, three outcomes, decisions (placing
reads, matching pennies, positioning), and words. Source: supplementary scoring system of the
"failure to mix" study, which takes the parameter of a game for the best rate of the counted action.
In both games the equilibrium rate is one minus the parameter, as solving them shows: a more
rewarding action is watched more closely and has to be played less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import Floats, as_numbers


def mixed_equilibrium(row: ArrayLike, column: ArrayLike) -> tuple[float, float]:
    """Return the equilibrium of a game of two players with two actions each in which both mix.

    Parameters
    ----------
    row, column : array-like, shape (2, 2)
        Payoffs of the two players; first index: action of the row player.

    Returns
    -------
    row_first, column_first : float
        Probabilities in (0, 1) of the first actions: each leaves the other player without a
        preference between theirs.

    Raises
    ------
    InputError
        Payoffs of another shape or not finite, or no equilibrium in which both mix.

    References
    ----------
    Osborne and Rubinstein (1994), A Course in Game Theory, section 3.2.

    Examples
    --------
    Heads and heads pays 3, tails and tails 1, to the one who matches; the other pays.

    >>> mixed_equilibrium([[3, 0], [0, 1]], [[-3, 0], [0, -1]])
    (0.25, 0.25)
    """
    payoffs = [_payoffs(row, "row"), _payoffs(column, "column").T]
    # Each player's mix is fixed by the other one's indifference.
    mixes = []
    for other in payoffs[::-1]:
        # What the other player gains by the first action, against each action of this one.
        gain_first, gain_second = other[0] - other[1]
        if gain_first * gain_second >= 0:
            raise InputError(
                "row and column must leave no player an action that is never worse than the "
                "other; no equilibrium has both players mix here."
            )
        mixes.append(float(gain_second / (gain_second - gain_first)))
    return mixes[0], mixes[1]


def _payoffs(values: ArrayLike, name: str) -> Floats:
    payoffs = as_numbers(values, name)
    if payoffs.shape != (2, 2) or not np.isfinite(payoffs).all():
        raise InputError(
            f"{name} must hold finite payoffs of shape (2, 2); received shape {payoffs.shape}."
        )
    return payoffs


@dataclass(frozen=True)
class Game:
    """A game against a rival who loses what the model wins."""

    actions: tuple[str, str]  # the model's and the rival's actions; the rate of the first is scored
    # parameter in (0, 1) -> payoffs of the model, shape (2, 2)
    payoffs: Callable[[float], Sequence[Sequence[float]]]

    def optimum(self, parameter: float) -> float:
        """Return the equilibrium rate of the first action."""
        payoffs = np.asarray(self.payoffs(parameter), dtype=np.float64)
        return mixed_equilibrium(payoffs, -payoffs)[0]


GAMES = {
    # The model wins by showing the same side: 100 p points for heads, 100 (1 - p) for tails.
    "pennies": Game(("heads", "tails"), lambda p: ((100 * p, 0.0), (0.0, 100 * (1 - p)))),
    # The model earns only where the rival does not stand: 100 p in the luxury market, 100 (1 - p)
    # in the affordable one.
    "positioning": Game(("luxury", "affordable"), lambda p: ((0.0, 100 * p), (100 * (1 - p), 0.0))),
}
"""The two games by the name of their part of the battery."""


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
