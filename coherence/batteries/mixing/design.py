"""The conditions of the battery, what a sampler without fault would do in each, and agents.

Five experiments of 20 points: one flip, two flips in one answer, three outcomes, decisions (placing
reads, matching pennies, positioning), and words. Source: supplementary scoring system of the
"failure to mix" study, which takes the parameter of a game for the best rate of the counted action.
In both games the equilibrium rate is one minus the parameter, as solving them shows: a more
rewarding action is watched more closely and has to be played less.

A simulated agent is a rule from the faultless rates of a part to its own, so that what the scores
say of it is known in advance. `expected_answers` gives its exact rates, `simulate_mixing` draws
from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.errors import InputError, closest
from coherence.inputs import Floats, as_numbers, whole_number
from coherence.statistics.resample import Seed, as_generator


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


GAMES: dict[str, Callable[[float], Sequence[Sequence[float]]]] = {
    # The model wins by showing the same side: 100 p points for heads, 100 (1 - p) for tails.
    "pennies": lambda p: ((100 * p, 0.0), (0.0, 100 * (1 - p))),
    # The model earns only where the rival does not stand: 100 p in the luxury market, 100 (1 - p)
    # in the affordable one.
    "positioning": lambda p: ((0.0, 100 * p), (100 * (1 - p), 0.0)),
}
"""The games, by the name of their part of the battery: the payoffs of the model by the parameter in
(0, 1), shape (2, 2), against a rival who loses what the model wins."""


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
        BatteryPart("pennies", 4, "matching pennies", ("heads", "tails"), _TENTHS),
        BatteryPart("positioning", 4, "positioning", ("luxury", "affordable"), _TENTHS),
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
    if name not in GAMES:
        return p.copy()
    payoffs = [np.array(GAMES[name](float(parameter))) for parameter in p]
    return np.array([mixed_equilibrium(payoff, -payoff)[0] for payoff in payoffs])


_Rule = Callable[[str, Floats], Floats]
_CONDITION = ["experiment", "p", "item", "order"]
_PAIRS = tuple(f"word {number}/other {number}" for number in range(1, 12))


def _changed(change: Callable[[Floats], Floats]) -> _Rule:
    """Return the rule that changes the best rates; of two flips, those of each by itself."""

    def rule(name: str, p: Floats) -> Floats:
        if name != "two_flips":
            return change(equilibrium_shares(name, p))
        flip = change(np.stack([1 - p, p], axis=1))
        return np.asarray(np.einsum("mi,mj->mij", flip, flip).reshape(len(flip), 4))

    return rule


def _highest(shares: Floats) -> Floats:
    """Return rates that are all with the most probable outcome; ties are split evenly."""
    highest = np.abs(shares - shares.max(axis=1, keepdims=True)) < 1e-9
    return np.asarray(highest / highest.sum(axis=1, keepdims=True))


def _cubed(shares: Floats) -> Floats:
    # The last of three rates may miss 0 by a rounding error.
    cubes = np.maximum(shares, 0) ** 3
    return np.asarray(cubes / cubes.sum(axis=1, keepdims=True))


def _first(name: str, p: Floats) -> Floats:
    """The outcome that is listed first, whatever is asked; of words see `expected_answers`."""
    listed = 1 if name == "flip" else 0  # questions about a flip list 0 first, its second outcome
    return np.tile(np.eye(len(PARTS[name].outcomes))[listed], (len(p), 1))


MIXING_AGENTS: dict[str, tuple[str, _Rule]] = {
    "ideal": (
        "draws every outcome at the best rate, and plays games at their equilibrium",
        equilibrium_shares,
    ),
    "literal": (
        "takes p for the rate everywhere, in games too: the faultless sampler of the published "
        "scoring",
        literal_shares,
    ),
    "steep": ("draws, but with rates pushed towards 0 and 1", _changed(_cubed)),
    "argmax": ("names the most probable outcome every time", _changed(_highest)),
    "first": ("names the outcome that is listed first, whatever the rates", _first),
    "uniform": (
        "draws all outcomes at equal rates, whatever was asked",
        lambda name, p: np.full((len(p), len(PARTS[name].outcomes)), 1 / len(PARTS[name].outcomes)),
    ),
}
"""Agents by name: what they do, and their rule."""


def expected_answers(agent: str) -> pd.DataFrame:
    """Return the exact rates of an agent as a table of answers.

    Parameters
    ----------
    agent : str
        Name in `MIXING_AGENTS`.

    Returns
    -------
    DataFrame
        One row per condition and outcome, with `probability`.

    Raises
    ------
    InputError
        Unknown agent.

    Examples
    --------
    >>> answers = expected_answers("ideal")
    >>> answers.loc[[2, 3], ["experiment", "p", "answer", "probability"]]
      experiment     p answer  probability
    2       flip  0.05      1         0.05
    3       flip  0.05      0         0.95
    """
    if agent not in MIXING_AGENTS:
        raise InputError(
            f"agent must be one of {', '.join(MIXING_AGENTS)}; received {agent!r}. "
            f"{closest(agent, MIXING_AGENTS)}"
        )
    rows: list[tuple[object, ...]] = []
    for name, part in PARTS.items():
        conditions = [(p, "", "") for p in part.probabilities]
        if name == "words":
            conditions = [(0.5, pair, order) for pair in _PAIRS for order in ORDERS]
        shares = MIXING_AGENTS[agent][1](name, np.array([p for p, _, _ in conditions]))
        for (p, item, order), chances in zip(conditions, shares, strict=True):
            # The second word of the pair is listed first in the reverse order.
            turned = agent == "first" and order == "reverse"
            labels = item.split("/") if item else part.outcomes
            rows += [
                (agent, name, p, item, order, label, "ok", share)
                for label, share in zip(labels, chances[::-1] if turned else chances, strict=True)
            ]
    return pd.DataFrame(rows, columns=["model", *_CONDITION, "answer", "status", "probability"])


def simulate_mixing(agent: str, *, n_draws: int = 100, rng: Seed = None) -> pd.DataFrame:
    """Draw answers of an agent to the whole battery.

    Parameters
    ----------
    agent : str
        Name in `MIXING_AGENTS`.
    n_draws : int
        Answers per condition, at least 1.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    DataFrame
        One row per answer, with `draw`.

    Raises
    ------
    InputError
        Unknown agent, or no draw.

    Examples
    --------
    >>> answers = simulate_mixing("ideal", n_draws=20, rng=1)
    >>> len(answers), answers["experiment"].nunique()
    (1960, 7)
    """
    whole_number(n_draws, "n_draws", 1)
    generator = as_generator(rng)
    tables = []
    for asked, rows in expected_answers(agent).groupby(_CONDITION, sort=False):
        chances = rows["probability"].clip(
            lower=0
        )  # the last of three may miss 0 by a rounding error
        chosen = generator.choice(len(rows), size=n_draws, p=chances / chances.sum())
        drawn = {"draw": range(n_draws), "answer": rows["answer"].to_numpy()[chosen]}
        tables.append(pd.DataFrame(dict(zip(_CONDITION, asked, strict=True)) | drawn))
    return pd.concat(tables, ignore_index=True).assign(model=agent, status="ok")
