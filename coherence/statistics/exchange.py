"""Null of residual covariance: random signs of contexts, or exchanges where signs fail.

Signs imitate the null if products of residuals are about as often above 0 as below, or if there are
many of them. Products of two rare things are not: whether that is so is told by the skewness of
their sum, and then the residuals themselves are exchanged.
"""

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import permute_contexts

ASYMMETRY = 0.2  # skewness of a sum under the null beyond which random signs misjudge it
MANY_CONTEXTS = 5_000
EXCHANGES = 20_000_000  # contexts moved, over all exchanges


def sign_flipped_sums(scores: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Return studentised sums under random signs of whole contexts.

    Parameters
    ----------
    scores : ndarray, shape (n_contexts, n_components)
        What each context adds to each sum.
    n_draws : int
        Random sign assignments.
    rng : Generator
        Source of the signs.

    Returns
    -------
    ndarray, shape (n_draws, n_components)
        Sums in units of the root of the sum of squares.
    """
    scale = np.sqrt((scores**2).sum(axis=0))
    unit = scores / np.where(scale > 0, scale, 1.0)
    if len(scores) > MANY_CONTEXTS:
        # The sum of so many signed terms is normal; its covariance is all that matters.
        covariance = unit.T @ unit
        return rng.multivariate_normal(
            np.zeros(unit.shape[1]), covariance, size=n_draws, method="eigh"
        )
    signs = rng.integers(0, 2, size=(n_draws, len(scores)), dtype=np.int8)
    return np.asarray((2.0 * signs - 1.0) @ unit)


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


def policy_asymmetry(residual: Floats, odds: Floats, context: Codes, n_contexts: int) -> float:
    """Return the skewness that a sum of products has under the null, given the actions.

    Where actions are probabilities, what a regression leaves of them is no coin toss of known
    moments; the state still is one. Given the actions, the sum over contexts of residual times
    state has the cumulants of independent coin tosses.

    Parameters
    ----------
    residual : ndarray, shape (n,)
        What the belief leaves of the actions, weighed.
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
    total = np.bincount(context, weights=residual, minlength=n_contexts)
    size = np.bincount(context, minlength=n_contexts)
    mean = np.bincount(context, weights=np.clip(odds, 0.0, 1.0), minlength=n_contexts) / size
    # Rows of a context share one state: one toss, with second and third cumulants of a Bernoulli.
    second = mean * (1 - mean)
    variance = float((total**2 * second).sum())
    third = float((total**3 * second * (1 - 2 * mean)).sum())
    return abs(third) / variance**1.5 if variance > 0 else 0.0


def exchanged_sums(
    action: Floats, truth: Floats, blocks: Codes, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
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
    spread : ndarray, shape (n_components,)
        The standard deviation of the sums there.
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
    return ((action * truth).sum(axis=0) - centre) / scale, (sums - centre) / scale, spread
