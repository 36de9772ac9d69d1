"""The belief behind noisy reports: what the reports of a context tell of it, on a grid.

A report is the belief plus Gaussian noise, ended at 0 and 1 and rounded to the grid that reports
show. The standard deviation of the noise maximises the likelihood of all reports, with a correction
for degrees of freedom; the distribution of beliefs is whatever makes them likeliest (Kiefer and
Wolfowitz 1956), found by expectation and maximisation from an even one, and stopped before it grows
spikes. Where reports do not vary they are the belief itself. Given the belief, the reports of a
context are independent.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from coherence.inputs import Codes, Floats

N_POINTS = 101
EM_STEPS = 40
SPACINGS = (0.25, 0.2, 0.1, 0.05, 0.02, 0.01)
LEAST_SD, MOST_SD = 0.003, 1.0
STEP = 1e-3  # of numerical derivatives, all of logarithms or log-odds
LEAST = 1e-300  # of a prior, so that its logarithm is finite
_TINY = 1e-12  # probability of a report that no noise explains: finite, so that it costs and counts


@dataclass(frozen=True)
class Grid:
    """Values that reports take."""

    spacing: float
    rounded: bool  # whether all reports lie on it; else they are counted with the nearest value

    @property
    def levels(self) -> Floats:
        """Every value from 0 to 1."""
        return np.asarray(np.arange(round(1 / self.spacing) + 1) * self.spacing, dtype=np.float64)

    def nearest(self, values: Floats) -> Floats:
        """Round to the grid."""
        # A grid of .25 or .2 ends at 1, so that rounding leaves [0, 1] nowhere.
        return np.asarray(np.round(np.rint(values / self.spacing) * self.spacing, 10))

    def within_step(self, reports: Floats, rng: np.random.Generator) -> Floats:
        """Draw what rounds to each report: any belief within half a step, alike likely."""
        moved = np.abs(reports + rng.uniform(-0.5, 0.5, reports.shape) * self.spacing)
        return np.where(moved > 1, 2 - moved, moved)


def grid_of(reports: Floats) -> Grid:
    """Find the coarsest grid on which all reports lie; finer ones are taken in hundredths."""

    def on_grid(spacing: float) -> bool:
        steps = reports / spacing
        return bool((np.abs(steps - np.rint(steps)) < 1e-6).all())

    spacing = next(filter(on_grid, SPACINGS), SPACINGS[-1])
    return Grid(spacing, on_grid(spacing))


@dataclass(frozen=True)
class Reports:
    """How often each value was reported in each context."""

    grid: Grid
    counts: Floats  # shape (n_contexts, n_levels)

    @property
    def within_sd(self) -> float:
        """Pooled within contexts, where the search for the noise starts; NaN where none has two."""
        degrees = float((self.counts.sum(axis=1) - 1).sum())
        if not degrees:
            return float("nan")
        if ((self.counts > 0).sum(axis=1) == 1).all():
            return 0.0  # and not what rounding makes of it
        return float(np.sqrt(self.squares.sum() / degrees))

    @property
    def squares(self) -> Floats:
        """Sum of squares of the reports of each context about their mean."""
        levels, sizes = self.grid.levels, self.counts.sum(axis=1)
        return np.asarray(self.counts @ levels**2 - (self.counts @ levels) ** 2 / sizes)


def counted_reports(reports: Floats, context: Codes, n_contexts: int) -> Reports:
    """Count the reports of each context."""
    grid = grid_of(reports)
    n_levels = grid.levels.size
    codes = context * n_levels + np.rint(reports / grid.spacing).astype(np.int64)
    counts = np.bincount(codes, minlength=n_contexts * n_levels)
    return Reports(grid, counts.reshape(n_contexts, n_levels).astype(np.float64))


@dataclass(frozen=True)
class Beliefs:
    """What reports tell of the belief of each context."""

    reports: Reports
    points: Floats  # shape (n_points,): beliefs
    # shape (n_contexts, n_points): distribution over them; sparse where reports are the belief
    weight: Any
    log_likelihood: Floats  # shape (n_contexts,): of the reports
    prior: Floats  # shape (n_points,): distribution of beliefs before the reports of a context
    sd: float = 0.0  # of the noise; 0 where reports are the belief
    known: bool = True  # whether the noise was not estimated
    shared: float = 0.0  # standard deviation of noise that all reports of a context share

    @property
    def noisy(self) -> bool:
        """Whether reports vary around the belief."""
        return not sparse.issparse(self.weight)

    @cached_property
    def distribution(self) -> Floats:
        """Distribution of beliefs over the points."""
        return np.asarray(self.weight.mean(axis=0)).ravel()

    @property
    def chances(self) -> Floats:
        """Probability of each value of a report at each belief, shape (n_points, n_levels)."""
        return report_chances(self.reports.grid, self.sd, self.points)

    @property
    def blur(self) -> Floats | None:
        """Distribution of what the reports of a context vary around, given each belief."""
        return _blur(self.points, self.shared) if self.shared > 0 else None

    def at(self, sd: float) -> "Beliefs":
        """Return what the reports tell if the noise has another standard deviation."""
        likelihood, top = _likelihood(self.reports, self.points, sd, self.shared)
        prior = np.full(self.points.size, 1 / self.points.size)
        for _ in range(EM_STEPS):
            prior = _posterior(likelihood, prior)[0].mean(axis=0)
        weight, total = _posterior(likelihood, prior)
        return replace(self, weight=weight, log_likelihood=np.log(total) + top, prior=prior, sd=sd)

    def tilted(self, factor: Floats | None) -> "Beliefs":
        """Return what the reports tell if the prior were this many times as high at each point."""
        if factor is None:
            return self
        weight, total = _posterior(self.weight, factor / (self.prior @ factor))
        return replace(self, weight=weight, log_likelihood=self.log_likelihood + np.log(total))

    def influence_on_prior(self) -> Floats:
        """Return what each context adds to the logarithm of the prior, (n_contexts, n_points).

        The derivative of every step of expectation and maximisation by the weights of contexts.
        """
        likelihood = _likelihood(self.reports, self.points, self.sd, self.shared)[0]
        prior = np.full(self.points.size, 1 / self.points.size)
        influence = np.zeros_like(likelihood)
        for _ in range(EM_STEPS):
            weight = _posterior(likelihood, prior)[0]
            prior = weight.mean(axis=0) + LEAST
            overlap = weight.T @ weight / len(weight)
            influence += (weight - influence @ overlap) / prior - 1
        return influence

    def given(self, truth: Floats, state: Floats) -> Any:
        """Add what the state of each context tells, where `state` is its chance at each point."""
        if not self.noisy:
            return self.weight
        both = self.weight * np.where(truth[:, None] > 0, state, 1 - state)
        return both / both.sum(axis=1, keepdims=True)

    def drawn(self, weight: Any, rng: np.random.Generator) -> Codes:
        """Draw the point of every context from weights, dense or sparse."""
        if isinstance(weight, np.ndarray):
            return drawn_columns(weight, rng)
        # Rows of a sparse array add up to 1 each, so that one running sum serves all of them.
        n = weight.shape[0]
        at = np.searchsorted(np.cumsum(weight.data), np.arange(n) + rng.random(n))
        return np.asarray(weight.indices[np.minimum(at, weight.indptr[1:] - 1)], dtype=np.int64)


def exact_beliefs(reports: Floats, context: Codes, n_contexts: int) -> Beliefs:
    """Take every context to hold the beliefs that it reported."""
    points, codes = np.unique(reports, return_inverse=True)
    shares = 1 / np.bincount(context, minlength=n_contexts)[context]
    weight = sparse.csr_array((shares, (context, codes)), shape=(n_contexts, points.size))
    counts = counted_reports(reports, context, n_contexts)
    prior: Floats = np.asarray(weight.mean(axis=0)).ravel()
    return Beliefs(counts, points, weight, np.zeros(n_contexts), prior)


def noisy_beliefs(
    reports: Reports, sd: float | None, *, shared: float = 0.0, unit: Codes | None = None
) -> Beliefs:
    """Deconvolve reports, with noise of standard deviation `sd`, or of the likeliest one.

    `unit` is what each context belongs to where contexts are not independent.
    """
    points = np.linspace(0, 1, N_POINTS)
    start = Beliefs(reports, points, np.empty((0, 0)), np.empty(0), np.empty(0), shared=shared)
    if sd is not None:
        return start.at(max(sd, LEAST_SD))
    centre = np.log(reports.within_sd)
    # Ends at 0 and 1 hide part of the noise, rounding adds to it.
    least, most = np.clip([centre - 1.4, centre + 1.4], np.log(LEAST_SD), np.log(MOST_SD))
    nearest = minimize_scalar(
        lambda log_sd: -start.at(float(np.exp(log_sd))).log_likelihood.sum(),
        bounds=(least, most),
        method="bounded",
        options={"xatol": STEP},
    )
    likeliest = start.at(float(np.exp(nearest.x)))
    # As a variance that is divided by n, it falls short by the parameters that are fitted with it.
    weight, moves = likeliest.weight, likeliest.influence_on_prior()
    if unit is not None:
        within = sparse.csr_array((np.ones(unit.size), (unit, np.arange(unit.size))))
        weight, moves = np.asarray(within @ weight), np.asarray(within @ moves)
    n_fitted = float((weight * moves).sum()) / len(reports.counts)
    short = min(n_fitted / float(reports.counts.sum()), 0.5)
    return replace(start.at(likeliest.sd / np.sqrt(1 - short)), known=False)


def report_chances(grid: Grid, sd: float, points: Floats) -> Floats:
    """Return the probability of each value of a report at each belief."""
    edges = grid.levels[:-1] + grid.spacing / 2
    below = ndtr((edges - points[:, None]) / sd)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _likelihood(
    reports: Reports, points: Floats, sd: float, shared: float
) -> tuple[Floats, Floats]:
    """Return the likelihood of each context's reports at each belief, and its log scale."""
    chances = np.log(report_chances(reports.grid, sd, points) + _TINY)
    likelihood = reports.counts @ chances.T
    top = likelihood.max(axis=1)
    likelihood = np.exp(likelihood - top[:, None])
    if shared > 0:
        likelihood = likelihood @ _blur(points, shared).T + _TINY
    return likelihood, top


def _posterior(likelihood: Floats, prior: Floats) -> tuple[Floats, Floats]:
    weight = likelihood * prior
    total = weight.sum(axis=1)
    return weight / total[:, None], total


def _blur(points: Floats, sd: float) -> Floats:
    half = (points[1] - points[0]) / 2
    edges = np.concatenate([[-np.inf], points[1:] - half, [np.inf]])
    return np.diff(ndtr((edges - points[:, None]) / sd), axis=1)


def drawn_columns(weight: Floats, rng: np.random.Generator) -> Codes:
    """Draw a column of every row with these weights."""
    below = weight.cumsum(axis=1)
    at = rng.random(len(weight)) * below[:, -1]
    return np.asarray((below < at[:, None]).sum(axis=1), dtype=np.int64)
