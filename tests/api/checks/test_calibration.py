"""Calibration estimates against closed forms and scikit-learn."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss

from tests.api.tables import calibration


def test_closed_forms():
    rng = np.random.default_rng(0)
    exact = rng.uniform(0.1, 0.9, 2000)
    truth = (rng.random(2000) < exact).astype(int)
    results = {r.check: r for r in calibration(exact + 0.05, truth, p_true=exact)}
    assert results["calibration:rmse"].statistic == pytest.approx(0.05)
    assert results["calibration:ece_exact"].statistic == pytest.approx(0.05)
    assert results["calibration:ece_exact"].interval is None
    # Nothing scatters: no noise to remove.
    assert results["calibration:calibration_error_exact"].statistic == pytest.approx(0.05)
    brier = results["calibration:brier"]
    assert brier.statistic == pytest.approx(brier_score_loss(truth, exact + 0.05))
    assert brier.interval.low < brier.statistic < brier.interval.high


def test_the_reliability_table_by_hand_is_that_of_the_own_target():
    table = calibration([0.0, 0.2, 0.8, 1.0], [0, 0, 1, 0], n_bins=2)[0].details
    assert table["belief"].tolist() == pytest.approx([0.1, 0.9])
    assert table["target"].tolist() == [0.0, 0.5]
    rng = np.random.default_rng(4)
    belief, truth, exact = rng.random(100), rng.integers(0, 2, 100), np.full(100, 0.9)
    for result in calibration(belief, truth, p_true=exact):
        target = exact if result.check.endswith(("rmse", "_exact")) else truth
        assert result.details["target"] @ result.details["n"] == pytest.approx(target.sum())


def test_equal_errors_have_no_interval():
    """Always right, or always wrong by the same: the contexts do not differ, so nothing tells how
    far off the estimate may be."""
    state = np.arange(40) % 2
    sure = calibration(state, state, p_true=state)
    shifted = calibration(0.5 * state + 0.2, p_true=0.5 * state + 0.1)
    for result in [*sure, *shifted]:
        assert result.interval is None
        assert (result.reason == "no interval, because all contexts have the same error") == (
            ":ece" not in result.check
        )
    assert {result.statistic for result in sure} == {0.0}
    assert shifted[0].statistic == pytest.approx(0.1)
    assert sure[3].reason.startswith("no interval, because")
    # A single error is enough for a spread.
    one_wrong = calibration(np.where(np.arange(40) == 7, 0, state), state)[0]
    assert one_wrong.interval.low < one_wrong.statistic == 1 / 40 < one_wrong.interval.high
    assert one_wrong.reason == ""


@pytest.mark.lengthy
def test_noise_is_removed_from_the_calibration_error():
    """Perfectly calibrated beliefs: chance keeps the plain error well above 0, and the squared
    error without chance averages to 0."""
    squares, plain = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        belief = rng.uniform(0.1, 0.9, 300)
        truth = (rng.random(300) < belief).astype(int)
        results = {r.check: r for r in calibration(belief, truth)}
        error = results["calibration:calibration_error"]
        assert error.interval.low <= error.statistic <= error.interval.high
        squares.append(error.statistic == 0)
        plain.append(results["calibration:ece"].statistic)
    assert 0.4 < np.mean(squares) < 0.8  # about half of the squared errors fall below 0
    assert min(plain) > 0.02


def test_the_error_of_one_belief_is_that_of_its_share():
    """With one gap the interval inverts a t test of its size: far from 0 it is the t interval."""
    truth = (np.arange(100) < 80).astype(int)
    result = calibration(np.full(100, 0.5), truth)[1]
    reach = stats.t.ppf(0.975, 99) * math.sqrt(0.16 / 99)
    assert (result.low, result.high) == pytest.approx((0.3 - reach, 0.3 + reach), abs=0.002)


def test_order_of_rows_and_the_name_of_the_states_do_not_matter():
    """Breaks if a row meets the target or the context of another."""
    rng = np.random.default_rng(9)
    context = rng.integers(0, 15, 80)
    belief, exact = rng.random(80), rng.random(80)
    truth = (rng.random(80) < exact).astype(int)
    results = calibration(belief, truth, p_true=exact, context=context)
    order = rng.permutation(80)
    moved = calibration(belief[order], truth[order], p_true=exact[order], context=context[order])
    other = calibration(1 - belief, 1 - truth, p_true=1 - exact, context=context)
    for first, second, third in zip(results, moved, other, strict=True):
        for other in (second, third):
            assert other.statistic == pytest.approx(first.statistic, abs=1e-12)
            ends = pytest.approx((first.low, first.high), abs=1e-9, nan_ok=True)
            assert (other.low, other.high) == ends
