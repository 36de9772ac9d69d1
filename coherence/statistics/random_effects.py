"""One effect over several tasks: its mean, and how much it varies between them."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import as_numbers, require


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


def random_effects(estimates: ArrayLike, standard_errors: ArrayLike) -> Pooled:
    """Pool effects of several tasks, each with its standard error.

    The interval is that of Hartung and Knapp (2001): a t with one degree of freedom less than there
    are tasks, and the scatter of the effects themselves in place of a variance taken as known.
    """
    from scipy.stats import t
    from statsmodels.stats.meta_analysis import combine_effects

    values, errors = as_numbers(estimates, "estimates"), as_numbers(standard_errors, "errors")
    require(
        values.ndim == 1 and values.shape == errors.shape and values.size > 1,
        "estimates and standard_errors must be two lists of equal length, two or more; received "
        f"shapes {values.shape} and {errors.shape}.",
    )
    require(
        bool(np.isfinite(values).all() and (errors > 0).all() and np.isfinite(errors).all()),
        "estimates must be finite and standard_errors finite and positive.",
    )
    with warnings.catch_warnings():
        # Of the intervals of single tasks, which are not used.
        warnings.simplefilter("ignore")
        fit = combine_effects(values, errors**2, method_re="iterated", use_t=True)
    low, high = fit.conf_int()[3]
    error = float(fit.sd_eff_w_re_hksj)
    mean = float(fit.mean_effect_re)
    return Pooled(
        mean=mean,
        low=float(low),
        high=float(high),
        pvalue=float(2 * t.sf(abs(mean) / error, values.size - 1)) if error > 0 else float("nan"),
        sd=float(np.sqrt(max(float(fit.tau2), 0.0))),
        pvalue_equal=float(fit.test_homogeneity().pvalue),
        n=int(values.size),
    )
