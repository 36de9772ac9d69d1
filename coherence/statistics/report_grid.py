"""What true values a rounded report may stand for.

Which steps a column shows is read off by `coherence.statistics.grid_mixture`. Where a context is
asked repeatedly, its reports scatter around a true value before they are rounded; how far is fitted
too, because scatter wider than a step lets rounding average out.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.grid_mixture import on_grid

_UNCHANGED = 1e-12  # of weights of a mixture
_CONTINUOUS_CHANCE = 1e-6  # of one value among those that a report without a grid could have
SCATTERS = (0.0, 0.06, 0.12, 0.2, 0.3, 0.45, 0.7, 1.2, 2.0)
"""Standard deviations of reports before rounding, in steps, of which mixtures are fitted."""
_WIDEST = 6  # steps between reports of one value beyond which rounding averages out by itself
_PHASES = 1024


def _sawtooth() -> Floats:
    """Expected rounding error by scatter and by place within a step, shape (n_scatters, n_phases).

    In steps. Its Fourier series loses the high frequencies to normal scatter.
    """
    phase = (np.arange(_PHASES) + 0.5) / _PHASES
    table = [np.round(phase) - phase]
    for scatter in SCATTERS[1:]:
        k = np.arange(1, 31)[:, None]
        size = (-1.0) ** k / (np.pi * k) * np.exp(-2 * (np.pi * k * scatter) ** 2)
        table.append((size * np.sin(2 * np.pi * k * phase)).sum(axis=0))
    return np.array(table)


_ERROR = _sawtooth()


def rounding_error(value: Floats, step: Floats, scatter: NDArray[np.int64]) -> Floats:
    """Return how far the expected report of a value lies above it.

    Parameters
    ----------
    value : ndarray
        True values.
    step : ndarray
        Steps of the grid, 0 where there is none.
    scatter : ndarray of int
        Positions in `SCATTERS`.

    Returns
    -------
    ndarray
        Of the same shape; 0 without a grid.

    Examples
    --------
    >>> error = rounding_error(np.array([0.32]), np.array([0.1]), np.array([0]))
    >>> error.round(3).tolist()
    [-0.02]
    """
    places = value / np.where(step > 0, step, 1.0)
    phase = ((places - np.floor(places)) * _PHASES).astype(np.int64) % _PHASES
    return np.asarray(_ERROR[scatter, phase] * step)


def mixture_weights(chance: Floats, share: Floats, *, n_steps: int) -> Floats:
    """Fit the weights of known components by the EM algorithm.

    Parameters
    ----------
    chance : ndarray, shape (n_components, n_patterns)
        Probability or density of each pattern under each component; every pattern has some.
    share : ndarray, shape (n_patterns,)
        Share of each pattern among the data; they add up to 1.
    n_steps : int
        Most steps; steps that change nothing any more are not taken.

    Returns
    -------
    ndarray, shape (n_components,)
        They add up to 1.

    Examples
    --------
    >>> mixture_weights(np.eye(2), np.array([0.3, 0.7]), n_steps=9).tolist()
    [0.3, 0.7]
    """
    weights = np.full(len(chance), 1 / len(chance))
    for _ in range(n_steps):
        previous = weights
        weights = weights * (chance @ (share / (weights @ chance)))
        weights /= weights.sum()
        if np.abs(weights - previous).max() < _UNCHANGED:
            break
    return np.asarray(weights)


@dataclass(frozen=True)
class TrueValues:
    """Draws of what reports may stand for, shape (n_units, n_draws) each.

    Parameters
    ----------
    value : ndarray
        True values.
    step : ndarray
        Steps of the grid, 0 where there is none.
    scatter : ndarray of int
        Positions in `SCATTERS`.
    """

    value: Floats
    step: Floats
    scatter: NDArray[np.int64]

    def expected(self) -> Floats:
        """Return the expected reports of the true values."""
        return self.value + rounding_error(self.value, self.step, self.scatter)


def draw_true_values(
    reports: Floats, unit: Codes, weights: dict[float, float], uniforms: Floats, *, repeated: bool
) -> TrueValues:
    """Draw the true value of every unit given its reports.

    Parameters
    ----------
    reports : ndarray, shape (n_reports,)
        In [0, 1].
    unit : ndarray of int, shape (n_reports,)
        Codes without gaps; what has one true value.
    weights : dict of float to float
        From `grid_weights`.
    uniforms : ndarray, shape (n_draws, 2)
        Points of the unit square; the same for all units, so that names and order do not matter.
    repeated : bool
        Whether reports of a unit scatter before they are rounded; else there is one of each.

    Returns
    -------
    TrueValues
        Of units.

    Notes
    -----
    True values are taken as locally uniform over steps of the grid, scatter as normal.
    """
    n_units, n_draws = int(unit.max()) + 1, len(uniforms)
    counts = np.bincount(unit)
    mean = np.bincount(unit, weights=reports) / counts
    draws = TrueValues(
        np.repeat(mean[:, None], n_draws, axis=1),
        np.zeros((n_units, n_draws)),
        np.full((n_units, n_draws), len(SCATTERS) - 1),
    )
    pairs = np.unique(np.stack([unit, np.round(reports * 1e9)]), axis=1)
    pairs = pairs[:, (pairs[1] > 0) & (pairs[1] < 1e9)]  # 0 and 1 say nothing of the grid
    of_unit, different = pairs[0].astype(np.int64), pairs[1] / 1e9
    n_different = np.bincount(of_unit, minlength=n_units)
    chance = np.array(list(weights.values()))[:, None] * np.ones(n_units)
    for position, step in enumerate(weights):
        inside, base = np.ones(different.size), _CONTINUOUS_CHANCE
        if step:  # one of the values between 0 and 1
            inside, base = on_grid(different, step).astype(np.float64), 1 / (round(1 / step) - 1)
        misses = np.bincount(of_unit, weights=1 - inside, minlength=n_units)
        chance[position] *= np.where(misses > 0, 0.0, base**n_different)
    # A report beside all grids that were found counts as one without.
    total = chance.sum(axis=0)
    bounds = np.cumsum(np.divide(chance, total, out=np.zeros_like(chance), where=total > 0), axis=0)
    level = (uniforms[None, :, 0] >= bounds[:-1, :, None]).sum(axis=0)
    for position, step in enumerate(weights):
        if not step:
            continue
        units = np.flatnonzero(chance[position] > 0)
        if units.size:
            taken = (level == position)[units] & (total > 0)[units][:, None]
            _fill(draws, reports, unit, units, taken, step, uniforms[:, 1], repeated)
    # A report of 0 stands for values above it only: half a step is folded onto the other.
    folded = np.abs(draws.value)
    return replace(draws, value=np.where(folded > 1, 2 - folded, folded))


def _fill(
    draws: TrueValues,
    reports: Floats,
    unit: Codes,
    units: Codes,
    taken: NDArray[np.bool_],
    step: float,
    uniform: Floats,
    repeated: bool,
) -> None:
    """Put the draws of units on one grid where they are taken."""
    code = np.full(int(unit.max()) + 1, -1)
    code[units] = np.arange(units.size)
    within = code[unit] >= 0
    at, place = code[unit[within]], np.round(reports[within] / step).astype(np.int64)
    lowest = np.full(units.size, np.iinfo(np.int64).max)
    np.minimum.at(lowest, at, place)
    above = place - lowest[at]
    wide = np.bincount(at, weights=above > _WIDEST, minlength=units.size) > 0
    if wide.all():
        return
    narrow = ~wide[at]
    offsets = np.zeros((units.size, _WIDEST + 1), dtype=np.int64)
    np.add.at(offsets, (at[narrow], above[narrow]), 1)
    patterns, pattern = np.unique(offsets[~wide], axis=0, return_inverse=True)
    centres, posterior = _posterior(patterns, np.bincount(pattern.ravel()), repeated)
    some = np.flatnonzero(~wide)
    value, scatter = np.empty((2, len(patterns), uniform.size))
    for position, cells in enumerate(posterior):
        bounds = np.cumsum(cells.ravel())
        cell = np.minimum(np.searchsorted(bounds, uniform * bounds[-1]), bounds.size - 1)
        # What is left of the uniform number within its cell is uniform again.
        rest = (bounds[cell] - uniform * bounds[-1]) / cells.ravel()[cell]
        width = centres[1] - centres[0]
        value[position] = centres[cell % centres.size] + (np.clip(rest, 0, 1) - 0.5) * width
        scatter[position] = cell // centres.size
    of_unit = pattern.ravel()
    here = taken[some]
    rows, columns = some[np.nonzero(here)[0]], np.nonzero(here)[1]
    drawn = of_unit[np.nonzero(here)[0]]
    draws.value[units[rows], columns] = step * (lowest[rows] + value[drawn, columns])
    draws.scatter[units[rows], columns] = scatter[drawn, columns].astype(np.int64)
    draws.step[units[rows], columns] = step


def _posterior(patterns: Codes, counts: Codes, repeated: bool) -> tuple[Floats, Floats]:
    """Return places of a true value and their joint distribution with its scatter.

    Parameters
    ----------
    patterns : ndarray of int, shape (n_patterns, n_places)
        Reports at each step above the lowest one.
    counts : ndarray of int, shape (n_patterns,)
        Units of each pattern.
    repeated : bool
        Whether there is any scatter.

    Returns
    -------
    centres : ndarray, shape (n_centres,)
        Places in steps from the lowest report.
    posterior : ndarray, shape (n_patterns, n_scatters, n_centres)
        Not normalised.
    """
    # Cells must not straddle the ends of a step, where rounding without scatter jumps.
    centres = np.arange(-2.5, patterns.shape[1] + 1.5, 0.1) + 0.05
    steps = np.arange(patterns.shape[1])[None, None, :] - centres[None, :, None]
    scatters = np.array(SCATTERS if repeated else SCATTERS[:1])[:, None, None]
    spread = np.maximum(scatters, 1e-6)
    chance = stats.norm.cdf((steps + 0.5) / spread) - stats.norm.cdf((steps - 0.5) / spread)
    logs = np.log(np.maximum(chance, 1e-300))
    likelihood = np.exp(np.maximum(np.einsum("po,kco->pkc", patterns, logs), -700.0))
    marginal = np.maximum(likelihood.sum(axis=2), 1e-300)
    weights = mixture_weights(marginal.T, counts / counts.sum(), n_steps=200 if repeated else 0)
    return centres, likelihood * weights[None, :, None]
