"""Beliefs that reports state exactly: no noise was seen, or it is known that there is none."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from coherence.inputs import Codes, Floats
from coherence.rational.ascent import Penalty, Slope, Summit, ascend
from coherence.rational.latent import CALIBRATION_TERMS, Posterior, Reports, calibration_terms


class ExactBeliefs:
    """Every context holds the beliefs that it reported; only the calibration is fitted.

    Parameters
    ----------
    points : ndarray, shape (n_points,)
        Distinct beliefs.
    weight : sparse array, shape (n_contexts, n_points)
        Share of each belief among the reports of a context.
    """

    def __init__(self, points: Floats, weight: Any) -> None:
        self.points, self.weight = points, weight
        self.terms = calibration_terms(points)
        self.n_parameters = CALIBRATION_TERMS

    def calibration(self, parameters: Floats) -> Floats:
        """Return the probability of the state at each point."""
        return np.asarray(expit(self.terms @ parameters))

    def prior(self, parameters: Floats) -> Floats:
        """Return the distribution of beliefs over the points."""
        return np.asarray(self.weight.mean(axis=0)).ravel()

    @property
    def penalty(self) -> Penalty:
        """Weak, on bends of the calibration."""
        weight = np.r_[1e-6, 1e-6, np.full(CALIBRATION_TERMS - 2, 0.05)]
        return Penalty(weight, np.zeros(CALIBRATION_TERMS))

    def posterior(self, parameters: Floats, reports: Reports) -> Posterior:
        """Return the beliefs themselves, and every context's score of the calibration."""
        weight = self.weight[reports.rows] if reports.rows is not None else self.weight
        odds = self.terms @ parameters
        remains = reports.truth[:, None] * (weight @ self.terms) - weight @ (
            self.terms * expit(odds)[:, None]
        )
        losses = np.where(
            reports.truth > 0, weight @ -np.logaddexp(0, -odds), weight @ -np.logaddexp(0, odds)
        )
        return Posterior(float(losses.sum()), weight, weight, remains)

    def fit(self, reports: Reports) -> Summit:
        """Fit the calibration."""

        def slope(parameters: Floats) -> Slope:
            here = self.posterior(parameters, reports)
            return Slope(here.log_likelihood, here.scores.sum(axis=0), here.scores.T @ here.scores)

        return ascend(
            slope,
            np.zeros(self.n_parameters),
            self.penalty,
            reports.n_contexts,
        )


def exact_beliefs(belief: Floats, context: Codes, n_contexts: int) -> ExactBeliefs:
    """Gather what each context reported."""
    points, codes = np.unique(belief, return_inverse=True)
    sizes = np.bincount(context, minlength=n_contexts)
    shares = 1 / sizes[context]
    weight = sparse.csr_array((shares, (context, codes)), shape=(n_contexts, points.size))
    return ExactBeliefs(points, weight)
