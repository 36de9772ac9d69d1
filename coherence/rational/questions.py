"""Further questions about the contexts of an agent: other wordings, beliefs given a variable.

Whatever is asked is answered with noise of its own, which the repetitions of that question show
(`coherence.rational.belief`). A rational agent's belief is the same under every wording, so that
only the noise differs, and its beliefs given the states of a variable average out to it with the
weights P(z | x). What reports tell of those need not: the coherent ones that lie nearest, each
distance in units of how well the belief is known, are a projection by weighted least squares.
"""

from dataclasses import dataclass

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.rational.belief import (
    Beliefs,
    counted_reports,
    exact_beliefs,
    grid_of,
    noisy_beliefs,
)

LEAST_SPREAD = 0.02  # of a belief given z: what does not scatter is still no better known
_HALVINGS = 60


@dataclass(frozen=True)
class Question:
    """How one kind of question is answered, and what its answers tell of each belief."""

    # of each group: a context, or a context and a state of a variable
    held: Beliefs

    @property
    def spread(self) -> Floats:
        """Standard deviation of what is known of each group's belief, shape (n_groups,)."""
        weight, points = self.held.weight, self.held.points
        variance = np.asarray(weight @ points**2) - np.asarray(weight @ points) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def beliefs(self, rng: np.random.Generator) -> Floats:
        """Draw the belief of every group, shape (n_groups,)."""
        belief = np.asarray(self.held.points[self.held.drawn(self.held.weight, rng)])
        grid = self.held.reports.grid
        return grid.within_step(belief, rng) if grid.rounded and not self.held.noisy else belief

    def reports(self, belief: Floats, rng: np.random.Generator) -> Floats:
        """Draw a report of each belief, shape (n,)."""
        noise = self.held.sd * rng.normal(size=belief.size) if self.held.noisy else 0.0
        report, grid = np.clip(belief + noise, 0.0, 1.0), self.held.reports.grid
        return grid.nearest(report) if grid.rounded else report


def fit_question(
    reports: Floats,
    group: Codes,
    n_groups: int,
    *,
    computed: bool = False,
    otherwise: float = 0.0,
) -> Question:
    """Fit the noise of a kind of question; `otherwise` is that of one that nobody repeated."""
    counted = counted_reports(reports, group, n_groups)
    within = counted.within_sd
    once = bool(np.isnan(within))
    if computed or not (otherwise if once else within) > 0:
        return Question(exact_beliefs(reports, group, n_groups))
    return Question(noisy_beliefs(counted, otherwise if once else None))


def average_out(
    given: Floats, spread: Floats, weight: Floats, gap: Codes, belief: Floats
) -> Floats:
    """Move beliefs given z so that their averages are the beliefs."""
    pull = weight * np.maximum(spread, LEAST_SPREAD) ** 2
    # Lagrange's multiplier; the average rises with it, and reaches 0 and 1 at these ends.
    positive = np.where(weight > 0, pull, np.inf)
    least = np.full(belief.size, np.inf)
    np.minimum.at(least, gap, positive)
    high = 1.0 / np.maximum(least, 1e-12)
    low = -high

    def moved(multiplier: Floats) -> Floats:
        return np.asarray(np.clip(given + multiplier[gap] * pull, 0.0, 1.0))

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = np.bincount(gap, weights=weight * moved(middle)) > belief
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return moved((low + high) / 2)


class StatedShares:
    """Stated distributions of a variable: one answer gives the shares of all its states.

    Parameters
    ----------
    stated : ndarray, shape (n_answers, n_states)
        P(z | x) of every state; NaN where it was not asked or not read.
    group : ndarray of int, shape (n_answers,)
        Context and variable.
    n_groups : int
        Number of groups, of which some may have no answer.
    """

    def __init__(self, stated: Floats, group: Codes, n_groups: int) -> None:
        known = ~np.isnan(stated)
        values = np.where(known, stated, 0.0)
        self.group, self.n_answers = group, np.bincount(group, minlength=n_groups)
        sums, counts = np.zeros((2, n_groups, stated.shape[1]))
        np.add.at(sums, group, values)
        np.add.at(counts, group, known.astype(np.float64))
        self.asked = counts > 0
        self.mean = np.divide(sums, counts, out=np.zeros_like(sums), where=self.asked)
        away = np.where(known, stated - self.mean[group], 0.0)
        # Deviations from a mean of n are smaller than the noise by this factor.
        n = self.n_answers[group, None]
        self.deviation = away * np.sqrt(n / np.maximum(n - 1, 1))
        farthest = np.zeros(n_groups)
        np.maximum.at(farthest, group, np.abs(away).max(axis=1, initial=0.0))
        self.steady = farthest < 1e-9
        self.answers = np.argsort(group, kind="stable")
        self.first = np.cumsum(self.n_answers) - self.n_answers
        grid = grid_of(stated[known])
        self.spacing = grid.spacing if known.any() and grid.rounded else 0.0
        complete = (known == self.asked[group]).all(axis=1) & (known.sum(axis=1) > 1)
        misses = np.abs(values.sum(axis=1) - 1)[complete]
        self.sums_to_one = misses.size > 0 and bool((misses < 1e-9).all())

    def shares(self, rng: np.random.Generator) -> Floats:
        """Draw what every group takes the shares to be, shape (n_groups, n_states); sums are 1.

        The mean of the answers; where they are all alike, anything that is rounded to them.
        """
        drift = rng.uniform(-0.5, 0.5, self.mean.shape) * self.spacing
        shares = np.where(self.steady[:, None], self.mean + drift, self.mean)
        shares = np.where(self.asked, np.clip(shares, 0.0, 1.0), 0.0)
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(shares, total, out=np.zeros_like(shares), where=total > 0))

    def state(self, shares: Floats, rng: np.random.Generator) -> Floats:
        """Draw answers, shape (n_answers, n_states), that scatter as those of the same group do."""
        steps = (rng.random(self.group.size) * self.n_answers[self.group]).astype(np.int64)
        donor = self.answers[self.first[self.group] + steps]
        said = np.clip(shares[self.group] + self.deviation[donor], 0.0, 1.0)
        if self.spacing:
            said = np.round(np.rint(said / self.spacing) * self.spacing, 10)
        if self.sums_to_one:
            # The last state of an answer is what the others leave.
            last = self.asked.shape[1] - 1 - np.argmax(self.asked[:, ::-1], axis=1)
            rows = np.arange(self.group.size)
            at = last[self.group]
            rest = said.sum(axis=1, where=self.asked[self.group]) - said[rows, at]
            said[rows, at] = np.round(np.clip(1 - rest, 0.0, 1.0), 10)
        return np.asarray(said)
