"""Calibration estimates against closed forms and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from tests.api.tables import calibration


def test_closed_forms():
    rng = np.random.default_rng(0)
    exact = rng.uniform(0.1, 0.9, 2000)
    truth = (rng.random(2000) < exact).astype(int)
    rmse, brier = calibration(exact + 0.05, truth, p_true=exact)
    assert rmse.statistic == pytest.approx(0.05)
    assert brier.statistic == pytest.approx(brier_score_loss(truth, exact + 0.05))
    assert brier.interval.low < brier.statistic < brier.interval.high


def test_equal_errors_have_no_interval():
    """Always right, or always wrong by the same: the contexts do not differ, so nothing tells how
    far off the estimate may be."""
    state = np.arange(40) % 2
    sure = calibration(state, state, p_true=state)
    shifted = calibration(0.5 * state + 0.2, p_true=0.5 * state + 0.1)
    for result in [*sure, *shifted]:
        assert result.interval is None
        assert result.reason == "no interval, because all contexts have the same error"
    assert {result.statistic for result in sure} == {0.0}
    assert shifted[0].statistic == pytest.approx(0.1)
    # A single error is enough for a spread.
    one_wrong = calibration(np.where(np.arange(40) == 7, 0, state), state)[0]
    assert one_wrong.interval.low < one_wrong.statistic == 1 / 40 < one_wrong.interval.high
    assert one_wrong.reason == ""


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
