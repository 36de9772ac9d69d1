"""Simulated agents with known rates: what the scores say of them is known in advance.

An agent is a rule from the faultless rates of a part to its own. `expected_answers` gives its exact
rates, `simulate_mixing` draws from them.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import ORDERS, PARTS, equilibrium_shares, literal_shares
from coherence.errors import InputError, closest
from coherence.inputs import Floats, whole_number
from coherence.statistics.resample import Seed, as_generator

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
