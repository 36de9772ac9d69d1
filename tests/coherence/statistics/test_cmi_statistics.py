"""The statistics of the permutation test: each pair of estimates against its own definition."""

import math

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from coherence.statistics.cmi_statistics import (
    calibrated,
    calibrated_statistic,
    general_statistic,
    one_dimensional_statistic,
    searched_statistic,
    sorted_information,
)
from coherence.statistics.conditioning import gather_conditioning
from coherence.statistics.knn_general import general_information


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    belief = np.round(rng.random(120), 2)
    return belief, rng.integers(0, 3, 120), (rng.random(120) < belief).astype(int)


def test_isotonic_calibration_is_scikit_learns(data):
    belief, _, truth = data
    expected = IsotonicRegression().fit_transform(belief, truth)
    np.testing.assert_allclose(calibrated(belief, truth), expected, atol=1e-12)
    tied = calibrated(np.array([0.15, 0.05 + 0.1, 0.9]), np.array([0, 1, 1]))
    assert tied.tolist() == [0.5, 0.5, 1.0]


def test_one_belief(data):
    belief, action, truth = data
    statistic = one_dimensional_statistic(belief, action, 3, 20)
    assert statistic(truth, True) == (
        sorted_information(belief, action, truth, 3),
        sorted_information(belief, action, truth, 20),
    )
    estimate, tested = statistic(truth[::-1], False)
    assert math.isnan(estimate)
    assert tested == sorted_information(belief, action, truth[::-1], 20)


def test_calibration_is_fitted_to_every_arrangement(data):
    belief, action, truth = data
    statistic = calibrated_statistic(belief, action, 3, 20)
    for arranged in (truth, truth[::-1]):
        again = calibrated(belief, arranged)
        assert statistic(arranged, True) == (
            sorted_information(again, action, arranged, 3),
            sorted_information(again, action, arranged, 20),
        )
        assert math.isnan(statistic(arranged, False)[0])


@pytest.mark.parametrize("with_estimate", [True, False])
def test_several_columns(data, with_estimate):
    belief, action, truth = data
    rng = np.random.default_rng(1)
    conditions = gather_conditioning(
        belief, np.stack([rng.random(120), rng.random(120)], axis=1), np.arange(120), 120
    )
    columns = (conditions.continuous, conditions.stratum, action, truth)
    few, many = (general_information(*columns, k) for k in (3, 20))
    estimate, tested = general_statistic(conditions, action, 3, 20)(truth, with_estimate)
    assert tested == pytest.approx(many, abs=1e-12)
    searched, none = searched_statistic(conditions, action, 3)(truth, with_estimate)
    assert math.isnan(none)
    if with_estimate:
        assert estimate == pytest.approx(few, abs=1e-12)
        assert searched == few
    else:
        assert math.isnan(estimate)
        assert math.isnan(searched)
