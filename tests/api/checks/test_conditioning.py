"""Columns that are conditioned on: scales, labels, context means, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.checks.cmi import gather_conditioning

BELIEF = np.array([0.1, 0.2, 0.3, 0.4])
CONTEXT = np.array([0, 0, 1, 1])


def test_beliefs_alone():
    columns = gather_conditioning(BELIEF, None, CONTEXT, 2)
    np.testing.assert_array_equal(columns.continuous, BELIEF[:, None])
    np.testing.assert_array_equal(columns.stratum, np.zeros(4))
    np.testing.assert_allclose(columns.summary, [[0.15], [0.35]])
    assert (columns.numeric, columns.discrete) == ((), ())
    several = np.stack([BELIEF, 1 - BELIEF], axis=1)
    np.testing.assert_array_equal(
        gather_conditioning(several, None, CONTEXT, 2).continuous, several
    )


def test_numbers_are_divided_by_four_standard_deviations():
    """The central 95% of a normal feature then spans 1, as beliefs do."""
    feature = np.array([1.0, 3.0, 5.0, 11.0])
    columns = gather_conditioning(BELIEF, pd.DataFrame({"age": feature}), CONTEXT, 2)
    scaled = (feature - 5) / (4 * np.sqrt((16 + 4 + 0 + 36) / 4))
    np.testing.assert_allclose(columns.continuous[:, 1], scaled)
    np.testing.assert_allclose(columns.summary[:, 1], scaled.reshape(2, 2).mean(axis=1))
    assert columns.numeric == ("age",)


@pytest.mark.parametrize(
    "feature", [np.full(4, 7.0), 1e6 + 1e-9 * np.arange(4), 0.1 + np.arange(4) * 1e-14]
)
def test_a_feature_that_rounding_alone_moves_is_constant(feature):
    columns = gather_conditioning(BELIEF, feature, CONTEXT, 2)
    np.testing.assert_array_equal(columns.continuous[:, 1], np.zeros(4))


def test_a_feature_in_small_units_is_not_taken_for_a_constant():
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


def test_every_combination_of_labels_is_a_stratum():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 3))).astype(str)
    columns = gather_conditioning(np.full(200, 0.5), frame, np.arange(200), 200)
    pairs = set(zip(frame.agg("".join, axis=1), columns.stratum, strict=True))
    assert len(pairs) == frame.drop_duplicates().shape[0] == np.unique(columns.stratum).size


def test_arrays_and_series_are_read_as_columns():
    array = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 0.0], [4.0, 1.0]])
    assert gather_conditioning(BELIEF, array, CONTEXT, 2).numeric == ("feature 1", "feature 2")
    assert gather_conditioning(BELIEF, array[:, 0], CONTEXT, 2).numeric == ("feature 1",)
    series = pd.Series(["a", "b", "a", "b"], name="word", index=[9, 8, 7, 6])
    columns = gather_conditioning(BELIEF, series, CONTEXT, 2)
    assert columns.discrete == ("word",)
    assert columns.stratum.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((4, 1, 1)), r"have shape \(n,\) or \(n, n_features\); received .*4, 1, 1"),
        (np.zeros(0), r"a value for every row; received shape \(0,\). Leave it out"),
        (np.zeros(3), "one row per row of belief; received 3 rows for 4"),
        (pd.DataFrame(index=range(4)), "at least one feature; received none. Leave it out"),
        (
            np.array([1, np.nan, 2, np.inf]),
            "2 of 4 values of 'feature 1' are not, the first at position 1. Fill or drop",
        ),
    ],
)
def test_refusals_say_what_and_where(features, message):
    with pytest.raises(InputError, match=f"condition_on must .*{message}"):
        gather_conditioning(BELIEF, features, CONTEXT, 2)
