"""Adjusted p-values against statsmodels and against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import fdrcorrection

from coherence.statistics.multiplicity import benjamini_hochberg, holm


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_benjamini_hochberg_is_that_of_statsmodels(pvalues):
    expected = fdrcorrection(pvalues)[1]
    np.testing.assert_allclose(benjamini_hochberg(pvalues), expected, atol=1e-12)


def test_tests_that_were_not_run_leave_the_family():
    assert holm([0.02, np.nan, 0.03]).tolist()[::2] == [0.04, 0.04]
    assert np.isnan(benjamini_hochberg([0.02, np.nan])[1])
    assert np.isnan(holm([np.nan, np.nan])).all()
    assert benjamini_hochberg([]).shape == holm([]).shape == (0,)


@given(st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(pvalues):
    """The largest of min(1, size * smallest) over all sets of tests that hold this one."""
    sets = [
        members
        for size in range(1, len(pvalues) + 1)
        for members in combinations(range(len(pvalues)), size)
    ]
    for test, adjusted in enumerate(holm(pvalues)):
        bounds = [len(m) * min(pvalues[i] for i in m) for m in sets if test in m]
        assert adjusted == pytest.approx(min(1, max(bounds)))
