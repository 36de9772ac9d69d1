"""The true values that rounded reports stand for."""

import numpy as np
import pytest
from scipy.stats import qmc

from coherence.statistics.report_grid import (
    SCATTERS,
    draw_true_values,
    rounding_error,
)

POINTS = qmc.Sobol(2, seed=1).random(128)


@pytest.mark.parametrize("scatter", range(len(SCATTERS)))
def test_expected_error_is_that_of_rounded_normals(scatter):
    rng = np.random.default_rng(3)
    for value in (0.31, 0.33, 0.374):
        reports = value + 0.1 * SCATTERS[scatter] * rng.normal(size=200_000)
        expected = np.round(np.round(reports / 0.1) * 0.1, 10).mean() - value
        at = (np.array([value]), np.array([0.1]), np.array([scatter]))
        assert rounding_error(*at)[0] == pytest.approx(expected, abs=0.0015)


@pytest.mark.parametrize("scatter", [0.0, 0.1, 0.3, 1.0, None])
def test_shared_rounding_error_is_sized_right(scatter):
    """The error that all repetitions of a value share, from five reports of each.

    None is a half of values that never scatter and a half that scatter by a step: pooled, their
    scatter would seem wide enough to average all rounding out.
    """
    rng = np.random.default_rng(4)
    truth = rng.uniform(0.1, 0.9, 600)
    spread = np.where(np.arange(600) < 300, 0.0, 1.0) if scatter is None else np.full(600, scatter)
    unit = np.repeat(np.arange(600), 5)
    stated = truth[unit] + 0.05 * spread[unit] * rng.normal(size=unit.size)
    reports = np.round(np.round(stated / 0.05) * 0.05, 10)
    kept = np.bincount(unit, (reports < 0) | (reports > 1))[unit] == 0
    reports, unit = reports[kept], np.unique(unit[kept], return_inverse=True)[1]
    draws = draw_true_values(reports, unit, {0.05: 1.0}, POINTS, repeated=True)
    error = ((draws.expected() - draws.value) ** 2).mean()
    k = np.arange(1, 50)[:, None]
    shared = (np.exp(-4 * (np.pi * k * spread) ** 2) / (2 * np.pi**2 * k**2)).sum(axis=0).mean()
    assert error == pytest.approx(0.05**2 * shared, rel=0.25, abs=0.05**2 * 0.002)


def test_draws_stay_where_the_report_puts_them():
    reports = np.array([0.0, 0.3, 1.0, 0.123])
    draws = draw_true_values(reports, np.arange(4), {0.1: 0.9, 0.0: 0.1}, POINTS, repeated=False)
    low, high = draws.value.min(axis=1), draws.value.max(axis=1)
    assert (low >= [0, 0.25, 0.95, 0.123]).all()
    assert (high <= [0.05, 0.35, 1, 0.123]).all()
    assert (high - low)[:3].min() > 0.04
    assert (draws.step[3] == 0).all()
