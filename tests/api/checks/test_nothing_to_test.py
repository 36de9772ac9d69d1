"""Data that leave nothing to test: no number is made up, and the reason is said."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from coherence import (
    analyze,
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


@pytest.mark.parametrize("n_seen", [2, 3])
def test_beliefs_that_settle_the_state_leave_nothing_to_compare_in_any_number_of_states(n_seen):
    """Breaks if the most probable of three states, which always came true, gives a p-value."""
    rng = np.random.default_rng(4)
    belief = rng.dirichlet([1, 1, 1], 90)
    if n_seen == 2:
        belief = belief[belief.argmax(axis=1) < 2]
    truth = np.array([*"abc"], dtype=object)[belief.argmax(axis=1)]
    action = np.where(rng.random(len(truth)) < 0.8, truth, "a")
    names = [f"p_{state}" for state in "abc"]
    table = pd.DataFrame(belief, columns=names).assign(action=action, theta=truth)
    report = analyze(table, checks=["sufficiency", "cmi"], rng=1)
    for result in report.evaluations[0].results:
        assert math.isnan(result.pvalue)
        assert "separates the states" in result.reason
    assert "nothing is left open" in str(report)
