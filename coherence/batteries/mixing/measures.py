"""The measures of the battery: what each counts, for how many points, as published and corrected.

Three things are corrected. Games are held against their solved equilibrium and not against their
parameter. The effect of noise is taken out of every distance and direction. The orders of a pair of
words are averaged before the position is judged, so that a word that is always preferred is no
preference for a position.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coherence.batteries.mixing.answers import Counts
from coherence.batteries.mixing.design import MIDDLE, ORDERS, PARTS, optimal_rates
from coherence.batteries.mixing.losses import (
    DirectionLoss,
    DistanceLoss,
    Loss,
    area_loss,
    corrected_step_likeness,
    step_likeness,
)
from coherence.errors import InputError
from coherence.inputs import Floats

SEMANTIC_SLOPE, SEMANTIC_TOLERANCE = 2.22, 0.05  # published; 2.22 stands for 1 / 0.45
_SUM = 1 - MIDDLE  # of the probabilities of outcomes 0 and 2 among three
_DIAGONAL_AREA, _FLAT_AREA = 0.42, 0.36  # largest areas at the published range of 0 to 0.6


@dataclass(frozen=True, eq=False)
class Measure:
    """A loss with its points."""

    # part, name: part of the battery, and what is measured
    part: str
    name: str
    points: float  # points at a loss of 0; 0 for what is reported only
    # published, corrected: the loss in both scorings
    published: Loss
    corrected: Loss


def measures_of(counts: Counts) -> list[Measure]:
    """Return the measures of a part for the conditions that were asked."""
    if counts.part != "words" and counts.p.size < 2:
        raise InputError(
            f"{PARTS[counts.part].title} need answers at two values of p at least; "
            f"received {counts.p.size}. Ask at more values."
        )
    return _MEASURES[counts.part](counts)


def _calibration(
    part: str,
    name: str,
    points: float,
    p: Floats,
    contrast: list[float],
    optimum: Floats | None = None,
) -> Measure:
    outcomes = np.array(contrast)
    # The published scoring holds games against their parameter too.
    published = step_likeness(p, outcomes, p)
    corrected = corrected_step_likeness(p, outcomes, p if optimum is None else optimum)
    return Measure(part, name, points, published, corrected)


def _flip(counts: Counts) -> list[Measure]:
    return [_calibration("flip", "S", 20, counts.p, [1, 0])]


def _two_flips(counts: Counts) -> list[Measure]:
    return [
        _calibration("two_flips", "S first", 0, counts.p, [0, 0, 1, 1]),
        _calibration("two_flips", "S second", 10, counts.p, [0, 1, 0, 1]),
        _calibration("two_flips", "S mean", 10, counts.p, [0, 0.5, 0.5, 1]),
    ]


def _three_outcomes(counts: Counts) -> list[Measure]:
    p = counts.p
    target = {"S 0": p, "S 1": np.full_like(p, MIDDLE), "S 2": _SUM - p}
    measures = []
    for outcome, (name, rates) in zip(np.eye(3), target.items(), strict=True):
        # The published areas are for the whole range of p; parts of it have as large a share.
        largest = (_FLAT_AREA if name == "S 1" else _DIAGONAL_AREA) * (p[-1] - p[0]) / _SUM
        published, corrected = (
            area_loss(p, outcome, rates, largest, corrected=way) for way in (False, True)
        )
        measures.append(Measure("three_outcomes", name, 20 / 3, published, corrected))
    return measures


def _reads(counts: Counts) -> list[Measure]:
    return [_calibration("reads", "S", 8, counts.p, [1, 0])]


def _direction(counts: Counts) -> Measure:
    first = np.array([1.0, 0.0])
    optimum = optimal_rates(counts.part, counts.p)
    corrected = DirectionLoss(first, optimum, corrected=True)
    return Measure(counts.part, "direction", 4, DirectionLoss(first, counts.p), corrected)


def _pennies(counts: Counts) -> list[Measure]:
    return [
        _calibration("pennies", "S", 4, counts.p, [1, 0], optimal_rates("pennies", counts.p)),
        _direction(counts),
    ]


def _positioning(counts: Counts) -> list[Measure]:
    return [_direction(counts)]


def _words(counts: Counts) -> list[Measure]:
    size = len(counts.conditions)
    asked = counts.conditions[["item", "order"]].itertuples(index=False, name=None)
    rows = {condition: row for row, condition in enumerate(asked)}
    pairs = list(counts.conditions["item"].unique())
    lacking = [pair for pair in pairs if any((pair, order) not in rows for order in ORDERS)]
    if lacking:
        raise InputError(
            f"pairs of words must be asked in both orders; {len(lacking)} are not, "
            f"the first is {lacking[0]!r}. Ask the other order."
        )
    listed = np.zeros((size, size, 2))
    word, position = np.zeros((2, len(pairs), size, 2))
    for number, pair in enumerate(pairs):
        forward, reverse = (rows[pair, order] for order in ORDERS)
        # Outcome 0 is the first word of the pair, which the reverse order lists second.
        word[number, [forward, reverse], 0] = 0.5
        position[number, forward, 0] = position[number, reverse, 1] = 0.5
        listed[forward, forward, 0] = listed[reverse, reverse, 1] = 1.0

    def loss(
        contrasts: Floats, slope: float, tolerance: float = 0.0, *, corrected: bool = False
    ) -> DistanceLoss:
        n = len(contrasts)
        halves, weights = np.full(n, 0.5), np.full(n, slope / n)
        return DistanceLoss(contrasts, halves, weights, tolerance, corrected)

    # As published a preference for a word counts as one for a position, with opposite signs in the
    # two orders; corrected, the orders are averaged first, which cancels it.
    preference = loss(word, SEMANTIC_SLOPE, SEMANTIC_TOLERANCE)
    return [
        Measure("words", "position", 10, loss(listed, 2), loss(position, 2, corrected=True)),
        Measure("words", "preference", 10, preference, loss(word, 2, corrected=True)),
    ]


_MEASURES: dict[str, Callable[[Counts], list[Measure]]] = {
    "flip": _flip,
    "two_flips": _two_flips,
    "three_outcomes": _three_outcomes,
    "reads": _reads,
    "pennies": _pennies,
    "positioning": _positioning,
    "words": _words,
}
