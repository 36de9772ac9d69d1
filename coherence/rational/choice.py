"""Choices of a random-utility maximiser who holds a belief that only reports tell of.

Utilities are linear in what `coherence.rational.weighting` makes of the belief, with extreme-value
shocks (McFadden 1973), and a share of choices is a lapse: any action, equally likely. As slopes
grow, choices become those of a maximiser who sometimes slips, so that greedy choices lie inside the
model. Every choice enters by its own probability, averaged over what is known of the belief: a
composite likelihood, which holds whatever joins the choices of a context (a taste, a copied
answer).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from coherence.inputs import Codes, Floats
from coherence.rational.ascent import Penalty, Slope, Summit, ascend
from coherence.rational.weighting import Weighting
from coherence.statistics.resample import context_sums

MOST_LAPSES = 0.5
RIDGE = 1e-3  # in units of one choice; keeps separated choices finite
HELD, NONE = 1e6, -14.0  # weight and log-odds that keep lapses away
_TINY = 1e-12


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

    @property
    def shares(self) -> Floats:
        """Share of each action in each context."""
        return np.asarray(self.sums / self.sums.sum(axis=1, keepdims=True))

    def some(self, chosen: Codes) -> "Choices":
        """Return some of the contexts."""
        return Choices(self.sums[chosen], self.truth[chosen], self.agreeing[chosen])


def choices_of(share: Floats, context: Codes, truth: Floats) -> Choices:
    """Gather choices by context."""
    n = truth.size
    sums = np.stack([context_sums(column, context, n) for column in share.T], axis=1)
    alone = context_sums((share**2).sum(axis=1), context, n)
    return Choices(sums, truth, ((sums**2).sum(axis=1) - alone) / 2)


class ChoiceModel:
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
        self.n_columns = self._at_start.shape[2]
        self.n_utilities = self.n_columns * n_actions
        self.n_parameters = self.n_utilities + 1 + len(weighting.start)

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
        return self._tables(parameters)[0]

    def _columns(self, parameters: Floats) -> Floats:
        """What utilities are linear in, shape (2, n_points, n_columns)."""
        if not self.weighting.start:
            return self._at_start
        return self.weighting.of_states(self.points, self.shape(parameters))

    def _tables(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Probabilities with lapses, and without."""
        steady = softmax(self._columns(parameters) @ self.utilities(parameters), axis=2)
        lapses = self.lapses(parameters)
        return (1 - lapses) * steady + lapses / self.n_actions, steady

    def _derivatives(self, parameters: Floats, steady: Floats) -> Floats:
        """Derivatives of the probabilities, shape (2, n_points, n_actions, n_parameters)."""
        columns = self._columns(parameters)
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

    @property
    def penalty(self) -> Penalty:
        """Weak: finite utilities, few lapses, weights that are the belief."""
        weight = np.full(self.n_parameters, RIDGE)
        centre = np.zeros(self.n_parameters)
        at = self.n_utilities
        weight[at], centre[at] = (0.1, -3.0) if self.lapsing else (HELD, NONE)
        if self.weighting.names and not self.weighting.logarithms:
            weight[self.n_utilities + 1 :] = 0.0
        return Penalty(weight, centre)

    def start(self, slopes: Floats | None = None) -> Floats:
        """Return parameters to begin with: no utilities, or those given."""
        parameters = self.penalty.centre.copy()
        parameters[self.n_utilities + 1 :] = self.weighting.start
        if slopes is not None:
            parameters[: self.n_utilities] = slopes.ravel()
        return parameters

    def log_likelihoods(self, parameters: Floats, weight: Floats, choices: Choices) -> Floats:
        """Return the composite log-likelihood of each context, shape (n_contexts,)."""
        mixed = _of_state(weight, self.probabilities(parameters), choices)
        return np.asarray((choices.sums * np.log(mixed + _TINY)).sum(axis=1))

    def slope(self, parameters: Floats, weight: Floats, choices: Choices) -> Slope:
        """Return the log-likelihood with its gradient and expected curvature, choices as units.

        What choices lead one to expect and not what they show: where an action is rare, the few
        choices of it say little about the curvature.
        """
        mixed, moved = self._mixed(parameters, weight, choices)
        relative = moved / mixed[..., None]
        sizes = choices.sums.sum(axis=1)[:, None, None]
        flat = (-1, self.n_parameters)
        return Slope(
            float((choices.sums * np.log(mixed)).sum()),
            np.einsum("ik,ikp->p", choices.sums, relative),
            relative.reshape(flat).T @ (sizes * moved).reshape(flat),
        )

    def scores(self, parameters: Floats, weight: Floats, choices: Choices) -> Floats:
        """Return the score of each context, shape (n_contexts, n_parameters)."""
        mixed, moved = self._mixed(parameters, weight, choices)
        return np.asarray(np.einsum("ik,ikp->ip", choices.sums / mixed, moved))

    def _mixed(self, parameters: Floats, weight: Floats, choices: Choices) -> tuple[Floats, Floats]:
        table, steady = self._tables(parameters)
        derivatives = self._derivatives(parameters, steady)
        shape = (len(choices.sums), self.n_actions, self.n_parameters)
        flat = derivatives.reshape(2, self.points.size, -1)
        moved = _of_state(weight, flat, choices).reshape(shape)
        return _of_state(weight, table, choices) + _TINY, moved

    def fit(self, weight: Floats, choices: Choices, start: Floats | None = None) -> Summit:
        """Fit by maximum penalised composite likelihood."""
        return ascend(
            lambda parameters: self.slope(parameters, weight, choices),
            self.start() if start is None else start,
            self.penalty,
            len(choices.sums),
        )


def _of_state(weight: Floats, tables: Floats, choices: Choices) -> Floats:
    """Average each context's table, that of its state, over its points."""
    if np.array_equal(tables[0], tables[1]):
        return np.asarray(weight @ tables[0])
    true = choices.truth > 0
    mixed = np.empty((weight.shape[0], tables.shape[2]))
    for state, rows in ((0, ~true), (1, true)):
        mixed[rows] = weight[rows] @ tables[state]
    return mixed
