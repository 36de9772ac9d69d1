"""P-values of twins by counting, quantiles, and when a share is noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.rational.twin import compare

numbers = st.floats(-1e3, 1e3)


def test_pvalue_quantiles_and_share_of_noise_by_hand():
    drawn = np.arange(1.0, 20.0)  # 19 twins
    twins = compare(18.0, drawn, upper=True, discrepancy=True)
    assert twins.pvalue == 3 / 20  # 18 and 19, and the data themselves
    assert twins.median == 10
    assert twins.noise_share == pytest.approx(10 / 18)
    assert (twins.low, twins.high) == tuple(np.quantile(drawn, [0.025, 0.975]))
    both = compare(18.0, drawn, upper=False, discrepancy=False)
    assert both.pvalue == 6 / 20
    assert np.isnan(both.noise_share)
    assert compare(-4.0, drawn, upper=True, discrepancy=True).pvalue == 1
    assert compare(-4.0, drawn, upper=False, discrepancy=True).pvalue == 2 / 20
    # Nothing observed has no share of noise, and twins below 0 no part in what is above it.
    for observed in (0.0, -0.1):
        assert np.isnan(compare(observed, drawn, upper=True, discrepancy=True).noise_share)
    assert compare(0.5, -drawn, upper=True, discrepancy=True).noise_share == 0
    # Ties up to rounding are as extreme.
    assert compare(0.1 + 0.2, np.full(9, 0.3), upper=True, discrepancy=True).pvalue == 1


@given(numbers, st.lists(numbers, min_size=2, max_size=30))
def test_a_pvalue_is_never_below_what_the_number_of_twins_allows(observed, drawn):
    twins = compare(observed, np.array(drawn), upper=True, discrepancy=False)
    assert 1 / (len(drawn) + 1) <= twins.pvalue <= 1
    assert twins.low <= twins.median <= twins.high


def test_the_observed_data_among_equals_are_rejected_at_the_level():
    values = np.random.default_rng(1).normal(size=200)
    others = np.array([np.delete(values, position) for position in range(200)])
    for upper in (True, False):
        rejected = [
            compare(value, drawn, upper=upper, discrepancy=False).pvalue <= 0.05
            for value, drawn in zip(values, others, strict=True)
        ]
        assert np.mean(rejected) == 0.05


def test_twins_without_the_statistic_count_as_more_extreme():
    drawn = np.r_[np.zeros(38), np.nan]
    assert compare(1.0, drawn, upper=True, discrepancy=False).pvalue == 2 / 40
    assert compare(1.0, np.r_[0.0, np.nan], upper=True, discrepancy=False) is None
    assert compare(np.nan, np.zeros(9), upper=True, discrepancy=False) is None
