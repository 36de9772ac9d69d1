"""The hidden shift: how much higher a belief must be acted on in one state to explain choices.

An agent that acts on belief + shift * (truth - 1/2) is the alternative that the weighted component
of the residual covariance is the score test of (Scheidegger, Hoerrmann and Buehlmann 2022 for the
weighing); the shift is estimated by solving that score equation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from coherence.inputs import Floats
from coherence.statistics.choice_model import fit_to_counts, merge_levels
from coherence.statistics.choices import ChoiceData
from coherence.statistics.residuals import Chooser, Residuals

BRACKETS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
STEP = 0.01  # half the width over which the steepness of the score equation is taken


@dataclass(frozen=True)
class Shift:
    """The hidden shift of one unit.

    Parameters
    ----------
    score : ndarray, shape (n,)
        Score of each row under the null.
    slope : ndarray, shape (n, n_actions)
        Weight of each action's residual in it.
    estimate, standard_error : float
        In units of belief; NaN where no shift is identified.
    low, high : float
        Ends of the 95% interval: the shifts that a score test does not reject, within -1 and 1.
    influence : ndarray, shape (n_contexts,)
        What each context moves the estimate by, the sum being 0; empty without an interval.
    """

    score: Floats
    slope: Floats
    estimate: float
    standard_error: float
    low: float = math.nan
    high: float = math.nan
    influence: Floats = field(default_factory=lambda: np.zeros(0))


def hidden_shift(
    data: ChoiceData, remains: Residuals, chooser: Chooser, *, ends: bool = True
) -> Shift:
    """Find the shift at which a shifted chooser explains the residual covariance that is seen.

    The score weighs the residual of each action by the slope of its log-probability and multiplies
    by the residual of the truth. An agent whose choice curve is c and who acts on belief + shift *
    (truth - 1/2) has an expected score of v * sum_a w_a [c_a(b + shift/2) - c_a(b - shift/2)], with
    v the variance of the truth given the belief; c is refitted for each shift, because the curve
    that one sees is a mixture of shifted ones. Both sides are equal at the estimate; at shift 0 the
    right side is 0 whatever c is.

    Parameters
    ----------
    data : ChoiceData
        Two states.
    remains : Residuals
        From `coherence.statistics.residuals.residuals`.
    chooser : Chooser
        From the same.
    ends : bool
        Whether to search the ends of the interval; without them there is no standard error either.

    Returns
    -------
    Shift
        With a standard error by the sandwich formula and an interval of the shifts at which the
        studentised score equation is not rejected, contexts as units.
    """
    truth = remains.truth[:, 0]
    slope = chooser.choice.log_slope(chooser.belief)
    score = (slope * remains.action).sum(axis=1) * truth
    level, centre = merge_levels(chooser.belief)
    n_actions = len(data.actions)
    counts = np.zeros((2, centre.size, n_actions))
    np.add.at(counts, (data.truth, level), data.share)
    weight, by_state = chooser.choice.log_slope(centre), counts.reshape(-1, n_actions)
    variance = truth**2

    def expected(shift: float) -> Floats:
        """Expected score per unit of variance at each level."""
        lower, upper = centre - shift / 2, centre + shift / 2
        curve = fit_to_counts(np.concatenate([lower, upper]), by_state, chooser.choice.degree)
        return np.asarray((weight * (curve.share(upper) - curve.share(lower))).sum(axis=1))

    variance_of_level = np.bincount(level, weights=variance, minlength=centre.size)
    total = float(score.sum())

    def excess(shift: float) -> float:
        return total - float(variance_of_level @ expected(shift))

    unidentified = Shift(score, slope, math.nan, math.nan)
    # Outwards from 0: far from the data the curve need not be monotone, and a root there would mean
    # nothing.
    inner = 0.0
    for outer in math.copysign(1.0, total) * np.array(BRACKETS):
        if excess(outer) * total <= 0:
            break
        inner = float(outer)
    else:
        return unidentified  # choices that hardly follow the belief
    estimate = float(brentq(excess, inner, outer, xtol=1e-5))
    if not ends:
        return Shift(score, slope, estimate, math.nan)
    steepness = (excess(estimate - STEP) - excess(estimate + STEP)) / (2 * STEP)
    if not steepness > 0:
        return unidentified
    n = data.n_contexts

    def influence(shift: float) -> Floats:
        per_row = score - variance * expected(shift)[level]
        return np.asarray(np.bincount(data.context, weights=per_row, minlength=n))

    def studentised(shift: float) -> float:
        of_contexts = influence(shift)
        error = math.sqrt(n) * float(of_contexts.std(ddof=1))
        return float(of_contexts.sum()) / error if error > 0 else 0.0

    # Delta method: the error of the score equation's left side, over its steepness.
    moves = influence(estimate) / steepness
    error = math.sqrt(float((moves**2).sum()) * n / (n - 1))
    reach = float(stats.t.ppf(0.975, n - 1))
    low, high = (_end(studentised, estimate, side * error, -side * reach) for side in (-1, 1))
    return Shift(score, slope, estimate, error, low, high, moves)


def _end(
    studentised: Callable[[float], float], estimate: float, step: float, quantile: float
) -> float:
    """Find where the studentised score passes a quantile, going out from the estimate.

    Near a step in the choices the score is no straight line in the shift: an interval by the error
    at the estimate would contradict the test.
    """
    if step == 0:
        return estimate
    inner, outer = estimate, estimate
    while abs(outer) < 1:
        inner, outer = outer, float(np.clip(outer + 2 * step, -1.0, 1.0))
        if (studentised(outer) - quantile) * quantile >= 0:
            return float(
                brentq(lambda shift: studentised(shift) - quantile, inner, outer, xtol=1e-5)
            )
        step *= 2
    return outer
