"""Adjusted p-values against statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from coherence import InputError, benjamini_hochberg, holm


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_equal_to_statsmodels(pvalues):
    np.testing.assert_allclose(holm(pvalues), multipletests(pvalues, method="holm")[1], atol=1e-12)
    np.testing.assert_allclose(
        benjamini_hochberg(pvalues), multipletests(pvalues, method="fdr_bh")[1], atol=1e-12
    )


def test_tests_that_were_not_run_leave_the_family():
    assert holm([0.02, np.nan, 0.03]).tolist()[::2] == [0.04, 0.04]
    assert np.isnan(benjamini_hochberg([0.02, np.nan])[1])


def test_refuses_what_is_no_pvalue():
    with pytest.raises(InputError, match=r"pvalues must lie in \[0, 1\]"):
        holm([1.2])
