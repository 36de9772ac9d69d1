"""Intervals of corrected losses and scores: noise of the rates, and what it leaves undecided.

The unit of resampling is the answer. Pure numbers: `coherence.batteries.mixing.scoring` makes
tables of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coherence.batteries.mixing.answers import Counts
from coherence.batteries.mixing.measures import Measure
from coherence.inputs import Floats

LEAST_DRAWS = 2
"""Readable answers that every condition needs: a single one shows no noise, and without noise
nothing can be taken out."""

_Z95 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Estimate:
    """A corrected loss and its uncertainty."""

    points: float  # points of the measure
    loss: float  # corrected loss
    # shape (n_resamples,): the same at rates drawn around the observed ones; shape (1,) where rates
    # are exact
    resampled: Floats
    # by how much the true loss may lie below and above the corrected one besides, see
    # `coherence.batteries.mixing.losses`.
    doubt: tuple[float, float]

    @property
    def reach(self) -> float:
        """Half the width of a 95% interval from noise alone; 0 where rates are exact."""
        return _reach(self.resampled)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the loss, at least 0, or at least the estimate where that is below 0."""
        # An estimate below 0 says nothing about how far above 0 the loss may be.
        low = min(max(self.loss - self.reach - self.doubt[0], 0.0), self.loss)
        return low, max(self.loss, 0.0) + self.reach + self.doubt[1]


def estimate(
    counts: Counts, measures: Sequence[Measure], n_resamples: int, rng: np.random.Generator
) -> list[Estimate]:
    """Estimate the corrected losses of a part."""
    shares, draws = counts.shares, counts.draws
    if (draws < LEAST_DRAWS).any():
        unknown = (np.nan, np.full(1, np.nan), (np.nan, np.nan))
        return [Estimate(measure.points, *unknown) for measure in measures]
    drawn = _resample(counts, n_resamples, rng)
    return [
        Estimate(
            measure.points,
            float(measure.corrected.value(shares, draws)),
            measure.corrected.value(drawn, draws),
            measure.corrected.doubt(shares, draws),
        )
        for measure in measures
    ]


def score_interval(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return the 95% interval of the sum of the corrected scores of measures."""
    # Summed exactly, as in the table of scores, which the interval is to hold to the last digit.
    score = math.fsum(corrected_points(measure) for measure in estimates)
    if np.isnan(score):
        return np.nan, np.nan
    if all(measure.resampled.size == 1 and not any(measure.doubt) for measure in estimates):
        return score, score  # rates that are exact leave no doubt
    # Scores are not capped here: chance lifts some above their points and takes others below 0, and
    # caps would pull all of them the same way. But what is below 0 beyond doubt is worth 0, however
    # far below.
    near = [measure for measure in estimates if measure.interval[0] < 1]
    resampled = [measure.points * (1 - measure.resampled) for measure in near]
    reach = _reach(np.sum(np.broadcast_arrays(*resampled), axis=0)) if near else 0.0
    centres = [measure.points * (1 - measure.loss) for measure in near]
    most = sum(measure.points for measure in estimates)
    # Doubts of measures lean the same way, so that they add up: taken for independent errors they
    # leave the games covered 91% of the time.
    above, below = (
        sum(measure.points * measure.doubt[side] for measure in near) for side in (0, 1)
    )
    low = min(sum(centres), most) - reach - below
    high = sum(max(centre, 0.0) for centre in centres) + reach + above
    low, high = np.clip([low, high], 0, most)
    return min(float(low), score), max(float(high), score)


def corrected_points(measure: Estimate) -> float:
    """Return the corrected score of a measure, held between 0 and its points."""
    return float(measure.points * np.clip(1 - measure.loss, 0, 1))


def _resample(counts: Counts, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw rates around the observed ones, shape (n_resamples, n_conditions, n_outcomes).

    Exact rates and unknown ones stay what they are.
    """
    if counts.exact:
        return np.broadcast_to(counts.shares, (1, *counts.shares.shape))
    total = counts.readable[:, None]
    # One answer more, spread over all outcomes, so that answers that are all equal still have some
    # spread; and less weight in all, so that the rates vary as the unbiased estimate of their
    # variance says, which for few answers is more.
    weights = (
        (counts.weights + 1 / counts.weights.shape[1]) * np.maximum(total - 2, 1) / (total + 1)
    )
    # Gamma variables divided by their sum are Dirichlet.
    gamma = rng.gamma(weights, size=(n_resamples, *counts.weights.shape))
    drawn = gamma / gamma.sum(axis=2, keepdims=True)
    drawn[:, counts.readable == 0] = np.nan
    return np.asarray(drawn)


def _reach(values: Floats) -> float:
    return _Z95 * float(np.std(values, ddof=1)) if values.size > 1 else 0.0
