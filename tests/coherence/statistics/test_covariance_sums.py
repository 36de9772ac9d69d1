"""Components of the residual covariance: names, sums by context, and the null that fits them."""

import numpy as np
import pytest

from coherence.statistics.choices import as_choices
from coherence.statistics.covariance_sums import (
    component_estimates,
    pair_components,
    sum_components,
)
from coherence.statistics.residuals import residuals


def summed(odds=0.5, acts=0.5, shared=0.0, seed=0, n=400):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < odds).astype(int)
    action = np.where(rng.random(n) < acts + shared * (truth - odds), "act", "wait")
    data = as_choices(np.full(n, odds), action, truth, np.arange(n))
    remains, _ = residuals(data)
    components = pair_components(data, remains)
    return sum_components(components, data, remains, 499, np.random.default_rng(2))


def test_the_estimate_is_the_difference_in_choice_probability():
    sums = summed(shared=0.4)
    assert sums.names == ["P(act | 1) - P(act | not 1)", "P(wait | 1) - P(wait | not 1)"]
    details = component_estimates(sums, np.full(2, 0.5))
    assert details["estimate"][0] == pytest.approx(0.4, abs=0.1)
    assert details["estimate"][0] == pytest.approx(-details["estimate"][1])
    assert (details["pvalue_adjusted"] <= 0.01).all()
    assert sums.standardised is None


def test_rare_things_are_exchanged_and_have_the_error_of_exchanges():
    sums = summed(odds=0.04, acts=0.04)
    assert sums.standardised is not None
    # Under exchange the sum of n products of variances v and w varies by n v w.
    n, variance = 400, 0.04 * 0.96
    by_hand = np.sqrt(n) * variance / (n * variance)
    assert sums.null_error[0] == pytest.approx(by_hand, rel=0.35)
