"""The chance that choices act on, read off bets whose stakes rise against a stated chance.

Beyond Tang and Kejriwal, whose bets all have even chances. Somebody who acts on the probability q of the winning side, and wants to gain, bets on it
as long as the stake's break-even chance lies below q. So q is where the choices switch, and can be compared with the probability that was stated.
The switch may be gradual: the chance of betting is logistic in logit(q) - logit(break-even), with a steepness shared by all stated chances.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special, stats
from scipy.special import expit, log_expit, logit

from coherence.inputs import Floats, require

FITTED, BELOW, ABOVE, FLAT = "fitted", "below the ladder", "above the ladder", "no response to stakes"
_STEEPNESS: Floats = np.geomspace(0.05, 400, 45)
"""Up to a switch that is sharper than any ladder can tell from a jump."""
_GRID: Floats = np.linspace(-7, 7, 351)


@dataclass(frozen=True, eq=False)
class LadderFit:
    """Implied probabilities beside the stated ones.

    Parameters
    ----------
    table : DataFrame
        One row per stated chance: ``stated``, ``n``, ``share`` (of bets taken), ``implied`` (where the choices switch; NaN where they do not
        within the ladder), ``low``, ``high`` (95%), ``status``: "fitted", "below the ladder" or "above the ladder" (the switch would lie outside
        the break-even chances that were offered), or "no response to stakes".
    steepness : float
        Slope of the logistic in logits of the break-even chance, common to all stated chances; the largest tried where every switch is a jump,
        NaN where nothing switches.
    contradicted : int
        How many intervals do not hold the stated chance.
    """

    table: pd.DataFrame
    steepness: float
    contradicted: int


def fit_ladder(stated: ArrayLike, break_even: ArrayLike, bets: ArrayLike, *, level: float = 0.95) -> LadderFit:
    """Fit the chance at which choices switch from betting to not betting, for every stated chance.

    Parameters
    ----------
    stated : array-like, shape (n,)
        Stated chances of the winning side, in (0, 1).
    break_even : array-like, shape (n,)
        Chances at which each bet gains nothing, in (0, 1).
    bets : array-like of bool, shape (n,)
        Whether the winning side was bet on.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    LadderFit
        Intervals by inverted likelihood-ratio tests with the steepness profiled out. They reach to 0 or 1 where nobody switches, and span the
        gap between two stakes where the switch is a jump. Where choices do not follow the stakes (a likelihood-ratio test against one share of
        bets per stated chance keeps the latter at the same level), they show no probability: nothing is fitted, and intervals are [0, 1].

    Raises
    ------
    InputError
        Unequal lengths, no rows, or a chance outside (0, 1).

    Notes
    -----
    Assumes answers that are independent given stated and break-even chance. Answers of one deterministic model to reworded questions are not: the
    interval then describes these questions, not the model's answers to others.

    Examples
    --------
    >>> even = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    >>> fit = fit_ladder([0.5] * 9, even, [e < 0.5 for e in even])
    >>> round(float(fit.table.loc[0, "implied"]), 2), fit.table.loc[0, "status"]
    (0.45, 'fitted')
    """
    p, even = np.asarray(stated, dtype=np.float64), np.asarray(break_even, dtype=np.float64)
    taken = np.asarray(bets, dtype=bool)
    require(p.ndim == 1 and p.shape == even.shape == taken.shape and p.size > 0,
            f"stated, break_even and bets must have one equal length of at least 1; received {p.shape}, {even.shape}, {taken.shape}.")  # fmt: skip
    for name, values in (("stated", p), ("break_even", even)):
        wrong = ~((values > 0) & (values < 1))
        require(not wrong.any(), f"{name} must lie strictly between 0 and 1; {int(wrong.sum())} do not, the first is {values[wrong][:1]}.")
    chances = np.unique(p)
    # Log-likelihood of every stated chance by steepness and switching point.
    surfaces = np.stack([_surface(logit(even[p == chance]), taken[p == chance]) for chance in chances])
    by_steepness = surfaces.max(axis=2).sum(axis=0)
    steepest = int(np.flatnonzero(by_steepness >= by_steepness.max() - 1e-6)[-1])
    reach = float(stats.chi2.ppf(level, 1)) / 2
    rows = []
    flat = sum(_flat(taken[p == chance]) for chance in chances)
    responds = by_steepness.max() - flat > reach or not (taken.any() and not taken.all())
    for number, chance in enumerate(chances):
        here = p == chance
        others = by_steepness - surfaces[number].max(axis=1)
        profile = (surfaces[number] + others[:, None]).max(axis=0)
        row = {"stated": float(chance), "n": int(here.sum()), "share": float(taken[here].mean())}
        unknown = {"implied": float("nan"), "low": 0.0, "high": 1.0, "status": FLAT}
        rows.append(row | (_switch(profile, even[here], taken[here], reach) if responds else unknown))
    table = pd.DataFrame(rows)
    contradicted = int(((table["stated"] < table["low"]) | (table["stated"] > table["high"])).sum())
    switching = (table["status"] == FITTED).any()
    return LadderFit(table, float(_STEEPNESS[steepest]) if switching else float("nan"), contradicted)


def _surface(even: Floats, taken: np.ndarray) -> Floats:
    """Return log-likelihoods, shape (steepness, switching point); equal break-even chances are counted once."""
    values, place = np.unique(even, return_inverse=True)
    yes = np.bincount(place, weights=taken, minlength=values.size)
    no = np.bincount(place, weights=~taken, minlength=values.size)
    distance = _GRID[:, None] - values
    return np.stack([log_expit(slope * distance) @ yes + log_expit(-slope * distance) @ no for slope in _STEEPNESS])


def _flat(taken: np.ndarray) -> float:
    """Return the log-likelihood of one share of bets, whatever the stakes."""
    yes, no = int(taken.sum()), int((~taken).sum())
    return float(special.xlogy(yes, yes / taken.size) + special.xlogy(no, no / taken.size))


def _switch(profile: Floats, even: Floats, taken: np.ndarray, reach: float) -> dict[str, object]:
    kept = _GRID[profile >= profile.max() - reach]
    low = 0.0 if kept[0] == _GRID[0] else float(expit(kept[0]))
    high = 1.0 if kept[-1] == _GRID[-1] else float(expit(kept[-1]))
    best = float(expit(_GRID[profile >= profile.max() - 1e-6].mean()))
    if not taken.any() or best < even.min():
        return {"implied": float("nan"), "low": low, "high": high, "status": BELOW}
    if taken.all() or best > even.max():
        return {"implied": float("nan"), "low": low, "high": high, "status": ABOVE}
    last, first = even[taken].max(), even[~taken].min()
    # Where the switch is a jump any point of the gap is as likely, and its middle stands for them.
    implied = float(last + first) / 2 if last < first else best
    return {"implied": implied, "low": low, "high": high, "status": FITTED}
