"""Monotone pairwise choice: among two actions, the share of one must rise (or fall) with the belief.

For an expected-utility maximiser the utility difference of two actions is linear in the belief, so
that, if irrelevant alternatives do not matter, the share of one among the two is monotone in it.
Beliefs are cut into quantile bins; the test asks whether the largest drop between any two bins
exceeds what contexts alone produce when all shares are equal, the least favourable monotone case.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from coherence.errors import InputError
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_belief,
    as_codes,
    as_contexts,
    require,
    whole_number,
)
from coherence.result import CheckResult, Interval
from coherence.statistics.bins import belief_bins
from coherence.statistics.resample import Seed, as_generator, permutation_pvalue

UNIT = "share"
UNIT_PUBLISHED = "fraction of bin pairs"
DIRECTIONS = ("increasing", "decreasing", "either")
METHODS = ("drop", "isotonic")
MIN_CONTEXTS_PER_BIN = 3
ALPHA = 0.05


def _shares(bins: Codes, first: Floats, context: Codes) -> tuple[Floats, Floats, Floats, Floats]:
    """Share of the first action per bin, rows and contexts per bin, and the covariance of the shares with contexts as units."""
    n_bins = int(bins.max()) + 1
    rows = np.bincount(bins, minlength=n_bins).astype(np.float64)
    share = np.bincount(bins, weights=first, minlength=n_bins) / rows
    contexts, unit = np.unique(context, return_inverse=True)
    influence = np.zeros((contexts.size, n_bins))
    np.add.at(influence, (unit, bins), (first - share[bins]) / rows[bins])
    covariance = influence.T @ influence * contexts.size / max(contexts.size - 1, 1)
    seen = np.zeros((contexts.size, n_bins))
    seen[unit, bins] = 1
    n_contexts = seen.sum(axis=0)
    # A bin in which every choice agrees has no spread of its own: bound its variance below by that
    # of a share half a context away.
    inner = (share * n_contexts + 0.5) / (n_contexts + 1)
    covariance[np.diag_indices(n_bins)] = np.maximum(
        np.diag(covariance), inner * (1 - inner) / rows
    )
    return share, rows, n_contexts, covariance


def _fisher_pvalue(count_j: int, rows_j: int, count_k: int, rows_k: int) -> float:
    """One-sided p-value of H0: the share in bin j is at most the share in bin k."""
    table = np.array([[count_j, rows_j - count_j], [count_k, rows_k - count_k]])
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def isotonic_fit(values: Floats, weights: Floats) -> Floats:
    """Fit non-decreasing values by weighted least squares, along the last axis.

    Parameters
    ----------
    values : ndarray, shape (..., n_bins)
        One or many sequences.
    weights : ndarray, shape (n_bins,)
        Positive weights.

    Returns
    -------
    ndarray, shape (..., n_bins)
        Fitted values.

    Notes
    -----
    By the min-max formula (Robertson, Wright and Dykstra 1988, theorem 1.4.4), which takes many
    short sequences at once.

    Examples
    --------
    >>> isotonic_fit(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    n_bins = values.shape[-1]
    fitted = np.full(values.shape, -np.inf)
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    total = np.concatenate(
        [np.zeros((*values.shape[:-1], 1)), np.cumsum(values * weights, axis=-1)], axis=-1
    )
    for start in range(n_bins):
        means = (total[..., start + 1 :] - total[..., start : start + 1]) / (
            mass[start + 1 :] - mass[start]
        )
        lowest = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
        fitted[..., start:] = np.maximum(fitted[..., start:], lowest)
    return fitted


def _isotonic_distance(values: Floats, weights: Floats) -> Floats:
    """Weighted squared distance of values, shape (..., n_bins), from their non-decreasing fit."""
    return np.asarray((weights * (values - isotonic_fit(values, weights)) ** 2).sum(axis=-1))


def _largest_drop(
    share: Floats,
    covariance: Floats,
    degrees: int,
    rng: np.random.Generator,
    n_draws: int,
    method: str,
) -> dict[str, Any]:
    """Largest studentised drop s_j - s_k over j < k, its null distribution at equal shares, and an interval for the largest.

    The p-value is that of the largest drop, or of the distance from the isotonic fit under the same
    draws.
    """
    j, k = np.triu_indices(share.size, 1)
    spread = np.sqrt(
        np.maximum(np.diag(covariance)[j] + np.diag(covariance)[k] - 2 * covariance[j, k], 1e-18)
    )
    drop = share[j] - share[k]
    draws = rng.multivariate_normal(np.zeros(share.size), covariance, size=n_draws, method="eigh")
    draws /= np.sqrt(
        rng.chisquare(degrees, size=(n_draws, 1)) / degrees
    )  # few contexts: heavier tails than the normal
    null = (draws[:, j] - draws[:, k]) / spread
    highest = null.max(axis=1)
    adjusted = np.array(
        [(1 + np.count_nonzero(highest >= value)) / (1 + n_draws) for value in drop / spread]
    )
    pvalue = float(adjusted.min())
    if method == "isotonic":
        weights = 1 / np.maximum(np.diag(covariance), 1e-18)
        observed = float(_isotonic_distance(share, weights))
        pvalue = permutation_pvalue(observed, _isotonic_distance(draws, weights))
    low, high = np.clip(largest_interval(drop, spread, null), -1, 1).tolist()
    return {
        "j": j,
        "k": k,
        "drop": drop,
        "adjusted": adjusted,
        "pvalue": pvalue,
        "low": low,
        "high": high,
        "largest": float(drop.max()),
    }


def contenders(estimate: Floats, spread: Floats, null: Floats) -> NDArray[np.bool_]:
    """Tell which of several parameters could be the largest: those not surely below another, at simultaneous level .99.

    Parameters
    ----------
    estimate, spread : ndarray, shape (n_parameters,)
        Estimates and standard errors.
    null : ndarray, shape (n_draws, n_parameters)
        Draws of the studentised errors.

    Returns
    -------
    ndarray of bool, shape (n_parameters,)
        At least one is True.
    """
    reach = float(np.quantile(np.abs(null).max(axis=1), 0.99)) * spread
    return np.asarray(estimate + reach >= (estimate - reach).max())


def largest_interval(estimate: Floats, spread: Floats, null: Floats) -> tuple[float, float]:
    """Return a 95% interval for the largest of several parameters.

    Parameters
    ----------
    estimate, spread, null
        As for `contenders`.

    Returns
    -------
    tuple of float
        Ends. The lower one is simultaneous over the parameters that could be the largest; the upper
        one needs to hold only for the one that is, so it is pointwise. With one clear largest both
        miss 2.5% of the time; ties make the interval conservative.

    References
    ----------
    Chernozhukov, Lee and Rosen (2013), Econometrica 81(2), for bounds on a maximum with selection
    of the near-binding ones.
    """
    near = contenders(estimate, spread, null)
    below = float(np.quantile(null[:, near].max(axis=1), 0.975))
    above = float(np.quantile(np.abs(null[:, near]), 0.95))
    return float((estimate - below * spread)[near].max()), float(
        (estimate + above * spread)[near].max()
    )


def monotone_choice_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    pair: tuple[Any, Any],
    context: ArrayLike | None = None,
    direction: str = "increasing",
    n_bins: int = 5,
    n_draws: int = 9_999,
    method: str = "drop",
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether the share of one action among two is monotone in the stated belief.

    Null: among the choices in `pair`, the share of the first is non-decreasing in the belief bin
    (for ``direction="increasing"``).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1].
    action : array-like, shape (n,)
        Labels.
    pair : tuple of two labels
        First action and the one it is compared with.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    direction : {"increasing", "decreasing", "either"}
        How the share must move with the belief. "either" rejects only if both directions are
        rejected.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    n_draws : int
        Draws from the null distribution.
    method : {"drop", "isotonic"}
        What the p-value refers to: the largest studentised drop between two bins, or the squared
        distance of the shares from their non-decreasing fit, weighted by inverse variances.
        Statistic, interval and `details` are the same.
    published : bool
        The published procedure instead: Fisher's exact test for every pair of bins that violates
        the order, uncorrected and over rows; `statistic` is the fraction of all pairs of bins with
        a significant violation, and there is no p-value.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the largest drop of the share from one bin to a later one (negative: rising
        everywhere, with that margin), with an interval for the largest true drop (conservative
        where several pairs of bins tie for the largest) and one p-value for the pair. `details`
        lists the pairs of bins j < k with their mean beliefs, shares, numbers of rows, p-values
        (adjusted for all pairs of bins) and whether they violate.

    Raises
    ------
    InputError
        An array breaks its rule, or `pair`, `direction` or `method` is unknown.

    Notes
    -----
    Assumes independent contexts and, for three or more actions, independence of irrelevant
    alternatives. The covariance of the shares is estimated with contexts as units; the null
    distribution is a multivariate t at equal shares, where the largest violation is stochastically
    largest among monotone shares.

    References
    ----------
    Robertson, Wright and Dykstra (1988), Order Restricted Statistical Inference, section 2.3.
    """
    values = as_belief(belief)
    require(
        values.ndim == 1,
        f"monotone_choice_test needs one-dimensional beliefs; received shape {values.shape}. Pass the belief in one state.",
    )
    codes, labels = as_codes(action, "action", len(values))
    groups, contexts = as_contexts(context, len(values))
    n_bins = whole_number(n_bins, "n_bins", 2)
    n_draws = whole_number(n_draws, "n_draws", 99)
    if direction not in DIRECTIONS:
        raise InputError(
            f"direction must be one of {', '.join(DIRECTIONS)}; received {direction!r}."
        )
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; received {method!r}.")
    require(
        len(pair) == 2 and pair[0] != pair[1],
        f"pair must hold two different actions; received {pair!r}.",
    )
    generator = as_generator(rng)

    check = f"monotone_choice:{pair[0]}/{pair[1]}"
    null = f"the share of {pair[0]!r} among {pair[0]!r} and {pair[1]!r} is {'monotone' if direction == 'either' else direction} in belief"
    unit = UNIT_PUBLISHED if published else UNIT
    settings: dict[str, Any] = {
        "pair": list(pair),
        "direction": direction,
        "n_bins": n_bins,
        "method": method,
        "published": published,
    }
    bins = belief_bins(values, n_bins)
    in_pair = np.isin(codes, [labels.index(label) for label in pair if label in labels])
    chosen = [label for label in pair if label in labels and (codes == labels.index(label)).any()]
    n_contexts = np.unique(groups[in_pair]).size
    counted: dict[str, Any] = {"n_rows": int(in_pair.sum()), "n_contexts": int(n_contexts)}
    undefined = CheckResult(
        check,
        null,
        math.nan,
        unit,
        None,
        None if published else math.nan,
        **counted,
        settings=settings,
    )
    if len(chosen) < 2:
        reason = (
            f"of {pair[0]!r} and {pair[1]!r} only {chosen[0]!r} was chosen"
            if chosen
            else f"neither {pair[0]!r} nor {pair[1]!r} was chosen"
        )
        return replace(undefined, reason=reason)
    if len(contexts) < MIN_CONTEXTS:
        return replace(undefined, reason=f"{len(contexts)} contexts are fewer than {MIN_CONTEXTS}")

    mean_belief = np.bincount(bins, weights=values) / np.bincount(bins)
    first = (codes == labels.index(pair[0])).astype(np.float64)
    enough = np.array(
        [
            np.unique(groups[in_pair & (bins == b)]).size >= MIN_CONTEXTS_PER_BIN
            for b in range(mean_belief.size)
        ]
    )
    kept = in_pair & enough[bins]
    if enough.sum() < 2:
        return replace(
            undefined,
            reason=f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} contexts with a choice from the pair",
        )
    renumbered = (np.cumsum(enough) - 1)[bins[kept]]
    centres = mean_belief[enough]
    share, rows, per_bin, covariance = _shares(renumbered, first[kept], groups[kept])

    signs = {"increasing": (1,), "decreasing": (-1,), "either": (1, -1)}[direction]
    degrees = int(per_bin.min()) - 1
    drops = {
        sign: _largest_drop(sign * share, covariance, degrees, generator, n_draws, method)
        for sign in signs
    }
    # "either" is an intersection-union test: both directions must be rejected, so the
    # better-fitting one decides.
    sign = max(drops, key=lambda s: drops[s]["pvalue"])
    found = drops[sign]
    details = _bin_pairs(found, sign, share, rows, centres, published)
    settings["n_bins_used"] = int(share.size)
    if published:
        fraction = float(details["significant"].mean())
        return CheckResult(
            check, null, fraction, unit, None, None, **counted, settings=settings, details=details,
            assumptions=("rows are independent", "irrelevant alternatives do not matter", "pairs of bins are not corrected for their number"),
        )  # fmt: skip
    return CheckResult(
        check, null, found["largest"], unit, Interval(found["low"], found["high"], 0.95, "for the largest over pairs of bins, contexts as units"),
        found["pvalue"], **counted, settings=settings | {"n_draws": n_draws, "direction_tested": "increasing" if sign == 1 else "decreasing"},
        details=details, assumptions=("contexts are independent", "irrelevant alternatives do not matter"),
    )  # fmt: skip


def _bin_pairs(
    found: dict[str, Any], sign: int, share: Floats, rows: Floats, centres: Floats, published: bool
) -> pd.DataFrame:
    """List every pair of bins j < k, with the p-value of its violation."""
    j, k, violation = found["j"], found["k"], found["drop"] > 0
    counts = np.rint(share * rows).astype(int)
    if published:
        pvalues = np.full(j.size, np.nan)  # the published test looks at violating pairs only
        for position in np.flatnonzero(violation):
            lower, upper = (j[position], k[position]) if sign == 1 else (k[position], j[position])
            pvalues[position] = _fisher_pvalue(
                counts[lower], int(rows[lower]), counts[upper], int(rows[upper])
            )
    else:
        pvalues = found["adjusted"]
    return pd.DataFrame(
        {
            "bin_j": j, "bin_k": k, "belief_j": centres[j], "belief_k": centres[k], "share_j": share[j], "share_k": share[k],
            "n_j": rows[j].astype(int), "n_k": rows[k].astype(int), "pvalue": pvalues,
            "violation": violation, "significant": violation & (np.nan_to_num(pvalues, nan=1.0) <= ALPHA),
        }
    )  # fmt: skip
