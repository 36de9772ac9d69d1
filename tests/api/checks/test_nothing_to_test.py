"""Data that leave nothing to test: no number is made up, and the reason is said."""

import math
from functools import partial

import numpy as np
import pytest

from coherence import (
    cmi_test,
    monotone_choice_test,
    predictive_gain_test,
    sufficiency_test,
)

OF_TRUTH = [cmi_test, sufficiency_test, predictive_gain_test]
OF_CHOICE = [partial(monotone_choice_test, pair=("yes", "no"))]
ONE_ACTION, ONE_STATE, ONE_BELIEF = (
    {"action": ["yes"] * 40},
    {"truth": [1] * 40},
    {"belief": [0.5] * 40},
)
CASES = [(OF_TRUTH, ONE_ACTION, "only one action"), (OF_TRUTH, ONE_STATE, "constant (1)")]
CASES += [(OF_CHOICE, ONE_ACTION, "only "), (OF_CHOICE, ONE_BELIEF, "fewer than two belief bins")]
CASES += [(OF_CHOICE, {"context": np.arange(40) // 10}, "fewer than 10")]


@pytest.mark.parametrize(("tests", "changes", "reason"), CASES)
def test_data_that_do_not_vary_give_no_number_and_a_reason(tests, changes, reason):
    table = {"belief": np.linspace(0, 1, 40), "action": ["yes", "no"] * 20} | changes
    truth = {"truth": np.random.default_rng(0).integers(0, 2, 40)} if tests is OF_TRUTH else {}
    for test in tests:
        found = test(**truth | table)
        assert math.isnan(found.statistic)
        assert math.isnan(found.pvalue)
        assert reason in found.reason
