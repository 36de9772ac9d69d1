"""The grids on which reported probabilities lie.

Models answer in steps of .05 or .1, and a column may mix several. Reports are true values rounded
to a grid; true values have a density that is smooth, but otherwise any. The shares of the grids are
fitted together with it: every report spreads over what it may stand for, the spread reports are
smoothed to the density, and a grid gets the reports that its values have beyond what the density
gives them (the EM algorithm with a smoothing step; Silverman, Jones, Nychka and Wilson 1990).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from coherence.inputs import Codes, Floats

STEPS = (0.25, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
CONTINUOUS = 0.0
LEAST_VALUES = 3
"""Different values below which a column shows no grid: what is always .5 may well be exact."""
_GAIN = 4.0  # log likelihood that a further grid must add; chance gives as much in 1 of 200 columns
_CONTINUOUS_STEP = 1e-6  # distance of values among those that a report without a grid could have
_CELLS, _BANDWIDTH = 200, 0.04  # of the density: wiggles as narrow as that are not taken for grids
_ROUNDS, _UNCHANGED = 60, 1e-4


def on_grid(values: Floats, step: float) -> NDArray[np.bool_]:
    """Tell which values are whole multiples of a step, up to what floating point loses."""
    places = values / step
    return np.asarray(np.abs(places - np.round(places)) < 1e-6)


@dataclass(frozen=True)
class _Values:
    """Different values of reports: their cell of the density, how many there are, their grids."""

    cell: Codes
    count: Codes
    held: NDArray[np.bool_]  # (n_steps, n_values)


def grid_weights(values: Floats) -> dict[float, float]:
    """Fit the mixture of grids from which a column of reports was taken.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Reports in [0, 1]; of one evidence every different report once.

    Returns
    -------
    dict of float to float
        Step -> share of reports; the step 0 stands for reports without a grid. Grids are added as
        long as the likelihood grows by more than chance would give.

    Examples
    --------
    >>> grid_weights(np.arange(1, 20) / 20)
    {0.05: 1.0}
    >>> grid_weights(np.random.default_rng(0).random(20))
    {0.0: 1.0}
    """
    # 0 and 1 lie on every grid, and answers without one end there too.
    inner = values[(values > 0) & (values < 1)]
    if np.unique(np.round(inner, 9)).size < LEAST_VALUES:
        return {CONTINUOUS: 1.0}
    levels = (*STEPS, CONTINUOUS)
    held = [on_grid(inner, step) for step in STEPS] + [np.ones(inner.size, dtype=bool)]
    cell = np.minimum((inner * _CELLS).astype(np.int64), _CELLS - 1)
    patterns, count = np.unique(np.vstack([cell, *held]), axis=1, return_counts=True)
    different = _Values(patterns[0], count, patterns[1:].astype(bool))
    chosen: list[int] = []
    weights, best = np.ones(0), -np.inf
    # A grid within one that holds every value already could only be spread thinner, and one
    # without any value has no share.
    candidates = {level for level in range(len(levels)) if different.held[level].any()}
    while candidates:
        tried = {level: _mixture(different, levels, [*chosen, level]) for level in candidates}
        level = max(sorted(tried), key=lambda each: tried[each][1])
        if not tried[level][1] > best + (_GAIN if chosen else 0.0):
            break
        chosen.append(level)
        weights, best = tried[level]
        candidates.discard(level)
        if different.held[level].all():
            candidates = {each for each in candidates if levels[each] > levels[level]}
    return {levels[level]: float(weight) for level, weight in zip(chosen, weights, strict=True)}


def _mixture(
    values: _Values, levels: Sequence[float], chosen: Sequence[int]
) -> tuple[Floats, float]:
    """Fit the shares of some grids and the density of true values, and their log likelihood."""
    held = values.held[chosen]
    weights = np.full(len(chosen), 1 / len(chosen))
    if not held.any(axis=0).all():
        return weights, -np.inf
    within = np.stack([_within(levels[level])[values.cell] for level in chosen])
    spread = np.hstack([_spread(levels[level])[:, values.cell] for level in chosen])
    inner = np.stack([_inner(levels[level]) for level in chosen])
    density = np.full(_CELLS, 1 / _CELLS)

    def join() -> Floats:
        """Probability of each value by grid, given that a report is neither 0 nor 1."""
        chance = held * (within @ density) / (inner @ density)[:, None]
        return np.asarray(weights[:, None] * chance)

    for _ in range(_ROUNDS):
        joint = join()
        taken = joint / joint.sum(axis=0) * values.count
        previous, weights = weights, taken.sum(axis=1) / values.count.sum()
        density = spread @ taken.ravel()
        density /= density.sum()
        if np.abs(weights - previous).max() < _UNCHANGED:
            break
    return weights, float(values.count @ np.log(join().sum(axis=0)))


def _apart() -> Floats:
    middle = (np.arange(_CELLS) + 0.5) / _CELLS
    return np.asarray(middle[:, None] - middle)


@cache
def _within(step: float) -> Floats:
    """Share of each cell that a report in a cell may stand for, shape (n_cells, n_cells)."""
    width, half = 1 / _CELLS, (step or _CONTINUOUS_STEP) / 2
    apart = _apart()
    overlap = np.minimum(half, apart + width / 2) - np.maximum(-half, apart - width / 2)
    return np.asarray(np.maximum(overlap, 0.0) / width)


@cache
def _inner(step: float) -> Floats:
    """Share of each cell that is reported as a value between 0 and 1."""
    middle = (np.arange(_CELLS) + 0.5) / _CELLS
    return ((middle > step / 2) & (middle < 1 - step / 2)).astype(np.float64)


@cache
def _spread(step: float) -> Floats:
    """Where true values lie given a report in a cell, smoothed; columns add up to 1."""
    half = (step or _CONTINUOUS_STEP) / 2
    middle = (np.arange(_CELLS) + 0.5) / _CELLS
    # What lies beyond an end is folded back.
    apart = np.stack([_apart(), -middle[:, None] - middle, 2 - middle[:, None] - middle])
    mass = ndtr((apart + half) / _BANDWIDTH) - ndtr((apart - half) / _BANDWIDTH)
    whole = mass.sum(axis=0)
    return np.asarray(whole / whole.sum(axis=0))
