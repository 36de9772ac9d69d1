"""How far a revealed belief lies from the truth.

The belief is the distribution that a model gives to the outcomes of a chance experiment.
Distances, leaked mass and the error of stated answers as in "Do large language models exhibit
cognitive dissonance? Studying the difference between revealed beliefs and stated answers" (section
4.3 and its appendices), with three repairs: distances relative to that of a point mass, which can
be compared between numbers of outcomes; Kullback-Leibler divergence on the possible outcomes, with
what leaked to impossible ones beside it; position and label told apart by averaging over both
orders. Assumes outcomes that exclude each other, in the order in which the text lists them.
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
        symmetric_kl=symmetric_kl(exact, believed),
        leaked_mass=float(believed[exact == 0].sum()),
        chebyshev_relative=math.nan if certain else float(difference.max() / scale.max()),
        l1_relative=math.nan if certain else float(difference.sum() / scale.sum()),
        first_excess=float(believed[0] - exact[0]),
    )


def symmetric_kl(truth: ArrayLike, belief: ArrayLike) -> float:
    """Return the sum of both Kullback-Leibler divergences over the possible outcomes, in nats.

    The sum and not its half: the cells published for two options, whose L1 distance gives the
    belief, fit the sum alone.

    Jeffreys (1946), An invariant form for the prior probability in estimation problems, Proceedings
    of the Royal Society A 186.
    """
    exact, believed = _distribution(truth, "truth"), _distribution(belief, "belief")
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


@dataclass(frozen=True)
class OrderPreference:
    """What the order of two options does to a belief, and what their labels do."""

    # how much more probable an option is for standing first, averaged over both options, in [-0.5,
    # 0.5].
    position: float
    # probability of the first option of the truth, averaged over both orders, less its truth: in
    # [-1, 1], 0 for one without a taste
    label: float


def order_preference(truth: float, named_first: float, named_second: float) -> OrderPreference:
    """Tell a preference for the place of an option from one for its label."""
    for name, value in (
        ("truth", truth),
        ("named_first", named_first),
        ("named_second", named_second),
    ):
        require(0 <= value <= 1, f"{name} must be a probability in [0, 1]; received {value!r}.")
    # What the label does is the same in both orders and cancels in the difference; what the place
    # does has opposite signs and cancels in the mean.
    return OrderPreference(
        (named_first - named_second) / 2, (named_first + named_second) / 2 - truth
    )


@dataclass(frozen=True)
class Influence:
    """What the mention of an earlier result does to a belief."""

    # total variation distance between the beliefs with and without the earlier result, in [0, 1]; 0
    # for who knows that it does not matter
    distance: float
    # How much more probable a repetition of the earlier result has become, in [-1, 1]: positive
    # towards it, negative (the gambler's fallacy) away from it. NaN where the earlier result is no
    # possible outcome.
    pull: float


def previous_influence(alone: ArrayLike, after: ArrayLike, repetition: int | None) -> Influence:
    """Measure the influence of an earlier result that should have none."""
    before, later = _distribution(alone, "alone"), _distribution(after, "after")
    require(
        before.size == later.size,
        f"after must have one value per outcome; received {later.size} for {before.size} outcomes.",
    )
    require(
        repetition is None or 0 <= repetition < before.size,
        f"repetition must be a place below {before.size}; received {repetition}.",
    )
    pull = math.nan if repetition is None else float(later[repetition] - before[repetition])
    # Half the L1 distance: the probability that was moved from some outcomes to others.
    return Influence(float(np.abs(later - before).sum() / 2), pull)


def stated_error(options: ArrayLike, correct: ArrayLike) -> float:
    """Return the probability of a wrong answer, averaged over the questions."""
    masses, places = np.asarray(options, dtype=np.float64), np.asarray(correct)
    require(
        masses.ndim == 2 and masses.size > 0,
        f"options must have shape (n_questions, n_options); received {masses.shape}.",
    )
    require(bool((masses >= 0).all()), "options must hold probabilities, at least 0 each.")
    require(
        places.shape == (len(masses),),
        f"correct must have one place per question; received shape {places.shape} for "
        f"{len(masses)} questions.",
    )
    require(
        bool(((places >= 0) & (places < masses.shape[1])).all()),
        f"correct must hold places from 0 to {masses.shape[1] - 1}.",
    )
    # A model may say much besides the letters: the error is that of its answers among them.
    total = masses.sum(axis=1)
    if (total == 0).any():
        return math.nan
    return float(1 - np.mean(masses[np.arange(len(masses)), places.astype(int)] / total))


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
