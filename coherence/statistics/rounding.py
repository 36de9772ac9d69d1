"""What rounded reports leave of the gap between a belief and an average of beliefs.

A coherent agent that answers in steps of .05 shows gaps: the rounding errors of its belief, of the
beliefs given z and of P(z). Repetitions that round alike do not average them away. Their size is
computed from the reports: true values are drawn from what each report may stand for, the belief
follows from them, is moved by a normal gap of some size and rounded in turn. The size of the true
gap is the one that explains the mean square that was seen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, stats
from scipy.stats import qmc

from coherence.inputs import Codes, Floats
from coherence.result import Interval
from coherence.statistics.grid_mixture import CONTINUOUS, grid_weights
from coherence.statistics.mean_interval import METHOD, mean_interval, why_none
from coherence.statistics.report_grid import (
    draw_true_values,
    mixture_weights,
    rounding_error,
)

ROUNDING_METHOD = f"inverted for the gap before rounding, {METHOD}"
_MOST_DRAWS = 128
_MOST_NUMBERS = 1_000_000  # of all draws of a table together
_WIDEST = 2.0  # no gap between probabilities is wider than 1; twice that ends the search
SHAPES = ("normal", "equal")
"""What true gaps may be: of normal size, or all of one size."""
_SPREADS = (0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 20.0)  # in steps


@dataclass(frozen=True)
class Reports:
    """Reports of one kind of column.

    Parameters
    ----------
    value : ndarray, shape (n,)
        Reports in [0, 1].
    unit : ndarray of int, shape (n,)
        What has one true value; codes without gaps.
    """

    value: Floats
    unit: Codes

    def grid(self) -> dict[float, float]:
        """Fit the grid of the reports, of which each different one of a unit counts once."""
        different = np.unique(np.stack([self.unit, np.round(self.value, 9)]), axis=1)
        return grid_weights(different[1])


@dataclass(frozen=True)
class Parts:
    """The reports behind gaps p - sum_z P(z) p(z).

    Parameters
    ----------
    belief, given, weight : Reports
        Reports of p, of p(z) and of P(z); units of the latter two are pieces.
    gap_of_piece : ndarray of int, shape (n_pieces,)
        Gap to which each piece belongs.
    state_of_piece : ndarray of int, shape (n_pieces,)
        Number of the piece within its gap.
    belief_of_gap : ndarray of int, shape (n_gaps,)
        Unit of p of each gap.
    sums_to_one : ndarray of bool, shape (n_gaps,)
        Whether two stated P(z) complement each other, so that they were rounded together.
    """

    belief: Reports
    given: Reports
    weight: Reports
    gap_of_piece: Codes
    state_of_piece: Codes
    belief_of_gap: Codes
    sums_to_one: Floats

    def grids(self) -> dict[str, dict[float, float]]:
        """Return the mixture of grids of every kind of column."""
        # Of two weights that complement each other one alone tells of the grid.
        twice = self.sums_to_one[self.gap_of_piece].astype(bool) & (self.state_of_piece == 1)
        once = Reports(*_only(self.weight, np.flatnonzero(~twice)))
        kinds = {"p": self.belief, "p given z": self.given, "p_z": once}
        return {kind: reports.grid() for kind, reports in kinds.items()}


def rounded(grids: dict[str, dict[float, float]]) -> bool:
    """Tell whether any kind of column shows a grid."""
    return any(step != CONTINUOUS for weights in grids.values() for step in weights)


def expected_squares(
    parts: Parts, grids: dict[str, dict[float, float]], *, repeated: bool
) -> Callable[[float, str], Floats]:
    """Prepare the expected squared gap between expected reports.

    Parameters
    ----------
    parts : Parts
        The reports.
    grids : dict
        From `Parts.grids`.
    repeated : bool
        Whether units were asked repeatedly; else scatter counts as part of the gap.

    Returns
    -------
    callable
        Root-mean-square gap before rounding and one of `SHAPES` -> expected squared gap, shape
        (n_gaps,).
    """
    n_gaps = parts.belief_of_gap.size
    n_states = int(parts.state_of_piece.max()) + 1
    room = _MOST_NUMBERS // max(n_gaps, 1)
    n_draws = 2 ** int(math.log2(min(max(room, 16), _MOST_DRAWS)))
    # The same points for every gap: names and order of contexts change nothing.
    points = qmc.Sobol(4 * n_states + 3, seed=0).random(n_draws)
    normal = stats.norm.ppf(np.clip(points[:, 0], 1e-9, 1 - 1e-9))
    sizes = {"normal": (normal - normal.mean()) / normal.std(), "equal": np.sign(normal)}

    belief = draw_true_values(
        parts.belief.value, parts.belief.unit, grids["p"], points[:, 1:3], repeated=repeated
    )
    total, truly, stated = (np.zeros((n_gaps, n_draws)) for _ in range(3))
    reported = np.zeros((n_gaps, n_draws))
    first, start = np.zeros((2, n_gaps, n_draws))
    odds = np.ones((n_gaps, n_draws))
    for state in range(n_states):
        pieces = np.flatnonzero(parts.state_of_piece == state)
        gap = parts.gap_of_piece[pieces]
        values = []
        for kind, reports, at in (
            ("p given z", parts.given, 3 + 4 * state),
            ("p_z", parts.weight, 5 + 4 * state),
        ):
            some, code = _only(reports, pieces)
            values.append(
                draw_true_values(some, code, grids[kind], points[:, at : at + 2], repeated=repeated)
            )
        given, weight = values
        if state == 0:
            start[gap] = given.value
        else:
            apart = given.value - start[gap]
            odds[gap] *= _density_of_differences(apart, given.step)
        share, share_stated = weight.value, weight.expected()
        if state == 1:
            # Of two weights that complement each other the second is no rounding of its own.
            whole = parts.sums_to_one[gap][:, None]
            share = np.where(whole, 1 - first[gap], share)
            share_stated = np.where(whole, 1 - stated[gap], share_stated)
        share = np.maximum(share, 0.0)
        if state == 0:
            first[gap] = share
        total[gap] += share
        truly[gap] += share * given.value
        stated[gap] += share_stated
        reported[gap] += share_stated * given.expected()
    coherent = truly / np.maximum(total, 1e-12)
    average = reported / np.maximum(stated, 1e-12)
    odds /= odds.sum(axis=1, keepdims=True)
    step, scatter = belief.step[parts.belief_of_gap], belief.scatter[parts.belief_of_gap]

    def squares(root: float, shape: str) -> Floats:
        moved = coherent + root * sizes[shape]
        gap = moved + rounding_error(moved, step, scatter) - average
        return np.asarray((odds * gap**2).sum(axis=1))

    return squares


def _density_of_differences(apart: Floats, step: Floats) -> Floats:
    """Weigh draws by how likely beliefs given two states of z lie so far apart.

    Beliefs that hardly depend on z lie in the same step, or on both sides of its end; independent
    draws from two steps would take them apart. A mixture of normal differences is fitted.

    Parameters
    ----------
    apart : ndarray, shape (n_gaps, n_draws)
        Differences of draws.
    step : ndarray, shape (n_gaps, n_draws)
        Steps of the grid, 0 where there is none.

    Returns
    -------
    ndarray, shape (n_gaps, n_draws)
        Densities.
    """
    unit = float(np.median(step[step > 0])) if (step > 0).any() else 1.0
    scales = unit * np.array(_SPREADS)[:, None, None]
    density = np.exp(-0.5 * (apart / scales) ** 2) / scales
    of_gap = np.maximum(density.mean(axis=2), 1e-300)
    n_gaps = of_gap.shape[1]
    weights = mixture_weights(of_gap, np.full(n_gaps, 1 / n_gaps), n_steps=100)
    return np.asarray(np.tensordot(weights, density, 1))


def _only(reports: Reports, units: Codes) -> tuple[Floats, Codes]:
    """Reports of some units, numbered in their order."""
    code = np.full(int(reports.unit.max()) + 1, -1)
    code[units] = np.arange(units.size)
    kept = code[reports.unit] >= 0
    return reports.value[kept], code[reports.unit[kept]]


def root_before_rounding(
    square: Floats, expected: Callable[[float, str], Floats]
) -> tuple[float, Interval | None, str]:
    """Estimate the root-mean-square gap before rounding.

    Rounded reports do not tell gaps that are all of one size from gaps that vary; where the grid is
    wide the two are rounded differently. The estimate is the mean of both, the interval holds both.

    Parameters
    ----------
    square : ndarray, shape (n_contexts,)
        Unbiased squared gap of each context.
    expected : callable
        Root-mean-square gap before rounding and one of `SHAPES` -> expectation, shape
        (n_contexts,).

    Returns
    -------
    root : float
        The gap that explains the mean; 0 where rounding explains all of it.
    interval : Interval or None
        Every gap that an interval for the mean difference does not exclude. A mean below what
        rounding alone gives counts as that: it does not prove that there is no gap.
    reason : str
        Why there is no interval.
    """
    at_zero = square - expected(0.0, SHAPES[0])
    solutions = [_solve(square, _of_shape(expected, shape)) for shape in SHAPES]
    root = float(np.mean([solution[0] for solution in solutions]))
    if mean_interval(at_zero) is None:
        return root, None, why_none(at_zero, "gap")
    low, high = min(each[1] for each in solutions), max(each[2] for each in solutions)
    return root, Interval(low, high, 0.95, ROUNDING_METHOD), ""


def root_alone(square: Floats, expected: Callable[[float, str], Floats]) -> float:
    """Estimate the root-mean-square gap of `root_before_rounding` without its interval."""

    def of(shape: str) -> float:
        def rest(root: float) -> float:
            return float((square - expected(root, shape)).mean())

        return 0.0 if rest(0.0) <= 0 else float(optimize.brentq(rest, 0.0, _WIDEST, xtol=1e-7))

    return float(np.mean([of(shape) for shape in SHAPES]))


def _of_shape(expected: Callable[[float, str], Floats], shape: str) -> Callable[[float], Floats]:
    return lambda root: expected(root, shape)


def _solve(square: Floats, expected: Callable[[float], Floats]) -> tuple[float, float, float]:
    """Return the gap at which the mean, and either end of its interval, is explained."""
    lacking = min(float((square - expected(0.0)).mean()), 0.0)

    @cache
    def ends(root: float) -> tuple[float, float, float]:
        rest = square - expected(root)
        mean, interval = float(rest.mean()), mean_interval(rest)
        low, high = (mean, mean) if interval is None else (interval.low, interval.high)
        return mean, low, high - lacking

    def crossing(position: int) -> float:
        """Where a falling function of the gap comes to 0."""
        if ends(0.0)[position] <= 0:
            return 0.0
        crossed: float = optimize.brentq(lambda root: ends(root)[position], 0.0, _WIDEST, xtol=1e-7)
        return crossed

    return crossing(0), crossing(1), crossing(2)
