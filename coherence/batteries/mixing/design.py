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


_Rule = Callable[[str, Floats], Floats]
_PAIRS = tuple(f"word {number}/other {number}" for number in range(1, 12))


def _argmax(name: str, p: Floats) -> Floats:
    """The most probable outcome always; ties are split evenly."""
    shares = equilibrium_shares(name, p)
    if name == "two_flips":
        # Each flip by itself: the most probable pair would be the same, but for ties.
        return _both_flips(_ties(np.stack([1 - p, p], axis=1)))
    return _ties(shares)


def _both_flips(flip: Floats) -> Floats:
    """Return the probabilities of two independent flips with the same rates."""
    return np.asarray(np.einsum("mi,mj->mij", flip, flip).reshape(len(flip), 4))


def _ties(shares: Floats) -> Floats:
    highest = np.abs(shares - shares.max(axis=1, keepdims=True)) < 1e-9
    return np.asarray(highest / highest.sum(axis=1, keepdims=True))


def _steep(name: str, p: Floats) -> Floats:
    """The best rates, cubed and brought back to a sum of 1: between the ideal and the argmax."""
    if name == "two_flips":
        return _both_flips(_cubed(np.stack([1 - p, p], axis=1)))
    return _cubed(equilibrium_shares(name, p))


def _cubed(shares: Floats) -> Floats:
    # The last of three rates may miss 0 by a rounding error.
    cubes = np.maximum(shares, 0) ** 3
    return np.asarray(cubes / cubes.sum(axis=1, keepdims=True))


def _first(name: str, p: Floats) -> Floats:
    """The outcome that is listed first, whatever is asked; for words see `_rates`."""
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
    "steep": ("draws, but with rates pushed towards 0 and 1", _steep),
    "argmax": ("names the most probable outcome every time", _argmax),
    "first": ("names the outcome that is listed first, whatever the rates", _first),
    "uniform": (
        "draws all outcomes at equal rates, whatever was asked",
        lambda name, p: np.full((len(p), len(PARTS[name].outcomes)), 1 / len(PARTS[name].outcomes)),
    ),
}
"""Agents by name: what they do, and their rule."""


def _rates(agent: str) -> list[tuple[str, pd.DataFrame, Floats]]:
    if agent not in MIXING_AGENTS:
        raise InputError(
            f"agent must be one of {', '.join(MIXING_AGENTS)}; received {agent!r}. "
            f"{closest(agent, MIXING_AGENTS)}"
        )
    rule = MIXING_AGENTS[agent][1]
    rates = []
    for name, part in PARTS.items():
        conditions = pd.DataFrame({"p": part.probabilities, "item": "", "order": ""})
        if name == "words":
            conditions = pd.DataFrame(
                [(0.5, pair, order) for pair in _PAIRS for order in ORDERS],
                columns=["p", "item", "order"],
            )
        shares = rule(name, conditions["p"].to_numpy(dtype=np.float64))
        if name == "words" and agent == "first":
            # The second word of the pair is listed first in the reverse order.
            shares = np.where(
                (conditions["order"] == "reverse").to_numpy()[:, None], shares[:, ::-1], shares
            )
        rates.append((name, conditions, shares))
    return rates


def _labels(name: str, item: str) -> list[str]:
    return item.split("/") if name == "words" else list(PARTS[name].outcomes)


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
    rows = [
        (agent, name, condition.p, condition.item, condition.order, label, "ok", share)
        for name, conditions, shares in _rates(agent)
        for condition, chances in zip(conditions.itertuples(index=False), shares, strict=True)
        for label, share in zip(_labels(name, str(condition.item)), chances, strict=True)
    ]
    return pd.DataFrame(
        rows,
        columns=["model", "experiment", "p", "item", "order", "answer", "status", "probability"],
    )


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
    >>> answers.groupby("experiment").size()
    experiment
    flip              420
    pennies           180
    positioning       180
    reads             180
    three_outcomes    140
    two_flips         420
    words             440
    dtype: int64
    """
    whole_number(n_draws, "n_draws", 1)
    generator = as_generator(rng)
    tables = []
    for name, conditions, shares in _rates(agent):
        for condition, rates in zip(conditions.itertuples(index=False), shares, strict=True):
            chances = np.maximum(rates, 0)  # the last of three rates may miss 0 by a rounding error
            chosen = generator.choice(chances.size, size=n_draws, p=chances / chances.sum())
            labels = np.array(_labels(name, str(condition.item)))
            asked = {"experiment": name} | dict(zip(conditions.columns, condition, strict=True))
            tables.append(pd.DataFrame(asked | {"draw": range(n_draws), "answer": labels[chosen]}))
    return pd.concat(tables, ignore_index=True).assign(model=agent, status="ok")
