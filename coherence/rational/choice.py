"""A logit of choices on a belief that is known up to a distribution, and what it says.

Utilities are linear in a weight of the belief, with extreme-value shocks (McFadden 1973): in the
belief itself, or in the weights of Prelec (1998), w(b) = exp(-(-ln b)^alpha), or of Gonzalez and Wu
(1999), w(b) = delta b^gamma / (delta b^gamma + (1 - b)^gamma). A share of choices is a lapse: any
action, equally likely, so that greedy choices lie inside the model. Every choice enters by its own
probability, averaged over what is known of the belief: a composite likelihood, which holds whatever
joins the choices of a context (a taste, a copied answer).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize
from scipy.special import expit, softmax

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import context_sums

MOST_LAPSES = 0.5
RIDGE = 1e-3  # in units of one choice; keeps separated choices finite
NEVER = -14.0  # log-odds of lapses where there are none
MOST_STEPS = 400
CLOSE = 1e-6  # gradient, in log-likelihood per context, below which no step is made
INSIDE = 1e-4  # weights have infinite slopes at 0 and 1
CERTAIN = 0.002  # beliefs beyond it count as it in the calibration
_STEP = 1e-5
_TINY = 1e-12
CURVE = np.round(np.arange(0.05, 1, 0.05), 2)  # beliefs at which the weighting is shown
THRESHOLD_COLUMNS = ("below", "above", "belief", "weight", "cost_ratio")


@dataclass(frozen=True)
class Weighting:
    """What utilities are linear in, and the parameters that shape it."""

    # beliefs (n,), parameters, state less one half -> columns of the utilities (n, n_columns)
    columns: Callable[[Floats, Floats, float], Floats]
    start: tuple[float, ...] = ()  # parameters to begin with; those of no weighting at all
    names: tuple[str, ...] = ()  # what the parameters are called
    logarithms: bool = True  # whether the parameters are logarithms of what is called so
    ridge: tuple[
        float, ...
    ] = ()  # weak penalty of the coefficients of each column; () of all alike

    def of_states(self, points: Floats, parameters: Floats) -> Floats:
        """Return the columns in each of two states, shape (2, n_points, n_columns)."""
        return np.stack([self.columns(points, parameters, side) for side in (-0.5, 0.5)])

    def slopes(self, points: Floats, parameters: Floats) -> list[Floats]:
        """Return their derivatives by each parameter."""
        steps = np.eye(parameters.size) * _STEP
        up, down = (
            [self.of_states(points, parameters + sign * step) for step in steps] for sign in (1, -1)
        )
        return [(high - low) / (2 * _STEP) for high, low in zip(up, down, strict=True)]


def powers(degree: int, *, shifted: bool = False) -> Weighting:
    """Utilities in powers of 2 * belief - 1, shifted with the state by a parameter or not."""

    def columns(points: Floats, parameters: Floats, side: float) -> Floats:
        acted_on = points + parameters[0] * side if shifted else points
        return np.vander(2 * acted_on - 1, degree + 1, increasing=True)

    if not shifted:
        return Weighting(columns)
    return Weighting(columns, (0.0,), ("hidden shift",), logarithms=False)


def prelec_weight(belief: Floats, alpha: float) -> Floats:
    """Return exp(-(-ln b)^alpha); 0 and 1 keep their place."""
    inside = np.clip(belief, INSIDE, 1 - INSIDE)
    return np.asarray(np.exp(-((-np.log(inside)) ** alpha)))


def gonzalez_wu_weight(belief: Floats, gamma: float, delta: float) -> Floats:
    """Return the weight that is linear in log-odds, with slope gamma and elevation delta."""
    inside = np.clip(belief, INSIDE, 1 - INSIDE)
    log_odds = gamma * np.log(inside / (1 - inside)) + np.log(delta)
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def _weighted(weight: Callable[..., Floats]) -> Callable[[Floats, Floats, float], Floats]:
    def columns(points: Floats, parameters: Floats, side: float) -> Floats:
        weighted = weight(points, *np.exp(np.clip(parameters, -3, 3)))
        return np.stack([np.ones_like(points), 2 * weighted - 1], axis=1)

    return columns


def _calibration(points: Floats, parameters: Floats, side: float) -> Floats:
    # Log-odds of the belief, so that calibrated beliefs are inside the model at 0 and 1 too.
    inside = np.clip(points, CERTAIN, 1 - CERTAIN)
    centred = 2 * points - 1
    log_odds = np.log(inside / (1 - inside))
    return np.stack([np.ones_like(points), log_odds, centred, centred**2 - 1 / 3], axis=1)


# Bends of the calibration are what few contexts tell least of.
CALIBRATION = Weighting(_calibration, ridge=(RIDGE, RIDGE, 0.1, 0.1))
WEIGHTINGS: dict[str, Weighting] = {
    "identity": powers(1),
    "prelec": Weighting(_weighted(prelec_weight), (0.0,), ("alpha",)),
    "gonzalez-wu": Weighting(_weighted(gonzalez_wu_weight), (0.0, 0.0), ("gamma", "delta")),
}


@dataclass(frozen=True)
class Choices:
    """Choices by context."""

    # shape (n_contexts, n_actions): how often each action was chosen, or the sum of its
    # probabilities
    sums: Floats
    truth: Floats  # shape (n_contexts,): 1 where the state came true
    # shape (n_contexts,): how many pairs of a context's choices agree, or the sum over pairs of the
    # probability that they do
    agreeing: Floats

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return int(self.sums.shape[1])


def choices_of(share: Floats, context: Codes, truth: Floats) -> Choices:
    """Gather choices by context."""
    n = truth.size
    sums = np.stack([context_sums(column, context, n) for column in share.T], axis=1)
    alone = context_sums((share**2).sum(axis=1), context, n)
    return Choices(sums, truth, ((sums**2).sum(axis=1) - alone) / 2)


class Logit:
    """Composite likelihood of choices, with parameters in one vector.

    The vector holds one row of utilities per column of the weighting, the log-odds of a lapse, and
    the parameters of the weighting.
    """

    def __init__(
        self, points: Floats, n_actions: int, weighting: Weighting, *, lapses: bool = True
    ) -> None:
        self.points, self.n_actions, self.weighting = points, n_actions, weighting
        self.lapsing = lapses
        self._at_start = weighting.of_states(points, np.array(weighting.start))
        self.n_columns: int = self._at_start.shape[2]
        self.n_utilities = self.n_columns * n_actions
        self.n_parameters = self.n_utilities + 1 + len(weighting.start)
        # A weak penalty: finite utilities, few lapses, weights that are the belief.
        self.ridge, self.centre = np.full(self.n_parameters, RIDGE), np.zeros(self.n_parameters)
        at = self.n_utilities
        if weighting.ridge:
            self.ridge[:at] = np.repeat(weighting.ridge, n_actions)
        self.ridge[at], self.centre[at] = (0.1, -3.0) if lapses else (1e3, NEVER)
        if weighting.names and not weighting.logarithms:
            self.ridge[at + 1 :] = 0.0

    def utilities(self, parameters: Floats) -> Floats:
        """Return the coefficients, shape (n_columns, n_actions)."""
        return parameters[: self.n_utilities].reshape(self.n_columns, self.n_actions)

    def lapses(self, parameters: Floats) -> float:
        """Return the share of lapses."""
        return float(MOST_LAPSES * expit(parameters[self.n_utilities]))

    def shape(self, parameters: Floats) -> Floats:
        """Return the parameters of the weighting."""
        return parameters[self.n_utilities + 1 :]

    def probabilities(self, parameters: Floats) -> Floats:
        """Return the probability of each action, shape (2 states, n_points, n_actions)."""
        lapses = self.lapses(parameters)
        return (1 - lapses) * self._steady(parameters)[0] + lapses / self.n_actions

    def _steady(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Probabilities without lapses, and the columns that they come from."""
        columns = self._at_start
        if self.weighting.start:
            columns = self.weighting.of_states(self.points, self.shape(parameters))
        return softmax(columns @ self.utilities(parameters), axis=2), columns

    def _derivatives(self, parameters: Floats) -> Floats:
        """Derivatives of the probabilities, shape (2, n_points, n_actions, n_parameters)."""
        steady, columns = self._steady(parameters)
        lapses, k = self.lapses(parameters), self.n_actions
        # Of a softmax by a utility: q_k (1[k = j] - q_j), for action k and the utility of j.
        by_utility = steady[..., :, None] * (np.eye(k) - steady[..., None, :])
        by_coefficient = columns[:, :, None, :, None] * by_utility[:, :, :, None, :]
        by_coefficient = by_coefficient.reshape(*steady.shape, -1) * (1 - lapses)
        by_lapse = (1 / k - steady) * lapses * (1 - lapses / MOST_LAPSES)
        parts = [by_coefficient, by_lapse[..., None]]
        for slope in self.weighting.slopes(self.points, self.shape(parameters)):
            moved = slope @ self.utilities(parameters)
            mean = (steady * moved).sum(axis=2, keepdims=True)
            parts.append(((1 - lapses) * steady * (moved - mean))[..., None])
        return np.concatenate(parts, axis=-1)

    def _averaged(self, parameters: Floats, weight: Any, choices: Choices) -> tuple[Floats, Floats]:
        """Probability of each action in each context, and its derivatives."""
        derivatives = self._derivatives(parameters).reshape(2, self.points.size, -1)
        moved = _of_state(weight, derivatives, choices.truth)
        shape = (len(choices.sums), self.n_actions, self.n_parameters)
        return self.averaged(parameters, weight, choices), moved.reshape(shape)

    def averaged(self, parameters: Floats, weight: Any, choices: Choices) -> Floats:
        """Return the probability of each action in each context, shape (n_contexts, n_actions)."""
        return _of_state(weight, self.probabilities(parameters), choices.truth) + _TINY

    def scores(self, parameters: Floats, weight: Any, choices: Choices) -> Floats:
        """Return the penalised score of each context, shape (n_contexts, n_parameters)."""
        mixed, moved = self._averaged(parameters, weight, choices)
        penalty = self.ridge * (parameters - self.centre) / len(mixed)
        return np.asarray(np.einsum("ik,ikp->ip", choices.sums / mixed, moved) - penalty)

    def information(self, parameters: Floats, weight: Any, choices: Choices) -> Floats:
        """Return the expected curvature of the penalised likelihood, choices as clusters.

        What choices lead one to expect and not what they show: where an action is rare, the few
        choices of it say little about the curvature.
        """
        mixed, moved = self._averaged(parameters, weight, choices)
        sizes, flat = choices.sums.sum(axis=1)[:, None, None], (-1, self.n_parameters)
        expected = (moved / mixed[..., None]).reshape(flat).T @ (sizes * moved).reshape(flat)
        return np.asarray(expected + np.diag(self.ridge))

    def fit(self, weight: Any, choices: Choices) -> "FittedLogit":
        """Fit by maximum penalised likelihood, from flat and from steep utilities."""
        start = self.centre.copy()
        start[self.n_utilities + 1 :] = self.weighting.start
        flat = self._climbed(start, weight, choices)
        if not self.lapsing:
            return flat
        steep = flat.parameters.copy()
        steep[: self.n_utilities] *= 4.0
        steep[self.n_utilities] = -1.0
        return max(flat, self._climbed(steep, weight, choices), key=lambda end: end.value)

    def _climbed(self, start: Floats, weight: Any, choices: Choices) -> "FittedLogit":
        n = len(choices.sums)

        def loss(x: Floats) -> float:
            fit = (choices.sums * np.log(self.averaged(x, weight, choices))).sum()
            return float(0.5 * (self.ridge * (x - self.centre) ** 2).sum() - fit) / n

        end = minimize(  # type: ignore[call-overload]
            loss,
            start,
            jac=lambda x: -self.scores(x, weight, choices).mean(axis=0),
            hess=lambda x: self.information(x, weight, choices) / n,
            method="trust-exact",
            # Logits: a first step of more than 2 leaves what the curvature knows.
            options={"gtol": CLOSE, "maxiter": MOST_STEPS, "initial_trust_radius": 2.0},
        )
        return FittedLogit(self, choices, np.asarray(end.x), -float(end.fun), bool(end.success))


@dataclass(frozen=True)
class FittedLogit:
    """A logit at its solution."""

    model: Logit
    choices: Choices
    parameters: Floats
    value: float  # penalised log-likelihood per context
    converged: bool

    @property
    def probabilities(self) -> Floats:
        """Probability of each action at each point, shape (2 states, n_points, n_actions)."""
        return self.model.probabilities(self.parameters)


def _of_state(weight: Any, tables: Floats, truth: Floats) -> Floats:
    """Average each context's table, that of its state, over its points."""
    if np.array_equal(tables[0], tables[1]):
        return np.asarray(weight @ tables[0])
    mixed = np.empty((weight.shape[0], tables.shape[2]))
    for state, rows in enumerate((truth <= 0, truth > 0)):
        mixed[rows] = weight[rows] @ tables[state]
    return mixed


def best_in_turn(utilities: Floats) -> list[int]:
    """Return the actions that are best at some weight, from the lowest weight to the highest."""
    at_low = utilities[0] - utilities[1]
    here = max(range(utilities.shape[1]), key=lambda k: (at_low[k], utilities[1, k]))
    turns, weight = [here], -1.0
    while True:
        crossings = [
            ((utilities[0, here] - utilities[0, k]) / (utilities[1, k] - utilities[1, here]), k)
            for k in range(utilities.shape[1])
            if utilities[1, k] > utilities[1, here]
        ]
        ahead = [crossing for crossing in crossings if weight < crossing[0] < 1]
        if not ahead:
            return turns
        # Where several lines cross at once, the steepest of them stays on top.
        weight, here = min(ahead, key=lambda crossing: (crossing[0], -utilities[1, crossing[1]]))
        turns.append(here)


def crossing(model: Logit, parameters: Floats, below: int, above: int) -> tuple[float, float]:
    """Return the belief and the weight at which one action overtakes another."""
    constant, slope = np.diff(model.utilities(parameters)[:, [below, above]], axis=1)[:, 0]
    if abs(slope) < 1e-12 or abs(constant / slope) > 1:
        return np.nan, np.nan
    weight = (1 - constant / slope) / 2
    shape = model.shape(parameters)

    def away(belief: float) -> float:
        columns = model.weighting.columns(np.array([belief]), shape, 0.0)
        return float((columns[0, 1] + 1) / 2 - weight)

    low, high = away(0.0), away(1.0)
    if low >= 0 or high <= 0:  # weights of 0 and 1 are kept a little inside
        return float(high <= 0), float(weight)
    return float(brentq(away, 0.0, 1.0, xtol=1e-12)), float(weight)


def threshold_table(
    model: Logit, parameters: Floats, actions: Sequence[Any]
) -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """List the thresholds between actions that are best in turn.

    At a threshold with weight w, choosing the action above it wrongly costs w / (1 - w) times what
    choosing it rightly gains.
    """
    pairs = list(pairwise(best_in_turn(model.utilities(parameters))))
    lines = []
    for below, above in pairs:
        belief, weight = crossing(model, parameters, below, above)
        ratio = weight / (1 - weight) if weight < 1 else np.inf
        lines.append((actions[below], actions[above], belief, weight, ratio))
    return pd.DataFrame(lines, columns=list(THRESHOLD_COLUMNS)), pairs
