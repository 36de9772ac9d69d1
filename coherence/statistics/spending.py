"""Alpha spending: what level is left for each of several looks at data that grow.

Lan and DeMets (1983): of alpha / 2, each side of a test spends 2 - 2 Phi(z / sqrt(t)) by the
fraction t of the information, z = Phi^-1(1 - alpha / 4), much as the bounds of O'Brien and Fleming
(1979) do. The two-sided level of a look is the one at which a normal statistic with independent
increments crosses for the first time there as often as the spending allows, by integration from
look to look (Armitage, McPherson and Rowe 1969). The smallest alpha at which a plan has crossed so
far is a p-value at any of its looks: the sequential p-value (Liu and Anderson 2008).
"""

import math
from functools import lru_cache

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from coherence.inputs import Floats
from coherence.result import LEVEL

NODES = 200  # of the integrals between bounds; 40 looks, the most of a plan, are resolved
ALPHAS = np.exp(np.linspace(math.log(1e-8), math.log(0.999), 60))  # a p-value lies between
WIDEST = 38.0  # standard deviations, beyond which a normal tail is 0


def spent(fraction: Floats, alpha: float = LEVEL) -> Floats:
    """Return the part of alpha that may be spent by fractions of the information, in (0, 1]."""
    return np.asarray(4 * ndtr(ndtri(alpha / 4) / np.sqrt(fraction)))


def nominal_levels(fraction: Floats, alpha: float = LEVEL) -> Floats:
    """Return the two-sided level of each look, at rising fractions of the information."""
    return np.array(_levels(tuple(map(float, fraction)), alpha))


@lru_cache(maxsize=256)
def _levels(fraction: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    unit, weight = np.polynomial.legendre.leggauss(NODES)
    allowed = np.diff(spent(np.array(fraction), alpha), prepend=0.0)
    # The walk as it stood at the last look without having crossed: points, and their probability.
    at, chance, before, levels = np.zeros(1), np.ones(1), 0.0, []
    for now, share in zip(fraction, allowed, strict=True):
        step = math.sqrt(now - before)
        bound = brentq(_crossed, 0.0, WIDEST, (at, chance, step, share), xtol=1e-12)
        levels.append(2 * float(ndtr(-bound / math.sqrt(now))))
        to = bound * unit
        density = np.exp(-(((to[:, None] - at) / step) ** 2) / 2) @ chance
        at, chance = to, density * weight * bound / (step * math.sqrt(2 * math.pi))
        before = now
    return tuple(levels)


def _crossed(bound: float, at: Floats, chance: Floats, step: float, share: float) -> float:
    """Return the probability that a walk from these points ends outside, less a share of it."""
    outside = ndtr((-bound - at) / step) + ndtr((at - bound) / step)
    return float(chance @ outside) - share


def sequential_pvalues(pvalues: Floats, fraction: Floats) -> Floats:
    """Return the smallest alpha at which the plan has crossed by each of its first looks.

    Between 1e-8 and 1. `fraction` has all looks of the plan; NaN is a look without a p-value.
    """
    at_looks = np.ones(len(pvalues))
    for look, pvalue in enumerate(pvalues):
        levels = _level_curves(tuple(map(float, fraction)))[:, look]
        if pvalue <= levels[-1]:
            curve = PchipInterpolator(np.log(levels), np.log(ALPHAS))
            at_looks[look] = math.exp(curve(math.log(max(pvalue, levels[0]))))
    return np.minimum.accumulate(at_looks)


@lru_cache(maxsize=32)
def _level_curves(fraction: tuple[float, ...]) -> Floats:
    """Return the levels of all looks at each of `ALPHAS`, shape (n_alphas, n_looks)."""
    return np.array([_levels(fraction, float(alpha)) for alpha in ALPHAS])
