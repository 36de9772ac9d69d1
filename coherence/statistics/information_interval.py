"""Information centred on exchanges, and its interval by inversion.

Near independence the estimate is a sum of squares: under the null it is distributed like the
estimates after exchanges, a scaled chi square of many degrees of freedom, and beyond it like a
noncentral one, whose variance grows in proportion to the information. A normal interval with one
standard error is therefore wrong at both ends. This one holds every information at which the
estimate would not be unusual: its spread is that under exchange, plus what the jackknife says that
information adds; the shape of the upper tail is that of the noncentral chi square.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from coherence.inputs import Codes, Floats
from coherence.result import Interval
from coherence.statistics.information import BinnedCounts

METHOD = "inversion of a noncentral chi square, with spreads from exchanges and the jackknife"
SETTLED_ERROR = 1e-12  # rounding alone makes differences of this size between equal tables


@dataclass(frozen=True)
class CentredInformation:
    """Estimates in nats.

    Parameters
    ----------
    plug_in : float
        Estimate from the counts as they are, biased upwards.
    corrected : float
        Jackknife estimate.
    centre : float
        Mean of the jackknife estimate over exchanges.
    effect : float
        `corrected` less `centre`; 0 where exchanges change nothing. May be negative.
    interval : Interval or None
        Of `effect`, within [0, `most`]; None where exchanges change nothing.
    n_bins : int
        Belief bins used.
    """

    plug_in: float
    corrected: float
    centre: float
    effect: float
    interval: Interval | None
    n_bins: int


def information_interval(
    effect: float, spread: float, slope: float, freedom: float, n_contexts: int, *, most: float
) -> tuple[float, float]:
    """Return the 95% interval of an information.

    Parameters
    ----------
    effect : float
        Estimate, 0 on average under the null.
    spread : float
        Its standard deviation under the null, positive.
    slope : float
        What its variance gains per nat of information.
    freedom : float
        Degrees of freedom of the chi square that it is like under the null.
    n_contexts : int
        Contexts, at least 2: quantiles are widened as those of t with one fewer are.
    most : float
        Largest information there can be.

    Returns
    -------
    low, high : float
        Within [0, `most`].

    Examples
    --------
    >>> low, high = information_interval(0.03, 0.01, 0.005, 40, 1000, most=0.69)
    >>> round(low, 4), round(high, 4)
    (0.0056, 0.0721)
    """
    # Intervals of means widen from normal to t quantiles by this factor.
    normal = float(stats.norm.ppf(0.975))
    wider = float(stats.t.ppf(0.975, n_contexts - 1)) / normal

    def beyond(information: float) -> float:
        """Highest estimate that would not be unusual, less the estimate."""
        variance = spread**2 + slope * information
        # Noncentrality whose variance, 2 (freedom + 2 noncentrality), grows at the same rate.
        noncentral = freedom / 2 * (variance / spread**2 - 1)
        quantile = float(
            stats.ncx2.ppf(0.975, freedom, noncentral)
            if noncentral > 1e-9
            else stats.chi2.ppf(0.975, freedom)
        )
        unusual = (quantile - freedom - noncentral) / math.sqrt(2 * freedom + 4 * noncentral)
        return information + wider * unusual * math.sqrt(variance) - effect

    low = 0.0 if beyond(0.0) >= 0 else most
    if low and beyond(most) > 0:
        low = float(brentq(beyond, 0.0, most, xtol=1e-12))
    # The lower tail is shorter than a normal one; that is not relied upon. An estimate below 0
    # says no more than one of 0: the information cannot be smaller.
    reach, estimate = wider * normal, max(effect, 0.0)
    half = slope * reach**2 / 2
    high = estimate + half + math.sqrt((reach * spread) ** 2 + half**2 + 2 * half * estimate)
    return low, min(high, most)


def centred_information(
    counts: BinnedCounts, state: Codes, exchanged: Codes, plug_ins: Floats, *, most: float
) -> CentredInformation:
    """Centre the information on exchanges.

    What the jackknife leaves of the bias (much, where few contexts leave the choice that all others
    of their bin make) is in the mean over exchanges.

    Parameters
    ----------
    counts : BinnedCounts
        Counts in bins for any arrangement.
    state : ndarray of int, shape (n_contexts,)
        Realised states.
    exchanged : ndarray of int, shape (n_exchanges, n_contexts)
        States after some exchanges.
    plug_ins : ndarray, shape (n,)
        Plug-in information after exchanges, these or more; their shape tells that of the null.
    most : float
        Largest information there can be.

    Returns
    -------
    CentredInformation
        The estimates.
    """
    observed = counts.estimate(state)
    permuted = np.array([counts.estimate(states).corrected for states in exchanged])
    centre, spread = float(permuted.mean()), float(permuted.std())
    parts = (observed.plug_in, observed.corrected, centre)
    if max(spread, observed.standard_error) < SETTLED_ERROR:
        return CentredInformation(*parts, 0.0, None, observed.n_bins)
    effect = observed.corrected - centre
    # Few exchanges may all leave the counts as they are; the jackknife is then all there is.
    spread = spread if spread > SETTLED_ERROR else observed.standard_error
    mean, variance = float(plug_ins.mean()), float(plug_ins.var())
    # A chi square of mean f and variance 2 f, scaled: the scale is variance / (2 mean), and a
    # noncentrality adds 4 times the scale to the variance per unit of what it adds to the mean.
    usable = mean > SETTLED_ERROR and variance > SETTLED_ERROR**2
    freedom = 2 * mean**2 / variance if usable else 1.0
    # By theory near the null, and by the jackknife far from it, where its error is no longer that
    # of a sum of squares; one spread of information weighs the theory.
    near = 2 * variance / mean if usable else 0.0
    beyond = max(observed.standard_error**2 - spread**2, 0.0)
    slope = (beyond + near * spread) / (max(effect, 0.0) + spread)
    low, high = information_interval(effect, spread, slope, freedom, state.size, most=most)
    return CentredInformation(*parts, effect, Interval(low, high, 0.95, METHOD), observed.n_bins)
