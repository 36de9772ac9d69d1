"""One effect over several tasks: its mean, and how much it varies between them."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Pooled:
    """A random-effects mean, in the unit of the effects."""

    mean: float
    low: float
    high: float
    pvalue: float  # of no effect on average
    sd: float  # of the true effects between tasks, by Paule and Mandel
    pvalue_equal: float  # of one effect in all tasks, by Cochran's Q
    n: int


def random_effects(
    estimates: ArrayLike,
    standard_errors: ArrayLike,
    n_contexts: ArrayLike,
    allowed: ArrayLike | None = None,
) -> Pooled:
    """Pool effects of two tasks or more, with standard errors and numbers of contexts, all above 0.

    The interval is that of Hartung and Knapp (2001): a t with one degree of freedom less than there
    are tasks, and the spread of the effects themselves in place of a variance taken as known.
    Tasks are weighed by their contexts, at one variance of a context for all: a task's own standard
    error moves with its estimate where contexts are skewed, and weights by it covered .79 of the
    means over 24 tasks where these cover .95. Of each effect as much as lies between 0 and what is
    `allowed` may be none: so much of the mean does not count, at one end and in the p-value.
    """
    from scipy.stats import t
    from statsmodels.stats.meta_analysis import combine_effects

    values, errors, sizes = (
        np.asarray(each, dtype=np.float64) for each in (estimates, standard_errors, n_contexts)
    )
    variances = np.mean(errors**2 * sizes) / sizes
    with warnings.catch_warnings():
        # Of the intervals of single tasks, which are not used.
        warnings.simplefilter("ignore")
        fit = combine_effects(values, variances, method_re="iterated", use_t=True)
        own = combine_effects(values, errors**2)
    low, high = fit.conf_int()[3]
    error = float(fit.sd_eff_w_re_hksj)
    mean = float(fit.mean_effect_re)
    weights = 1 / (variances + max(float(fit.tau2), 0.0))
    none = np.zeros(values.size) if allowed is None else np.asarray(allowed, dtype=np.float64)
    least, most = (np.average(bound(none, 0.0), weights=weights) for bound in (np.fmin, np.fmax))
    beyond = abs(mean - min(max(mean, least), most))
    return Pooled(
        mean=mean,
        low=float(low - most),
        high=float(high - least),
        pvalue=float(2 * t.sf(beyond / error, values.size - 1)) if error > 0 else float("nan"),
        sd=float(np.sqrt(max(float(fit.tau2), 0.0))),
        pvalue_equal=float(own.test_homogeneity().pvalue),
        n=int(values.size),
    )
