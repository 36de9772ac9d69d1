"""Drops of shares from one bin of belief to a later one, with contexts as units.

What is tested is the largest drop against its null at equal shares, which is least favourable among
monotone shares (Robertson, Wright and Dykstra 1988, section 2.3).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.bins import belief_bins
from coherence.statistics.context_shares import context_shares, spare_variance

MIN_CONTEXTS_PER_BIN = 3
_LEAST_VARIANCE = 1e-18  # keeps a drop between two bins that move together from dividing by zero


def contexts_per_bin(bins: Codes, context: Codes, n_bins: int) -> Codes:
    """Count the different contexts in each bin, shape (n_bins,)."""
    pairs = np.unique(np.stack([bins, context]), axis=1)
    return np.bincount(pairs[0], minlength=n_bins).astype(np.int64)


def used_bins(belief: Floats, context: Codes, n_bins: int) -> tuple[Codes, NDArray[np.bool_]]:
    """Cut beliefs into bins and leave out those with too few contexts."""
    bins = belief_bins(belief, n_bins)
    enough = contexts_per_bin(bins, context, int(bins.max()) + 1) >= MIN_CONTEXTS_PER_BIN
    kept = enough[bins]
    return (np.cumsum(enough) - 1)[bins[kept]], kept


def effective_contexts(bins: Codes, context: Codes, n_bins: int, mass: Floats) -> Codes:
    """Count the contexts that a weighted mean of each bin rests on, shape (n_bins,).

    Kish's effective number, (sum of weights)^2 / sum of squared weights, with the weights of
    contexts, rounded down; with equal weights it is their number. A few large groups thus leave few
    degrees of freedom, however many small ones there are.
    """
    contexts, unit = np.unique(context, return_inverse=True)
    of_context = np.zeros((contexts.size, n_bins))
    np.add.at(of_context, (unit, bins), mass)
    square = (of_context**2).sum(axis=0)
    number = np.divide(of_context.sum(axis=0) ** 2, square, out=np.zeros(n_bins), where=square > 0)
    # Equal weights must not lose a context to rounding.
    return np.asarray(np.floor(number + 1e-9), dtype=np.int64)


def pair_shares(
    bins: Codes, first: Floats, context: Codes, mass: Floats, *, policies: bool
) -> tuple[Floats, Floats, Floats]:
    """Return share of the first action of a pair by bin, rows (or mass), and covariance."""
    n_bins = int(bins.max()) + 1
    rows = np.bincount(bins, weights=mass, minlength=n_bins).astype(np.float64)
    share = np.bincount(bins, weights=first, minlength=n_bins) / rows
    contexts, unit = np.unique(context, return_inverse=True)
    # A share is a ratio of sums over contexts; to first order this is what each context adds to it.
    influence = np.zeros((contexts.size, n_bins))
    np.add.at(influence, (unit, bins), (first - share[bins] * mass) / rows[bins])
    covariance = influence.T @ influence * contexts.size / max(contexts.size - 1, 1)
    diagonal = np.diag_indices(n_bins)
    # A bin in which all contexts agree has no spread of its own: bound its variance below by half
    # of one context that was not seen, since rows of a context may be copies of each other.
    unseen = 0.5 * (share**2 + (1 - share) ** 2)
    if policies:
        # The same holds for a difference between bins that all contexts share, or nearly.
        number = effective_contexts(bins, context, n_bins, mass)
        covariance[diagonal] += spare_variance(covariance, unseen / np.maximum(number, 1) ** 2)
        return share, rows, covariance
    n_contexts = contexts_per_bin(bins, unit, n_bins).astype(np.float64)
    # Choices are tosses: by that of a share half a context away, too.
    inner = (share * n_contexts + 0.5) / (n_contexts + 1)
    least = np.maximum(inner * (1 - inner) / rows, unseen / n_contexts**2)
    covariance[diagonal] = np.maximum(np.diag(covariance), least)
    return share, rows, covariance


@dataclass(frozen=True)
class BinnedPair:
    """Shares of the first action of a pair in the bins of belief that have enough contexts."""

    # share, rows, belief: shape (n_bins,): share, number of rows (or sum of probabilities), and
    # mean belief of each bin
    share: Floats
    rows: Floats
    belief: Floats
    covariance: Floats  # shape (n_bins, n_bins): of the shares
    degrees: int  # degrees of freedom of the bin with the fewest contexts
    # low, high: shape (n_bins,): 95% intervals of the single shares, over contexts
    low: Floats
    high: Floats


def binned_pair(
    belief: Floats, first: Floats, mass: Floats, context: Codes, *, n_bins: int, policies: bool
) -> BinnedPair | None:
    """Cut beliefs into bins and count the choices of a pair of actions in them."""
    # Bins are those of all choices, so that the pairs of a unit can be read side by side.
    bins, in_pair = belief_bins(belief, n_bins), mass > 0
    mean_belief = np.bincount(bins, weights=belief) / np.bincount(bins)
    of_pair = bins[in_pair], context[in_pair], mean_belief.size
    per_bin = effective_contexts(*of_pair, mass[in_pair])
    enough = per_bin >= MIN_CONTEXTS_PER_BIN
    if enough.sum() < 2:
        return None
    kept = in_pair & enough[bins]
    used = (np.cumsum(enough) - 1)[bins[kept]]  # numbered without the bins that are left out
    of_first = used, first[kept], context[kept], mass[kept]
    share, rows, covariance = pair_shares(*of_first, policies=policies)
    degrees = int(per_bin[enough].min()) - 1
    weights = mass[kept] if policies else None
    of_rows = np.divide(first[kept], mass[kept])[:, None]
    each = context_shares(of_rows, used, context[kept], share.size, weights=weights)
    ends = each.low[:, 0], each.high[:, 0]
    return BinnedPair(share, rows, mean_belief[enough], covariance, degrees, *ends)


@dataclass(frozen=True)
class Drops:
    """Drops s_j - s_k between all bins j < k, and what is said of them all."""

    # j, k: the earlier and the later bin
    j: Codes
    k: Codes
    drop: Floats  # difference of their shares; positive where it violates the order
    adjusted: Floats  # p-value of each, adjusted for all pairs
    pvalue: float  # that no share falls
    # low, high: 95% interval for the largest true drop
    low: float
    high: float


def largest_drop(
    share: Floats,
    covariance: Floats,
    *,
    degrees: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Drops:
    """Study all drops of shares against their joint distribution at equal shares."""
    j, k = np.triu_indices(share.size, 1)
    variance = np.diag(covariance)
    spread = np.sqrt(np.maximum(variance[j] + variance[k] - 2 * covariance[j, k], _LEAST_VARIANCE))
    drop = share[j] - share[k]
    draws = rng.multivariate_normal(np.zeros(share.size), covariance, size=n_draws, method="eigh")
    # Few contexts estimate the covariance badly: heavier tails than the normal.
    draws /= np.sqrt(rng.chisquare(degrees, size=(n_draws, 1)) / degrees)
    null = (draws[:, j] - draws[:, k]) / spread
    highest = null.max(axis=1)
    adjusted = np.array(
        [(1 + np.count_nonzero(highest >= value)) / (1 + n_draws) for value in drop / spread]
    )
    low, high = np.clip(largest_interval(drop, spread, null), -1, 1).tolist()
    return Drops(j, k, drop, adjusted, float(adjusted.min()), low, high)


def contenders(estimate: Floats, spread: Floats, null: Floats) -> NDArray[np.bool_]:
    """Tell which of several parameters could be the largest, at simultaneous level .99."""
    reach = float(np.quantile(np.abs(null).max(axis=1), 0.99)) * spread
    return np.asarray(estimate + reach >= (estimate - reach).max())


def largest_interval(estimate: Floats, spread: Floats, null: Floats) -> tuple[float, float]:
    """Return a 95% interval for the largest of several parameters.

    Chernozhukov, Lee and Rosen (2013), Econometrica 81(2), for bounds on a maximum with selection
    of the near-binding ones.
    """
    near = contenders(estimate, spread, null)
    below = float(np.quantile(null[:, near].max(axis=1), 0.975))
    above = float(np.quantile(np.abs(null[:, near]), 0.95))
    return float((estimate - below * spread)[near].max()), float(
        (estimate + above * spread)[near].max()
    )
