"""The belief behind the reports: its distribution, the noise of reports, its calibration.

Every context has one belief, drawn from a smooth distribution on a fine grid with possible masses
at 0 and 1 (an exponential family on splines, Efron 2016). Reports scatter around it, and the state
is true with a probability that depends on it. All are fitted together by maximum likelihood.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import isotonic_regression
from scipy.special import expit, log_softmax, ndtr

from coherence.inputs import Codes, Floats
from coherence.rational.ascent import Penalty, Slope, Summit, ascend
from coherence.rational.reports import LEAST_SD, ReportScale, report_table, shape_of_spread

N_POINTS = 101
N_INNER_KNOTS = 4
CALIBRATION_TERMS = 4
CERTAIN = 0.002  # beliefs beyond it count as it in the calibration
HELD = 1e6  # weight of a penalty that lets nothing move
NO_TAILS = -12.0  # log-odds
_TINY = 1e-300


@dataclass(frozen=True)
class Reports:
    """Reports and states of contexts."""

    scale: ReportScale  # values of reports
    counts: Floats  # shape (n_contexts, n_levels): how often each value was reported
    truth: Floats  # shape (n_contexts,): 1 where the state came true
    rows: Codes | None = None  # which contexts of a larger table these are

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return len(self.counts)

    @property
    def scatter(self) -> float:
        """Standard deviation of reports within contexts; NaN where none has two."""
        levels, sizes = self.scale.levels, self.counts.sum(axis=1)
        degrees = float((sizes - 1).sum())
        if not degrees:
            return float("nan")
        if ((self.counts > 0).sum(axis=1) == 1).all():
            return 0.0  # and not what rounding makes of it
        within = self.counts @ levels**2 - (self.counts @ levels) ** 2 / sizes
        return float(np.sqrt(within.sum() / degrees))

    def some(self, chosen: Codes) -> "Reports":
        """Return some of the contexts."""
        return Reports(self.scale, self.counts[chosen], self.truth[chosen], chosen)


@dataclass(frozen=True)
class Posterior:
    """What reports, with or without the state, tell of the belief of each context."""

    log_likelihood: float
    given_truth: Floats  # (n_contexts, n_points)
    given_reports: Floats
    scores: Floats  # (n_contexts, n_parameters)


class LatentModel:
    """Likelihood of reports and states, with parameters in one vector.

    Parameters
    ----------
    scale : ReportScale
        Values of reports.
    sd : float, optional
        Standard deviation of the noise, where it is known; None where repetitions are to tell it.
    shared : float
        Standard deviation of noise that all reports of a context share. No data tell it.
    isotonic : bool
        Whether the calibration is made to rise with belief.
    n_points : int
        Points of the grid of beliefs.
    """

    def __init__(
        self,
        scale: ReportScale,
        *,
        sd: float | None = None,
        shared: float = 0.0,
        isotonic: bool = False,
        n_points: int = N_POINTS,
    ) -> None:
        self.scale, self.sd, self.isotonic = scale, sd, isotonic
        self.points = np.linspace(0, 1, n_points)
        self.blur = _blur(self.points, shared) if shared > 0 else None
        self.prior_terms = _prior_terms(self.points)
        self.calibration_terms = calibration_terms(self.points)
        self.spread_terms = shape_of_spread(self.points)
        sizes = self.prior_terms.shape[1], scale.n_parameters, CALIBRATION_TERMS
        ends = np.cumsum([0, *sizes])
        self._prior, self._noise, self._calibration = (
            slice(int(low), int(high)) for low, high in pairwise(ends)
        )
        self.n_parameters = int(ends[-1])

    def noise(self, parameters: Floats) -> Floats:
        """Return the parameters of `coherence.rational.reports`."""
        return parameters[self._noise]

    def prior(self, parameters: Floats) -> Floats:
        """Return the distribution of beliefs over the points."""
        return np.exp(log_softmax(self.prior_terms @ parameters[self._prior]))

    def calibration(self, parameters: Floats) -> Floats:
        """Return the probability of the state at each point."""
        free = np.asarray(expit(self.calibration_terms @ parameters[self._calibration]))
        if not self.isotonic:
            return free
        return np.asarray(isotonic_regression(free, weights=self.prior(parameters) + _TINY).x)

    @property
    def penalty(self) -> Penalty:
        """Weak: a distribution without waves, constant noise, few tails and round numbers.

        A known noise stays where it is.
        """
        weight, centre = np.zeros(self.n_parameters), np.zeros(self.n_parameters)
        weight[self._prior] = 0.05
        noise = np.r_[0.0, 0.5, 0.5, np.full(self.scale.n_parameters - 3, 0.2)]
        weight[self._noise] = noise
        centre[self._noise] = np.r_[0.0, 0.0, 0.0, np.full(self.scale.n_parameters - 3, -3.0)]
        weight[self._calibration] = np.r_[0.0, 0.0, np.full(CALIBRATION_TERMS - 2, 0.05)]
        if self.sd is not None:
            # Round numbers remain to be told by the data.
            held = self._noise.start + np.r_[0, 1, 2, self.scale.n_parameters - 1]
            weight[held] = HELD
            centre[held] = np.r_[np.log(max(self.sd, LEAST_SD)), 0.0, 0.0, NO_TAILS]
        return Penalty(weight, centre)

    def start(self, sd: float) -> Floats:
        """Return parameters of evenly spread, roughly calibrated beliefs with noise `sd`."""
        parameters = self.penalty.centre.copy()
        if self.sd is None:
            parameters[self._noise.start] = np.log(max(sd, LEAST_SD))
        parameters[self._calibration.start + 1] = 1.0
        return parameters

    def _log_prior(self, parameters: Floats) -> Floats:
        return np.asarray(log_softmax(self.prior_terms @ parameters[self._prior]))

    def _of_reports(self, reports: Reports, table: Floats) -> tuple[Floats, Floats | None]:
        """Log-likelihood of reports by belief, and by what reports scatter around if it differs."""
        of_centre = np.asarray(reports.counts @ table)
        if self.blur is None:
            return of_centre, None
        top = of_centre.max(axis=1, keepdims=True)
        blurred = np.log(np.exp(of_centre - top) @ self.blur.T + _TINY) + top
        return blurred, of_centre

    def _log_state(self, parameters: Floats, truth: Floats) -> Floats:
        odds = self.calibration_terms @ parameters[self._calibration]
        both = np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)])
        return np.asarray(both[truth.astype(np.int64)])

    def posterior(self, parameters: Floats, reports: Reports) -> Posterior:
        """Return what the data tell of each belief, and every context's score."""
        table, by_noise = report_table(self.scale, self.noise(parameters), self.points)
        of_belief, of_centre = self._of_reports(reports, table)
        other = self._log_prior(parameters) + self._log_state(parameters, reports.truth)
        of_reports, _ = _normalised(of_belief + self._log_prior(parameters))
        weight, value = _normalised(of_belief + other)
        centre = weight
        if of_centre is not None and self.blur is not None:
            # Reports scatter around a centre of their own, spread around the belief.
            centre, _ = _normalised(of_centre + np.log(np.exp(other) @ self.blur + _TINY))
        prior, calibrated = self.prior(parameters), self.calibration(parameters)
        of_prior = weight @ self.prior_terms - prior @ self.prior_terms
        of_spread = (centre * (reports.counts @ by_noise[0])) @ self.spread_terms
        others = [(centre * (reports.counts @ part)).sum(axis=1) for part in by_noise[1:]]
        terms = self.calibration_terms
        of_state = reports.truth[:, None] * (weight @ terms) - weight @ (
            terms * calibrated[:, None]
        )
        scores = np.column_stack([of_prior, of_spread, *others, of_state])
        return Posterior(float(value.sum()), weight, of_reports, scores)

    def fit(self, reports: Reports, sd: float) -> Summit:
        """Fit by maximum penalised likelihood, beginning with noise `sd` unless it is known."""

        def slope(parameters: Floats) -> Slope:
            here = self.posterior(parameters, reports)
            return Slope(here.log_likelihood, here.scores.sum(axis=0), here.scores.T @ here.scores)

        return ascend(slope, self.start(sd), self.penalty, reports.n_contexts)


def calibration_terms(points: Floats) -> Floats:
    """Return what the log-odds of the state are linear in, shape (n_points, 4).

    Log-odds of the belief, so that calibrated beliefs are inside the model at 0 and 1 too.
    """
    inside = np.clip(points, CERTAIN, 1 - CERTAIN)
    centred = 2 * points - 1
    return np.stack(
        [np.ones_like(points), np.log(inside / (1 - inside)), centred, centred**2 - 1 / 3], axis=1
    )


def _normalised(log_weights: Floats) -> tuple[Floats, Floats]:
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return weights, (top + np.log(total))[:, 0]


def _blur(points: Floats, sd: float) -> Floats:
    """Probability that reports scatter around each point, given each belief; rows add up to 1."""
    half = (points[1] - points[0]) / 2
    edges = np.concatenate([[-np.inf], points[1:] - half, [np.inf]])
    return np.diff(ndtr((edges - points[:, None]) / sd), axis=1)


def _prior_terms(points: Floats) -> Floats:
    degree = 3
    knots = np.r_[[0.0] * degree, np.linspace(0, 1, N_INNER_KNOTS + 2), [1.0] * degree]
    splines = BSpline.design_matrix(points, knots, degree).toarray()
    # One spline follows from the others, which add up to 1.
    smooth = splines[:, 1:] - splines[:, 1:].mean(axis=0)
    return np.column_stack([smooth, points == 0, points == 1]).astype(np.float64)
