"""How far a revealed belief lies from the truth.

The belief is the distribution that a model gives to the outcomes of a chance experiment.
Distances and leaked mass as in "Do large language models exhibit cognitive dissonance? Studying the
difference between revealed beliefs and stated answers" (section 4.3 and its appendices), with two
repairs: distances relative to that of a point mass, which can be compared between numbers of
outcomes; Kullback-Leibler divergence on the possible outcomes, with what leaked to impossible ones
beside it. Assumes outcomes that exclude each other, in the order in which the text lists them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import Floats, as_numbers, require


@dataclass(frozen=True)
class BeliefDistance:
    """Distances of a belief from the truth."""

    chebyshev: float  # largest absolute difference of the probability of one outcome, in [0, 1]
    l1: float  # sum of the absolute differences (Manhattan distance), in [0, 2]
    # KL(truth || belief) + KL(belief || truth) over the possible outcomes, in nats, the belief
    # renormalised there; infinite where a possible outcome has no probability in the belief, NaN
    # where none has
    symmetric_kl: float
    leaked_mass: float  # probability that the belief gives to impossible outcomes, in [0, 1]
    # chebyshev_relative, l1_relative: The distance divided by that of a point mass on the most
    # probable outcome: 0 is exact, 1 no better than naming that outcome every time. NaN where a
    # single outcome is possible.
    chebyshev_relative: float
    l1_relative: float
    first_excess: float  # probability of the first outcome less its truth, in [-1, 1]


def belief_distance(truth: ArrayLike, belief: ArrayLike) -> BeliefDistance:
    """Measure how far a belief lies from the truth.

    Parameters
    ----------
    truth : array-like, shape (n_outcomes,)
        Exact probabilities, summing to 1.
    belief : array-like, shape (n_outcomes,)
        Believed probabilities of the same outcomes, summing to 1.

    Returns
    -------
    BeliefDistance
        All distances, unrounded.

    Raises
    ------
    InputError
        Unequal lengths, values outside [0, 1], or a sum that is not 1 within 1e-6.

    Examples
    --------
    >>> distance = belief_distance([0.5, 0.5], [0.9, 0.1])
    >>> round(distance.chebyshev, 3), round(distance.l1, 3), round(distance.symmetric_kl, 3)
    (0.4, 0.8, 0.879)
    >>> round(distance.l1_relative, 3)
    0.8
    """
    exact, believed = _distribution(truth, "truth"), _distribution(belief, "belief")
    require(
        exact.size == believed.size,
        f"belief must have one value per outcome; received {believed.size} for {exact.size} "
        "outcomes.",
    )
    difference = np.abs(believed - exact)
    # Distances of few outcomes run larger than those of many; held against the distance of a point
    # mass they can be compared.
    surest = np.zeros_like(exact)
    surest[np.argmax(exact)] = 1.0
    scale = np.abs(surest - exact)
    # Where one outcome is certain the point mass is the truth, and its distance 0.
    certain = bool(scale.max() < 1e-12)
    return BeliefDistance(
        chebyshev=float(difference.max()),
        l1=float(difference.sum()),
        symmetric_kl=_symmetric_kl(exact, believed),
        leaked_mass=float(believed[exact == 0].sum()),
        chebyshev_relative=math.nan if certain else float(difference.max() / scale.max()),
        l1_relative=math.nan if certain else float(difference.sum() / scale.sum()),
        first_excess=float(believed[0] - exact[0]),
    )


def _symmetric_kl(exact: Floats, believed: Floats) -> float:
    """Return the sum of both Kullback-Leibler divergences over the possible outcomes, in nats.

    The sum and not its half: the cells published for two options, whose L1 distance gives the
    belief, fit the sum alone.

    Jeffreys (1946), An invariant form for the prior probability in estimation problems, Proceedings
    of the Royal Society A 186.
    """
    # Any belief in an impossible outcome would make KL(belief || truth) infinite, however small:
    # so the divergence is on the support, and what leaked stands apart.
    possible = exact > 0
    exact, believed = exact[possible], believed[possible]
    if believed.sum() == 0:
        return math.nan
    believed = believed / believed.sum()
    if (believed == 0).any():
        return math.inf
    # Rounding may leave a sum of terms, each at least 0, a hair below it.
    return max(float(np.sum((believed - exact) * (np.log(believed) - np.log(exact)))), 0.0)


def _distribution(values: ArrayLike, name: str) -> Floats:
    try:
        distribution = as_numbers(values, name)
    except InputError:
        raise InputError(
            f"{name} must hold numbers in [0, 1]; received values that are no numbers."
        ) from None
    require(
        distribution.ndim == 1 and distribution.size > 0,
        f"{name} must have shape (n_outcomes,); received {distribution.shape}.",
    )
    wrong = ~((distribution >= 0) & (distribution <= 1))
    if wrong.any():
        position = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{name} must hold probabilities in [0, 1]; the value at position {position} is "
            f"{distribution[position]:g}. Renormalise it."
        )
    require(
        abs(distribution.sum() - 1) < 1e-6,
        f"{name} must sum to 1; it sums to {distribution.sum():g}. "
        "Renormalise it over the outcomes.",
    )
    return distribution
