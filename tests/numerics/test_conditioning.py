"""Columns that are conditioned on: scales, labels, context means, and what is refused."""

import numpy as np
import pandas as pd

from coherence.checks.cmi import gather_conditioning

BELIEF = np.array([0.1, 0.2, 0.3, 0.4])
CONTEXT = np.array([0, 0, 1, 1])


def test_numbers_are_divided_by_four_standard_deviations():
    """The central 95% of a normal feature then spans 1, as beliefs do."""
    feature = np.array([1.0, 3.0, 5.0, 11.0])
    columns = gather_conditioning(BELIEF, pd.DataFrame({"age": feature}), CONTEXT, 2)
    scaled = (feature - 5) / (4 * np.sqrt((16 + 4 + 0 + 36) / 4))
    np.testing.assert_allclose(columns.continuous[:, 1], scaled)
    np.testing.assert_allclose(columns.summary[:, 1], scaled.reshape(2, 2).mean(axis=1))
    assert columns.numeric == ("age",)


def test_a_feature_that_rounding_alone_moves_is_constant_and_one_in_small_units_is_not():
    for feature in (1e6 + 1e-9 * np.arange(4), 0.1 + np.arange(4) * 1e-14):
        columns = gather_conditioning(BELIEF, feature, CONTEXT, 2)
        np.testing.assert_array_equal(columns.continuous[:, 1], np.zeros(4))
    columns = gather_conditioning(BELIEF, 1e-6 * np.arange(4.0), CONTEXT, 2)
    assert np.ptp(columns.continuous[:, 1]) > 0.5


def test_labels_make_strata_and_shares_of_contexts():
    frame = pd.DataFrame({"sex": ["f", "m", "f", "f"], "old": [True, True, False, True], "n": 1.0})
    columns = gather_conditioning(BELIEF, frame, CONTEXT, 2)
    assert columns.discrete == ("sex", "old")
    assert columns.numeric == ("n",)
    strata = columns.stratum
    assert strata[0] == strata[3]
    assert len({*strata.tolist()}) == 3
    # belief, n, then shares of f, m, False, True
    np.testing.assert_allclose(
        columns.summary, [[0.15, 0, 0.5, 0.5, 0, 1], [0.35, 0, 1, 0, 0.5, 0.5]]
    )
