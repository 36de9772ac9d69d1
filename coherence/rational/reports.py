"""How a reported belief scatters around the belief held.

A report is the belief plus noise, ended at 0 and 1 and rounded to the grid that reports show, now
and then to a coarser one (round numbers). Noise is Gaussian with a standard deviation that may
change with the belief; a share of reports has three times that deviation, so that tails may be
heavier than a Gaussian's.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, log_softmax, ndtr

from coherence.inputs import Codes, Floats

SPACINGS = (0.25, 0.2, 0.1, 0.05, 0.02, 0.01)
ROUND_NUMBERS = (0.05, 0.1, 0.25)
TAIL = 3.0  # deviation of the reports in the tails, in ordinary ones
MOST_TAILS = 0.3  # largest share of reports in the tails
LEAST_SD, MOST_SD = 0.003, 1.0
_TINY = 1e-12  # probability of a report that no noise explains: finite, so that it costs and counts


@dataclass(frozen=True)
class ReportScale:
    """Values that reports take."""

    # distance of neighbouring values; reports between them are counted with the nearest one
    spacing: float
    coarser: tuple[float, ...]  # spacings of round numbers that reports may prefer

    @property
    def levels(self) -> Floats:
        """Every value from 0 to 1."""
        return np.asarray(np.arange(round(1 / self.spacing) + 1) * self.spacing, dtype=np.float64)

    def codes(self, reports: Floats) -> Codes:
        """Return the position of each report among the levels."""
        return np.rint(reports / self.spacing).astype(np.int64)

    @cached_property
    def edges(self) -> Floats:
        """Where reports change from one value to the next, for each spacing in turn."""
        return np.concatenate(
            [
                (np.arange(round(1 / spacing)) + 0.5) * spacing
                for spacing in (self.spacing, *self.coarser)
            ]
        )

    @cached_property
    def between(self) -> Floats:
        """What turns probabilities below edges into those of levels.

        Shape (n_spacings, n_levels, n_edges + 1); the last edge is the end, below which all lies.
        """
        spacings = (self.spacing, *self.coarser)
        found = np.zeros((len(spacings), self.levels.size, self.edges.size + 1))
        first = 0
        for table, spacing in zip(found, spacings, strict=True):
            n_edges = round(1 / spacing)
            rows = np.rint(np.arange(n_edges + 1) * spacing / self.spacing).astype(np.int64)
            # What lies beyond 0 or 1 is reported as 0 or 1.
            above = np.r_[first : first + n_edges, self.edges.size]
            table[rows, above] = 1.0
            table[rows[1:], above[:-1]] = -1.0
            first += n_edges
        return found

    @property
    def n_parameters(self) -> int:
        """Three of the standard deviation, one of each kind of round numbers, one of the tails."""
        return 3 + len(self.coarser) + 1


def scale_of(reports: Floats) -> ReportScale:
    """Find the coarsest grid on which all reports lie; finer ones are taken in hundredths."""

    def on_grid(spacing: float) -> bool:
        steps = reports / spacing
        return bool((np.abs(steps - np.rint(steps)) < 1e-6).all())

    spacing = next(filter(on_grid, SPACINGS), SPACINGS[-1])
    coarser = [
        wider
        for wider in ROUND_NUMBERS
        if wider > spacing and abs(wider / spacing - round(wider / spacing)) < 1e-9
    ]
    return ReportScale(spacing, tuple(coarser))


def shape_of_spread(points: Floats) -> Floats:
    """Return how the logarithm of the standard deviation may change with belief, shape (n, 3)."""
    centred = 2 * points - 1
    return np.stack([np.ones_like(centred), centred, centred**2 - 1 / 3], axis=1)


def spread_at(parameters: Floats, points: Floats) -> Floats:
    """Return the standard deviation of ordinary reports at each belief, shape (n,)."""
    exponent = shape_of_spread(points) @ parameters[:3]
    return np.exp(np.clip(exponent, math.log(LEAST_SD), math.log(MOST_SD)))


def tail_share(parameters: Floats) -> float:
    """Return the share of reports in the tails."""
    return float(MOST_TAILS * expit(parameters[-1]))


def round_shares(parameters: Floats) -> Floats:
    """Return the share of reports that are rounded to the grid and to each coarser one."""
    return np.exp(log_softmax(np.concatenate([[0.0], parameters[3:-1]])))


def report_table(scale: ReportScale, parameters: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Log-probability of every report at every belief, and its derivatives."""
    spread, tails = spread_at(parameters, points), tail_share(parameters)
    away = (scale.edges[:, None] - points) / spread
    away = np.stack([away, away / TAIL])
    near, far = ndtr(away)
    near_slope, far_slope = -away * np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi)
    below = np.zeros((scale.edges.size + 1, 3, points.size))
    below[:-1, 0] = (1 - tails) * near + tails * far
    below[:-1, 1] = (1 - tails) * near_slope + tails * far_slope
    below[:-1, 2] = far - near
    below[-1, 0] = 1.0
    n_spacings, n_levels, n_edges = scale.between.shape
    parts = (scale.between.reshape(-1, n_edges) @ below.reshape(n_edges, -1)).reshape(
        n_spacings, n_levels, 3, points.size
    )
    shares = round_shares(parameters)
    chance, slope, shift = np.moveaxis(np.tensordot(shares, parts, axes=1), 1, 0)
    rounder = [share * (part[:, 0] - chance) for share, part in zip(shares, parts, strict=True)][1:]
    by_tails = shift * tails * (1 - tails / MOST_TAILS)
    bounded = chance + _TINY
    return np.log(bounded), np.stack([slope, *rounder, by_tails]) / bounded
