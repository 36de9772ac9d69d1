"""Sampling without replacement with known inclusion probabilities.

A design spreads a fixed number of draws over bins as evenly as their capacities allow, and draws
within a bin with probability proportional to size by systematic sampling, so that Horvitz-Thompson
weights are exact (Särndal, Swensson and Wretman 1992, sections 2.8 and 3.6).
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CERTAIN = 1 - 1e-9  # a unit whose inclusion probability reaches one is taken, not drawn


def even_allocation(n: int, capacity: Ints, generator: np.random.Generator) -> Ints:
    """Return how many draws each bin gets.

    Parameters
    ----------
    n : int
        Draws in all, at most the sum of `capacity`.
    capacity : ndarray of int
        The most that each bin can take.
    generator : Generator
        Chooses which bins get one more when the division leaves a rest.

    Returns
    -------
    ndarray of int
        Sums to `n`; bins below their capacity differ by at most one, and no full bin holds more
        than these.

    Examples
    --------
    >>> even_allocation(10, np.array([0, 2, 50, 4]), np.random.default_rng(1)).tolist()
    [0, 2, 4, 4]
    """
    level = 0
    # The highest level that all bins can be filled to, or up to their capacity.
    while np.minimum(capacity, level + 1).sum() <= n and level < capacity.max(initial=0):
        level += 1
    filled = np.minimum(capacity, level)
    lucky = generator.permutation(np.flatnonzero(capacity > filled))[: n - int(filled.sum())]
    filled[lucky] += 1
    return filled


def inclusion_probabilities(size: Floats, n: int) -> Floats:
    """Return inclusion probabilities proportional to size, with those that would pass one set to one.

    Parameters
    ----------
    size : ndarray
        Positive.
    n : int
        Draws, at most the number of units.

    Returns
    -------
    ndarray
        In (0, 1], summing to `n`.

    Examples
    --------
    >>> inclusion_probabilities(np.array([8.0, 1.0, 1.0]), 2).tolist()
    [1.0, 0.5, 0.5]
    """
    probabilities = np.zeros(len(size))
    certain = np.zeros(len(size), dtype=bool)
    while True:
        rest = n - int(certain.sum())
        open_size = size[~certain]
        probabilities[certain] = 1.0
        probabilities[~certain] = rest * (open_size / open_size.sum()) if rest else 0.0
        passed = ~certain & (probabilities >= CERTAIN)
        if not passed.any():
            return probabilities
        certain |= passed


def systematic_sample(probabilities: Floats, generator: np.random.Generator) -> Ints:
    """Draw units with given inclusion probabilities.

    Parameters
    ----------
    probabilities : ndarray
        In [0, 1], summing to a whole number.
    generator : Generator
        Source of the order of the units and of the starting point.

    Returns
    -------
    ndarray of int
        Positions of the drawn units, each at most once.

    Examples
    --------
    >>> systematic_sample(np.array([1.0, 0.5, 0.5]), np.random.default_rng(1)).tolist()
    [0, 2]
    """
    certain = np.flatnonzero(probabilities >= CERTAIN)
    others = generator.permutation(np.flatnonzero((probabilities > 0) & (probabilities < CERTAIN)))
    n = round(float(probabilities[others].sum()))
    if n == 0:
        return certain
    bounds = probabilities[others].cumsum()
    ticks = generator.random() + np.arange(n)
    drawn = others[np.searchsorted(bounds * (n / bounds[-1]), ticks, side="right")]
    return np.concatenate([certain, drawn])
