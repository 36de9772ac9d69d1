"""The chance that choices act on, read off bets whose stakes rise against a stated chance.

Beyond Tang and Kejriwal, whose bets all have even chances. Somebody who acts on the probability q
of the winning side, and wants to gain, bets on it as long as the stake's break-even chance lies
below q. So q is where the choices switch, and can be compared with the probability that was stated.
The switch may be gradual: the chance of betting is logistic in logit(q) - logit(break-even), with a
steepness shared by all stated chances.

Answers about the same things are no independent evidence: whoever overrates a thing accepts higher
stakes on it throughout. So the intervals are the wider of two: the one that a likelihood gives to
independent answers, and one from a jackknife that leaves out one thing at a time.

Somebody who acts on w(p) where p is stated weights probabilities. Over a ladder's chances the
weighting function is summarised as linear in log odds, logit w(p) = elevation + sensitivity logit p
(Gonzalez and Wu 1999; Zhang and Maloney 2012): elevation 0 and sensitivity 1 leave every
probability as it is, a sensitivity below 1 is the inverse S that people show, and a positive
elevation is optimism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special, stats
from scipy.special import expit, log_expit, logit

from coherence.inputs import (
    Codes,
    Floats,
    as_codes,
    as_numbers,
    check_level,
    require,
    require_yes_no,
)
from coherence.result import Interval

INDEPENDENT, PAIRS = "every answer by itself", "pairs of things"
CROSSED = "high and low things, crossed"


def _units(
    first: ArrayLike | None, second: ArrayLike | None, n: int
) -> tuple[str, tuple[Codes, ...]]:
    """Return what is independent, and the codes of the clusters, an array per kind of cluster."""
    require((first is None) == (second is None), "first and second must both be given, or neither.")
    if first is None or second is None:
        return INDEPENDENT, ()
    high, low = as_codes(first, "first", n)[0], as_codes(second, "second", n)[0]
    n_high, n_low = int(high.max()) + 1, int(low.max()) + 1
    require(
        min(n_high, n_low) > 1,
        "first and second must hold two or more different things each; "
        f"they hold {n_high} and {n_low}.",
    )
    n_pairs = np.unique(high * n_low + low).size
    return (PAIRS, (high,)) if n_pairs == n_high == n_low else (CROSSED, (high, low))


@dataclass(frozen=True)
class Weighting:
    """The line of implied on stated log odds."""

    # logit of the probability acted on where one half is stated; NaN, as the rest, with fewer than
    # two stated chances at which choices switch
    elevation: float
    sensitivity: float  # slope
    # elevation_interval, sensitivity_interval: in the same units
    elevation_interval: Interval
    sensitivity_interval: Interval
    # two-sided, of the hypothesis that implied and stated probabilities are equal (elevation 0 and
    # sensitivity 1), Bonferroni over the two
    pvalue: float
    n_chances: int  # stated chances at which choices switch


def weighting_line(
    stated: Floats,
    switches: Floats,
    errors: Floats,
    leans: Floats,
    leave_outs: Sequence[Floats],
    *,
    freedom: float,
    level: float = 0.95,
) -> Weighting:
    """Fit the line by least squares, with standard errors by the jackknife."""
    check_level(level)
    if stated.size < 2:
        nothing = Interval(math.nan, math.nan, level)
        return Weighting(math.nan, math.nan, nothing, nothing, math.nan, int(stated.size))
    # Rows: by how much each switch moves elevation and sensitivity.
    weights = np.linalg.pinv(np.column_stack([np.ones_like(stated), stated]))
    estimate = weights @ switches
    variance = weights**2 @ errors**2
    for without in leave_outs:
        # The line without one thing at a time: the jackknife, whose variance is n - 1 times that of
        # the estimates.
        variance += (len(without) - 1) * (without @ weights.T).var(axis=0)
    error, lean = np.sqrt(variance), np.abs(weights) @ leans
    reach = lean + float(stats.t.ppf((1 + level) / 2, freedom)) * error
    intervals = [
        Interval(float(e - r), float(e + r), level, "jackknife over things")
        for e, r in zip(estimate, reach, strict=True)
    ]
    # What the rungs alone may have moved is no evidence against the diagonal.
    gaps = np.maximum(np.abs(estimate - [0.0, 1.0]) - lean, 0)
    # A ladder's rungs leave some error in any case, so that no gap is divided by 0.
    pvalue = float(min(1.0, 2 * (2 * stats.t.sf(gaps / error, freedom)).min()))
    return Weighting(
        float(estimate[0]), float(estimate[1]), intervals[0], intervals[1], pvalue, int(stated.size)
    )


FITTED, FLAT = "fitted", "no response to stakes"
BELOW, ABOVE = "below the ladder", "above the ladder"
STEEPNESS: Floats = np.geomspace(0.05, 400, 45)
"""Up to a switch that is sharper than any ladder can tell from a jump."""
_GRID: Floats = np.linspace(-7, 7, 351)  # switching points: chances of .001 to .999, in logits
_TIE = 1e-6  # log-likelihoods that differ by less are equally large
_SAME = 1e-6  # rungs are computed from stakes, and miss a stated chance by rounding
_BLOCK = 256  # rungs at a time: things at many prices give many


@dataclass(frozen=True, eq=False)
class LadderFit:
    """Implied probabilities beside the stated ones."""

    # one row per stated chance: ``stated``, ``n``, ``share`` (of bets taken), ``implied`` (where
    # the choices switch; NaN where they do not within the ladder), ``low``, ``high`` (95%),
    # ``status``: "fitted", "below the ladder" or "above the ladder" (the switch would lie outside
    # the break-even chances that were offered), or "no response to stakes"
    table: pd.DataFrame
    # slope of the logistic in logits of the break-even chance, common to all stated chances; the
    # largest tried where every switch is a jump, NaN where nothing switches
    steepness: float
    contradicted: int  # how many intervals do not hold the stated chance
    # all stated chances in one line: are implied and stated probabilities equal?
    weighting: Weighting
    # what was taken as independent: every answer, pairs of things, or high and low things that are
    # crossed
    unit: str


def fit_ladder(
    stated: ArrayLike,
    break_even: ArrayLike,
    bets: ArrayLike,
    *,
    first: ArrayLike | None = None,
    second: ArrayLike | None = None,
    level: float = 0.95,
) -> LadderFit:
    """Fit the chance at which choices switch from betting to not betting, for every stated chance.

    Parameters
    ----------
    stated : array-like, shape (n,)
        Stated chances of the winning side, in (0, 1).
    break_even : array-like, shape (n,)
        Chances at which each bet gains nothing, in (0, 1).
    bets : array-like of bool, shape (n,)
        Whether the winning side was bet on.
    first, second : array-like, shape (n,), optional
        The high and the low thing of each bet; without them answers are taken as independent.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    LadderFit
        Intervals by inverted likelihood-ratio tests with the steepness profiled out. They reach to
        0 or 1 where nobody switches, and span the gap between two stakes where the switch is a
        jump. Where choices do not follow the stakes (a likelihood-ratio test against one share of
        bets per stated chance keeps the latter at the same level, or with things a score test of
        the steepness), they show no probability: nothing is fitted, and intervals are [0, 1].

    Raises
    ------
    InputError
        Unequal lengths, no rows, a chance outside (0, 1), a bet that is neither 0 nor 1, or only
        one of `first` and `second`.

    Notes
    -----
    With things, log-likelihood ratios are compared with the F distribution of as many degrees of
    freedom as there are things of the scarcer kind, less one, and the interval reaches at least so
    far as Student's t with the jackknife's standard error of the switching point, in logits (Efron
    and Stein 1981; it errs on the wide side). Where high and low things are crossed, the variances
    of both jackknives are added up. The target is the switching point of things like these. An
    interval is never narrower than the two break-even chances around the switch.

    Examples
    --------
    >>> even = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    >>> fit = fit_ladder([0.5] * 9, even, [e < 0.5 for e in even])
    >>> round(float(fit.table.loc[0, "implied"]), 2), fit.table.loc[0, "status"]
    (0.45, 'fitted')
    """
    check_level(level)
    p, even = as_numbers(stated, "stated"), as_numbers(break_even, "break_even")
    answers = as_numbers(bets, "bets")
    require_yes_no(answers, "bets")
    taken = answers != 0
    require(
        p.ndim == 1 and p.shape == even.shape == taken.shape and p.size > 0,
        "stated, break_even and bets must have one equal length of at least 1; "
        f"received {p.shape}, {even.shape}, {taken.shape}.",
    )
    for name, values in (("stated", p), ("break_even", even)):
        wrong = ~((values > 0) & (values < 1))
        require(
            not wrong.any(),
            f"{name} must lie strictly between 0 and 1; {int(wrong.sum())} do not, "
            f"the first is {values[wrong][:1]}.",
        )
    unit, sides = _units(first, second, p.size)
    # Clusters of the scarcer kind, less one, which is their largest code.
    freedom = min((int(side.max()) for side in sides), default=np.inf)
    quantile = float(stats.t.ppf((1 + level) / 2, freedom))
    # How far a log-likelihood may lie below its maximum. Without things as Wilks says: twice the
    # ratio is chi-squared, a squared normal; with few things a squared t takes its place.
    reach = quantile**2 / 2
    chances = np.unique(p)
    # Log-likelihood of every stated chance by steepness and switching point.
    surfaces = _surfaces(p, even, taken, chances)
    by_steepness = surfaces.max(axis=2).sum(axis=0)
    # Jumps of any sharpness are equally likely: then it is the sharpest that was tried.
    steepest = int(np.flatnonzero(by_steepness >= by_steepness.max() - _TIE)[-1])
    profiles = _profiles(surfaces)
    # Without one thing at a time, for every kind of thing. What a thing adds to the log-likelihood
    # is taken off, which is faster than to fit the others anew.
    leave_outs = []
    for side in sides:
        without = [
            _profiles(surfaces - _surfaces(p[rows], even[rows], taken[rows], chances))
            for rows in pd.Series(side).groupby(side).indices.values()
        ]
        leave_outs.append(np.array([[_middle(row) for row in profile] for profile in without]))
    # The jackknife's variance is (n - 1) / n times the sum of squares (Efron and Stein 1981).
    variances = [(len(without) - 1) * without.var(axis=0) for without in leave_outs]
    errors = np.sqrt(sum(variances, np.zeros(chances.size)))
    responds = _responds(p, even, taken, sides, by_steepness.max(), quantile)
    rows = []
    for number, chance in enumerate(chances):
        here = p == chance
        row = {"stated": float(chance), "n": int(here.sum()), "share": float(taken[here].mean())}
        switch = {"implied": math.nan, "low": 0.0, "high": 1.0, "status": FLAT}
        if responds:
            width = quantile * errors[number]
            switch = _switch(profiles[number], even[here], taken[here], reach, width)
        rows.append(row | switch)
    table = pd.DataFrame(rows)
    contradicted = int(((table["stated"] < table["low"]) | (table["stated"] > table["high"])).sum())
    fitted = (table["status"] == FITTED).to_numpy()
    weighting = weighting_line(
        logit(chances[fitted]),
        logit(table["implied"].to_numpy()[fitted]),
        _rung_errors(table[fitted], even, quantile, independent=not leave_outs),
        np.array([_lean(chance, even[p == chance]) for chance in chances[fitted]]),
        [without[:, fitted] for without in leave_outs],
        freedom=freedom,
        level=level,
    )
    steepness = float(STEEPNESS[steepest]) if fitted.any() else math.nan
    return LadderFit(table, steepness, contradicted, weighting, unit)


def _surfaces(stated: Floats, break_even: Floats, taken: np.ndarray, chances: Floats) -> Floats:
    """Return log-likelihoods, shape (stated chances, steepness, switching point)."""
    # Equal break-even chances are counted once: ladders have few rungs and many answers.
    values, rung = np.unique(break_even, return_inverse=True)
    counts = np.zeros((2, chances.size, values.size))
    np.add.at(counts, (taken.astype(np.int64), np.searchsorted(chances, stated), rung), 1.0)
    surfaces = np.zeros((chances.size, STEEPNESS.size, _GRID.size))
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        logits = STEEPNESS[:, None, None] * (_GRID[:, None] - logit(values[block]))
        yes = log_expit(logits)
        # log(1 - expit(x)) is log(expit(x)) - x, which loses no digits where expit(x) is near 1.
        surfaces += np.tensordot(counts[1, :, block], yes, (1, 2))
        surfaces += np.tensordot(counts[0, :, block], yes - logits, (1, 2))
    return surfaces


def _profiles(surfaces: Floats) -> Floats:
    """Profile over steepness and the other switching points, shape (stated chances, points)."""
    best = surfaces.max(axis=2)
    others = best.sum(axis=0) - best
    return np.asarray((surfaces + others[:, :, None]).max(axis=1))


def _responds(
    stated: Floats,
    break_even: Floats,
    taken: np.ndarray,
    sides: tuple[Codes, ...],
    likelihood: float,
    quantile: float,
) -> bool:
    """Tell whether choices follow the stakes, or are all the same, which shows a bound.

    The likelihood takes answers as independent. With things as clusters it takes a score test of
    the steepness at 0 as well.
    """
    if taken.all() or not taken.any():
        return True
    answers = pd.DataFrame({"taken": taken.astype(np.float64), "rung": logit(break_even)})
    means = answers.groupby(stated).transform("mean")
    # One share of bets per stated chance, whatever the stakes.
    yes, share = answers["taken"], means["taken"]
    flat = float((special.xlogy(yes, share) + special.xlog1py(1 - yes, -share)).sum())
    if likelihood - flat <= quantile**2 / 2:
        return False
    score = ((yes - share) * (means["rung"] - answers["rung"])).to_numpy()
    variance = 0.0
    for side in sides:
        sums = np.bincount(side, weights=score)
        # Crossed things: the variances over both kinds add up, as in `crossed_interval`.
        variance += sums.size * float(sums.var(ddof=1))
    return not sides or bool(score.sum() > quantile * math.sqrt(variance))


def _rung_errors(
    fitted: pd.DataFrame, even: Floats, quantile: float, *, independent: bool
) -> Floats:
    """Return what a switching point is uncertain by if the jackknife sees none of it.

    A standard deviation, in logits.
    """
    if independent:
        width = logit(fitted["high"]) - logit(fitted["low"])
        return np.asarray(width / 2 / quantile)
    rungs = np.unique(even)
    above = np.clip(np.searchsorted(rungs, fitted["implied"].to_numpy()), 1, rungs.size - 1)
    # Anywhere between two rungs: the standard deviation of a uniform distribution is its width
    # divided by the root of 12.
    return np.asarray(logit(rungs[above]) - logit(rungs[above - 1])) / math.sqrt(12)


def _lean(stated: float, even: Floats) -> float:
    """Return how far, in logits, the middle of a gap may lie from a stated chance in it."""
    rungs = np.unique(even)
    # A stated chance that is a rung is at the end of two gaps.
    within = (rungs[:-1] <= stated + _SAME) & (rungs[1:] >= stated - _SAME)
    middles = (rungs[:-1] + rungs[1:])[within] / 2
    return float(np.abs(logit(middles) - logit(stated)).max(initial=0.0))


def _middle(profile: Floats) -> float:
    """Return where a profile likelihood is largest; the middle of ties."""
    return float(_GRID[profile >= profile.max() - _TIE].mean())


def _switch(
    profile: Floats, even: Floats, taken: np.ndarray, reach: float, width: float
) -> dict[str, object]:
    """Return where the choices at one stated chance switch, with the interval and a status."""
    kept = _GRID[profile >= profile.max() - reach]
    middle = _middle(profile)
    low, high = min(kept[0], middle - width), max(kept[-1], middle + width)
    # An end at that of the grid is none: nothing speaks against a switch beyond it.
    low = 0.0 if low <= _GRID[0] else float(expit(low))
    high = 1.0 if high >= _GRID[-1] else float(expit(high))
    best = float(expit(middle))
    if not taken.any() or best < even.min():
        return {"implied": math.nan, "low": low, "high": high, "status": BELOW}
    if taken.all() or best > even.max():
        return {"implied": math.nan, "low": low, "high": high, "status": ABOVE}
    last, first = even[taken].max(), even[~taken].min()
    # Where the switch is a jump any point of the gap is as likely, and its middle stands for them.
    implied = float(last + first) / 2 if last < first else best
    # No ladder tells more than its rungs: answers about a thing switch somewhere between two.
    low = min(low, float(even[even <= implied].max()))
    high = max(high, float(even[even >= implied].min()))
    return {"implied": implied, "low": low, "high": high, "status": FITTED}
