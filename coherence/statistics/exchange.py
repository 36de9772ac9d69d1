"""Null of residual covariance where random signs fail: exchanges of contexts of similar belief.

Signs imitate the null if products of residuals are about as often above 0 as below, or if there are
many of them. Products of two rare things are not: whether that is so is told by the skewness of
their sum, and then the residuals themselves are exchanged.
"""

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import permute_contexts

ASYMMETRY = 0.2  # skewness of a sum under the null beyond which random signs misjudge it
NO_INTERVAL = 0.3  # skewness of the hidden shift beyond which there is no interval for it
EXCHANGES = 20_000_000  # contexts moved, over all exchanges


def asymmetry(
    weights: Floats, share: Floats, odds: Floats, context: Codes, n_contexts: int
) -> float:
    """Return the skewness that a sum of products of residuals has under the null.

    A rare action and a rare state seldom meet: their products are small and negative as a rule and
    large by exception, which signs flipped at random do not imitate. Rows of a context are taken as
    one choice, which is the case of largest skewness.

    Parameters
    ----------
    weights : ndarray, shape (n, n_actions)
        What each action counts in the sum.
    share : ndarray, shape (n, n_actions)
        Fitted probability of each action.
    odds : ndarray, shape (n,)
        Fitted probability of the state.
    context : ndarray of int, shape (n,)
        Context of each row.
    n_contexts : int
        Their number.

    Returns
    -------
    float
        At least 0.
    """
    # Smooth regressions leave [0, 1] a little; moments need probabilities.
    share = np.clip(share, 0.0, 1.0)
    share = share / share.sum(axis=1, keepdims=True)
    odds = np.clip(odds, 0.0, 1.0)
    from_mean = weights - (share * weights).sum(axis=1, keepdims=True)
    size = np.bincount(context, minlength=n_contexts)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.bincount(context, weights=values, minlength=n_contexts) / size)

    # Moments of a product of independent factors are products of their moments; a Bernoulli
    # variable with mean q has variance q(1 - q) and third central moment q(1 - q)(1 - 2q).
    second = mean((share * from_mean**2).sum(axis=1)) * mean(odds * (1 - odds))
    third = mean((share * from_mean**3).sum(axis=1)) * mean(odds * (1 - odds) * (1 - 2 * odds))
    # One choice stands for all rows of a context: cumulants grow by size^2 and size^3.
    variance = float((size**2 * second).sum())
    return abs(float((size**3 * third).sum())) / variance**1.5 if variance > 0 else 0.0


def exchanged_sums(
    action: Floats, truth: Floats, blocks: Codes, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return standardised sums of products, as they are and after exchanges within blocks.

    The residuals of the truth move between contexts of similar belief.

    Parameters
    ----------
    action, truth : ndarray, shape (n_contexts, n_components)
        Sums of action residuals and means of truth residuals.
    blocks : ndarray of int, shape (n_contexts,)
        Contexts of a block may be exchanged.
    n_draws : int
        Exchanges; of very many contexts fewer are drawn, 199 at least.
    rng : Generator
        Source of the exchanges.

    Returns
    -------
    observed : ndarray, shape (n_components,)
        Sums less their mean over the exchanges, in units of their standard deviation there.
    null : ndarray, shape (n_draws, n_components)
        The same after each exchange.
    """
    n_draws = min(n_draws, max(199, EXCHANGES // len(blocks)))
    # In portions, because all exchanges of many contexts at once would not fit in memory.
    drawn, portion = [], max(1, EXCHANGES // 10 // len(blocks))
    for start in range(0, n_draws, portion):
        drawn += [
            (action * truth[source]).sum(axis=0)
            for source in permute_contexts(blocks, min(portion, n_draws - start), rng)
        ]
    sums = np.array(drawn)
    # What only moves by rounding is no component: divided by infinity it never counts.
    centre, spread = sums.mean(axis=0), sums.std(axis=0)
    scale = np.where(spread > 1e-12, spread, np.inf)
    return ((action * truth).sum(axis=0) - centre) / scale, (sums - centre) / scale
