"""Beliefs given a variable that average out to the belief, as a coherent agent's do.

What reports tell of P(theta | x, z) need not average out to the belief of the context with the
weights P(z | x). The coherent beliefs are those that do so and lie nearest, each distance in units
of how well the belief is known: a projection by weighted least squares, inside [0, 1].
"""

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.rational.questions import lies_on
from coherence.rational.reports import scale_of

LEAST_SPREAD = 0.02  # of a belief given z: what does not scatter is still no better known
_HALVINGS = 60


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
        scale = scale_of(stated[known])
        on_grid = bool(known.any()) and lies_on(stated[known], scale)
        self.spacing = scale.spacing if on_grid else 0.0
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
