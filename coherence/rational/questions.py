"""Further questions about the contexts of an agent: other wordings, beliefs given a variable.

Whatever is asked is answered with noise of its own, which the repetitions of that question show:
its reports are fitted as those beside the choices are (`coherence.rational.latent`). A rational
agent's belief is the same under every wording, so that only the noise differs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.rational.exact import exact_beliefs
from coherence.rational.latent import LatentModel, Reports
from coherence.rational.reports import (
    TAIL,
    ReportScale,
    round_shares,
    scale_of,
    spread_at,
    tail_share,
)
from coherence.rational.twin import drawn_points

FEWEST_KNOWN = 10  # questions with a known state, from which noise is fitted
FEW_KNOWN = "{n} questions with a known state are fewer than {fewest}"


@dataclass(frozen=True)
class Question:
    """How one kind of question is answered, and what its answers tell of each belief."""

    scale: ReportScale  # values that reports take
    rounded: bool  # whether all reports lie on that grid
    # parameters of `coherence.rational.reports`; None where reports do not scatter.
    noise: Floats | None
    points: Floats  # shape (n_points,): beliefs
    # shape (n_groups, n_points): distribution over them, given the reports of each group: a
    # context, or a context and a state of a variable
    weight: Any

    @property
    def spread(self) -> Floats:
        """Standard deviation of what is known of each group's belief, shape (n_groups,)."""
        mean = np.asarray(self.weight @ self.points)
        square = np.asarray(self.weight @ self.points**2)
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))

    def beliefs(self, rng: np.random.Generator) -> Floats:
        """Draw the belief of every group, shape (n_groups,)."""
        belief = np.asarray(self.points[drawn_points(self.weight, rng)])
        if self.noise is None and self.rounded:
            return within_step(belief, self.scale.spacing, rng)
        return belief

    def reports(self, belief: Floats, rng: np.random.Generator) -> Floats:
        """Draw a report of each belief, shape (n,)."""
        if self.noise is None:
            return _on_grid(belief, self.scale.spacing) if self.rounded else belief
        far = rng.random(belief.size) < tail_share(self.noise)
        spread = spread_at(self.noise, belief) * np.where(far, TAIL, 1.0)
        said = np.clip(belief + spread * rng.normal(size=belief.size), 0.0, 1.0)
        spacings = np.array([self.scale.spacing, *self.scale.coarser])
        shares = np.cumsum(round_shares(self.noise))
        kind = np.searchsorted(shares, rng.random(belief.size) * shares[-1], side="right")
        spacing = spacings[np.minimum(kind, spacings.size - 1)]
        finest = kind == 0
        return np.where(finest & (not self.rounded), said, _on_grid(said, spacing))


def within_step(reports: Floats, spacing: float, rng: np.random.Generator) -> Floats:
    """Draw what rounds to each report: any belief within half a step, alike likely."""
    moved = np.abs(reports + rng.uniform(-0.5, 0.5, reports.shape) * spacing)
    return np.where(moved > 1, 2 - moved, moved)


def _on_grid(values: Floats, spacing: Floats | float) -> Floats:
    # A grid of .25 or .2 ends at 1, so that rounding leaves [0, 1] nowhere.
    return np.asarray(np.round(np.rint(values / spacing) * spacing, 10))


def lies_on(reports: Floats, scale: ReportScale) -> bool:
    """Tell whether all reports lie on the grid of a scale."""
    steps = reports / scale.spacing
    return bool((np.abs(steps - np.rint(steps)) < 1e-6).all())


def fit_question(
    reports: Floats,
    group: Codes,
    truth: Floats,
    *,
    computed: bool = False,
    otherwise: float = 0.0,
) -> Question:
    """Fit the noise of a kind of question."""
    scale, n_groups = scale_of(reports), truth.size
    codes = group * scale.levels.size + scale.codes(reports)
    counts = np.bincount(codes, minlength=n_groups * scale.levels.size)
    known = np.flatnonzero(~np.isnan(truth))
    everyone = Reports(scale, counts.reshape(n_groups, -1).astype(np.float64), np.nan_to_num(truth))
    rounded = lies_on(reports, scale)
    scatter, sd = everyone.scatter, None
    if math.isnan(scatter):
        scatter = sd = otherwise
    if computed or not scatter > 0 or known.size < FEWEST_KNOWN:
        exact = exact_beliefs(reports, group, n_groups)
        return Question(scale, rounded, None, exact.points, exact.weight)
    model = LatentModel(scale, sd=sd)
    # The state tells something of the belief, so that it helps where it is known.
    some = everyone.some(known)
    summit = max((model.fit(some, start) for start in (scatter, scatter / 2)), key=_height)
    posterior = model.posterior(summit.parameters, everyone)
    noise = model.noise(summit.parameters)
    return Question(scale, rounded, noise, model.points, posterior.given_reports)


def _height(summit: Any) -> float:
    return float(summit.value)
