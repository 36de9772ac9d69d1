"""Data that leave nothing to test: no number is made up, and the reason is said."""

import math

import numpy as np
import pytest

from coherence import (
    cmi_test,
    monotone_choice_test,
    monotone_direction_test,
    predictive_gain_test,
    residual_covariance_test,
)

BELIEF = np.linspace(0, 1, 40)
ACTION = np.array(["yes", "no"] * 20)
TRUTH = np.random.default_rng(0).integers(0, 2, 40)
TEN_EACH = np.arange(40) // 10
PAIR = ("yes", "no")
OF_TRUTH = [cmi_test, residual_covariance_test, predictive_gain_test]
ONE_BELIEF, ONE_ACTION, ONE_STATE = np.full(40, 0.5), np.array(["yes"] * 40), np.ones(40, dtype=int)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        *(
            (lambda test=test: test(BELIEF, ONE_ACTION, TRUTH), "only one action")
            for test in OF_TRUTH
        ),
        *((lambda test=test: test(BELIEF, ACTION, ONE_STATE), "constant (1)") for test in OF_TRUTH),
        (lambda: monotone_direction_test(BELIEF, ONE_ACTION), "only one action was seen ('yes')"),
        (lambda: monotone_direction_test(ONE_BELIEF, ACTION), "fewer than two belief bins"),
        (lambda: monotone_direction_test(BELIEF, ACTION, context=TEN_EACH), "fewer than 10"),
        (lambda: monotone_choice_test(BELIEF, ONE_ACTION, pair=PAIR), "only 'yes' was chosen"),
        (lambda: monotone_choice_test(ONE_BELIEF, ACTION, pair=PAIR), "fewer than two belief bins"),
        (
            lambda: monotone_choice_test(BELIEF, ACTION, pair=PAIR, context=TEN_EACH),
            "fewer than 10",
        ),
    ],
)
def test_data_that_do_not_vary_give_no_number_and_a_reason(result, reason):
    found = result()
    assert math.isnan(found.statistic)
    assert math.isnan(found.pvalue)
    assert reason in found.reason
