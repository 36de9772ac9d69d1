"""Simulated agents that answer value questions and bets: what they know and do is known.

For teaching and for tests. Each gives probabilities and scores of the options as a model would. The
scores follow from a gain that the agent sees in an option: expected gain for the maximiser, the
worth of the thing that its text speaks of for the value-only chooser, nothing for the guesser.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import expit

from coherence.batteries.bets.answers import PROBABILITIES, ROLES, SCORES
from coherence.batteries.bets.truths import BET_CHOICES, VALUE_CHOICES, bet_gains
from coherence.errors import InputError
from coherence.inputs import Floats
from coherence.statistics.resample import Seed, as_generator


def _value_gains(questions: pd.DataFrame) -> Floats:
    """Gains of answering high, low and same: an honest answer gains one."""
    return np.tile([1.0, -1.0, -1.0], (len(questions), 1))


def _maximiser(questions: pd.DataFrame) -> Floats:
    gains = bet_gains(questions)[:, [0, 1, 3]]
    # In units of the largest, so that the sharpness means the same at any stakes.
    return np.asarray(gains / np.abs(gains).max(axis=1, keepdims=True))


def _value_only(questions: pd.DataFrame) -> Floats:
    """Bet on the side that names the more valuable thing, as if it were asked for values."""
    high_is_won = (questions["wins"] == "high").to_numpy()
    return np.where(high_is_won[:, None], [1.0, -1.0, -0.5], [-1.0, 1.0, -0.5])


def _guesser(questions: pd.DataFrame) -> Floats:
    return np.zeros((len(questions), 3))


_Gains = Callable[[pd.DataFrame], Floats]
BET_AGENTS: dict[str, tuple[str, _Gains, _Gains]] = {
    "maximiser": (
        "knows values and takes the choice of largest expected gain",
        _value_gains,
        _maximiser,
    ),
    "value-only": (
        "knows values and bets on the side with the more valuable thing, even if it would lose it",
        _value_gains,
        _value_only,
    ),
    "random": ("guesses", _guesser, _guesser),
}
"""By name: description, gains seen in the answers to value questions, and gains seen in bets."""


def simulate_answers(
    agent: str, questions: pd.DataFrame, *, sharpness: float = 20.0, rng: Seed = None
) -> pd.DataFrame:
    """Answer questions as a simulated agent."""
    if agent not in BET_AGENTS:
        raise InputError(f"agent must be one of {', '.join(BET_AGENTS)}; received {agent!r}.")
    if not sharpness >= 0:
        raise InputError(f"sharpness must be at least 0; received {sharpness}.")
    _, of_values, of_bets = BET_AGENTS[agent]
    generator = as_generator(rng)
    is_bet = (questions["kind"] != "value").to_numpy()
    gains = np.zeros((len(questions), 3))
    if (~is_bet).any():
        gains[~is_bet] = of_values(questions[~is_bet])
    if is_bet.any():
        gains[is_bet] = of_bets(questions[is_bet])
    logits = sharpness * gains + generator.standard_normal(gains.shape)
    # From the order of roles into that of the letters.
    order = {name: at for each in (VALUE_CHOICES, BET_CHOICES) for at, name in enumerate(each)}
    choice = questions[ROLES].map(order.__getitem__).to_numpy()
    logits = np.take_along_axis(logits, choice, axis=1)
    # Less the largest, so that no exponential overflows.
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    table = pd.DataFrame({"question": questions["question"].to_numpy(), "model": agent})
    table[SCORES] = expit(logits)
    table[PROBABILITIES] = weights / weights.sum(axis=1, keepdims=True)
    return table
