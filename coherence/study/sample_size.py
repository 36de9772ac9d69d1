"""How many contexts a power takes: a search among simulated studies that allows for their error.

Sizes are doubled until the wanted power is passed; then studies are simulated around the size in
question, and the power is fitted by a probit in the root of the number of contexts, which is what
it is for a test that is normal in large samples. The interval of the size is Fieller's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from coherence.inputs import MIN_CONTEXTS, Floats
from coherence.statistics.shares import exact_interval

Count = Callable[[int, int], int]
"""Contexts, simulations -> how many of the first so many simulated studies reject."""

FEWEST_TRIED = 100  # simulations of a size that only shows the way
NEAR = (0.5, 1.3, math.inf)  # probits from the wanted power within which a line is fitted
FEWEST_SIZES = 3
SUREST = 3.0  # standard errors of a slope that is no accident
PRECISION = 0.1  # half the width of the interval, in its middle, at which the search ends
MOST_ROUNDS = 8
STEPS = (-0.5, 0.0, 0.5)  # probits from the wanted power at which a round simulates


@dataclass(frozen=True)
class Needed:
    """How many contexts a power takes.

    Parameters
    ----------
    n_contexts : float
        Contexts, a whole number; NaN where they are more than the limit.
    low, high : float
        95% interval for it, of the error of simulation; infinite where it has no end.
    reached : bool
        Whether the power is reached within the limit.
    sentence : str
        The same in words.
    tried : mapping
        Contexts -> (rejections, simulations).
    """

    n_contexts: float
    low: float
    high: float
    reached: bool
    sentence: str
    tried: dict[int, tuple[int, int]] = field(repr=False)


def contexts_for(
    count: Count, target: float, *, limit: int, n_simulations: int, start: int = 20
) -> Needed:
    """Search for the number of contexts with which a test has some power.

    Parameters
    ----------
    count : callable
        See `Count`. Power must rise with the number of contexts.
    target : float
        Power wanted, between 0 and 1.
    limit : int
        Most contexts that come into question.
    n_simulations : int
        Simulated studies of each size near the answer.
    start : int
        Contexts to begin with.

    Returns
    -------
    Needed
        The answer with an interval.

    Examples
    --------
    >>> sure = contexts_for(lambda n, trials: round(trials * min(1, n / 200)), 0.8, limit=1000,
    ...     n_simulations=1000)
    >>> 140 < sure.n_contexts < 180
    True
    """
    tried: dict[int, tuple[int, int]] = {}

    def look(n_contexts: int, n: int) -> float:
        known = tried.get(n_contexts, (0, 0))
        if known[1] < n:
            tried[n_contexts] = known = count(n_contexts, n), n
        return known[0] / known[1]

    few, size = min(FEWEST_TRIED, n_simulations), min(max(start, MIN_CONTEXTS), limit)
    while look(size, few) < target and size < limit:
        size = min(2 * size, limit)
    if size == limit and look(limit, n_simulations) < target:
        rejected, n = tried[limit]
        ends = exact_interval(rejected, n)
        # Even the power that simulation leaves possible is too small: nothing to search for.
        if ends[1] < target:
            return _not_reached(target, limit, rejected / n, ends, tried)
    if look(MIN_CONTEXTS, few) >= target:
        look(MIN_CONTEXTS, n_simulations)
        if exact_interval(*tried[MIN_CONTEXTS])[0] > target:
            said = (
                f"{target:.0%} power is reached with {MIN_CONTEXTS} contexts, the fewest of a test."
            )
            return Needed(MIN_CONTEXTS, MIN_CONTEXTS, MIN_CONTEXTS, True, said, tried)
    return _refined(look, target, limit, n_simulations, tried)


def _refined(
    look: Callable[[int, int], float],
    target: float,
    limit: int,
    n_simulations: int,
    tried: dict[int, tuple[int, int]],
) -> Needed:
    """Simulate around the size in question until its interval is narrow."""
    root, low, high = math.nan, 0.0, math.inf
    # Simulations are few at first, where it is not known yet where they are wanted.
    for n in np.linspace(min(FEWEST_TRIED, n_simulations), n_simulations, MOST_ROUNDS).astype(int):
        line = _line(tried, target)
        for step in STEPS:
            at = line.size_of(stats.norm.ppf(target) + step)
            known = math.isfinite(at)
            look(int(np.clip(round(at) if known else limit, MIN_CONTEXTS, limit)), int(n))
        line = _line(tried, target)
        root, (low, high) = line.size_of(stats.norm.ppf(target)), line.interval(target)
        if high - low <= 2 * PRECISION * root:
            break
    if not root <= limit:
        share = look(limit, n_simulations)
        return _not_reached(target, limit, share, exact_interval(*tried[limit]), tried)
    answer = float(max(math.ceil(root - 1e-9), MIN_CONTEXTS))
    low, high = max(math.floor(low), MIN_CONTEXTS), math.ceil(high) if math.isfinite(high) else high
    to = f"{high:,.0f}" if math.isfinite(high) else "any number"
    said = f"{target:.0%} power takes about {answer:,.0f} contexts (95% interval {low:,} to {to})."
    return Needed(answer, float(low), float(high), True, said, tried)


def _not_reached(
    target: float,
    limit: int,
    share: float,
    ends: tuple[float, float],
    tried: dict[int, tuple[int, int]],
) -> Needed:
    said = (
        f"{target:.0%} power is not reached with {limit:,} contexts: the power there is "
        f"{share:.2f} (95% interval {ends[0]:.2f} to {ends[1]:.2f})."
    )
    return Needed(math.nan, float(limit), math.inf, False, said, tried)


@dataclass(frozen=True)
class _Line:
    """Probit of the power, a straight line in the root of the number of contexts."""

    start: float
    slope: float
    covariance: Floats

    def size_of(self, probit: float) -> float:
        """Return the number of contexts at which the line reaches a probit; infinite if nowhere."""
        if not self.slope > 0:
            return math.inf
        return float(max((probit - self.start) / self.slope, 0.0) ** 2)

    def interval(self, target: float) -> tuple[float, float]:
        """Return Fieller's 95% interval for the number of contexts with the power wanted."""
        probit, reach = stats.norm.ppf(target), stats.norm.ppf(0.975)
        (vertical, both), (_, along) = self.covariance
        # Roots x of (start + slope x - probit)^2 = reach^2 (vertical + 2 both x + along x^2).
        square = self.slope**2 - reach**2 * along
        half = self.slope * (self.start - probit) - reach**2 * both
        rest = (self.start - probit) ** 2 - reach**2 * vertical
        inner = half**2 - square * rest
        if not (square > 0 and self.slope > 0 and inner >= 0):
            return 0.0, math.inf
        ends = [(-half + side * math.sqrt(inner)) / square for side in (-1, 1)]
        low, high = (max(end, 0.0) ** 2 for end in ends)
        return low, high


def _line(tried: dict[int, tuple[int, int]], target: float) -> _Line:
    """Fit the line to the sizes near the power wanted, by maximum likelihood.

    The nearer they are, the less it matters that the curve may bend; but a line needs three sizes
    at least, and a slope that is no accident.
    """
    sizes = np.array(sorted(tried), dtype=np.float64)
    counts = np.array([tried[int(size)] for size in sizes], dtype=np.float64)
    # Half a rejection more and less: a share of 0 or 1 has no probit.
    probit = stats.norm.ppf((counts[:, 0] + 0.5) / (counts[:, 1] + 1))
    away = np.abs(probit - stats.norm.ppf(target))
    line = None
    for reach in NEAR:
        near = away <= reach
        if near.sum() < FEWEST_SIZES:
            continue
        line = _probit_fit(np.sqrt(sizes[near]), counts[near, 0], counts[near, 1], probit[near])
        if line.slope > SUREST * math.sqrt(line.covariance[1, 1]):
            return line
    return line or _probit_fit(np.sqrt(sizes), counts[:, 0], counts[:, 1], probit)


def _probit_fit(root: Floats, rejected: Floats, n: Floats, probit: Floats) -> _Line:
    design = np.stack([np.ones_like(root), root], axis=1)
    line: Floats = np.asarray(np.linalg.lstsq(design, probit, rcond=None)[0], dtype=np.float64)
    information = np.eye(2)
    for _ in range(25):
        linear = np.clip(design @ line, -6.0, 6.0)
        power, density = stats.norm.cdf(linear), stats.norm.pdf(linear)
        variance = np.clip(power * (1 - power), 1e-9, None)
        information = (design.T * (n * density**2 / variance)) @ design
        information += 1e-9 * np.trace(information) * np.eye(2)
        step = np.linalg.solve(
            information, design.T @ ((rejected - n * power) * density / variance)
        )
        line = line + step
        if np.abs(step).max() < 1e-8:
            break
    linear = np.clip(design @ line, -6.0, 6.0)
    power = stats.norm.cdf(linear)
    # Where the line does not fit, simulations scatter more about it than they do by chance.
    misfit = ((rejected - n * power) ** 2 / np.clip(n * power * (1 - power), 1e-9, None)).sum()
    spread = max(1.0, float(misfit) / max(root.size - 2, 1))
    return _Line(float(line[0]), float(line[1]), np.asarray(spread * np.linalg.inv(information)))
