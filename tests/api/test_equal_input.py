"""Equal input, equal output: what says the same gives the same p-value."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from coherence import (
    analyze,
    calibration_test,
    cmi_test,
    predictive_gain_test,
    sufficiency_test,
)

TESTS = pytest.mark.parametrize("test", [cmi_test, sufficiency_test])
MONTE_CARLO = 0.06  # five standard errors of a difference of two p-values from 2,999 permutations


def a_table(seed, n=80):
    """Three answers to each of 80 cases, whose state is as likely as believed."""
    rng = np.random.default_rng([7, seed])
    belief, context = rng.random(n).round(2), np.repeat(np.arange(n), 3)
    truth = (rng.random(n) < belief).astype(int)
    drive = 8 * (belief[context] + 0.1 * truth[context] - 0.5)
    action = np.where(rng.random(context.size) < 1 / (1 + np.exp(-drive)), "yes", "no")
    return belief[context], action, truth[context], context


@TESTS
@pytest.mark.parametrize("seed", range(2))
def test_a_belief_in_the_state_or_in_its_absence(test, seed):
    """Breaks if blocks of like belief begin at one end: p moves by up to .39 then."""
    belief, action, truth, context = a_table(seed)
    one = test(belief, action, truth, context=context, rng=0)
    other = test(1 - belief, action, 1 - truth, context=context, rng=0)
    assert other.pvalue == pytest.approx(one.pvalue, abs=MONTE_CARLO)


@pytest.mark.lengthy
def test_folds_of_the_gain_know_no_order_and_no_names():
    belief, action, truth, context = a_table(1)
    shuffled = np.random.default_rng(0).permutation(belief.size)
    pvalues = {
        predictive_gain_test(*rows, context=of_rows).pvalue
        for *rows, of_rows in (
            (belief, action, truth, context),
            (1 - belief, action, 1 - truth, context),
            (1 - belief, action, truth, context),  # the belief in the other state
            (belief, np.where(action == "yes", "a", "z"), np.where(truth, "b", "c"), -context),
            (belief[shuffled], action[shuffled], truth[shuffled], context[shuffled]),
            (belief.astype(np.float32), action, truth, context),
            (belief + 1e-12 * np.cos(shuffled), action, truth, context),
        )
    }
    assert len(pvalues) == 1


def test_floats_of_fewer_bits_in_a_table():
    belief, action, truth, context = a_table(2)
    runs = pd.DataFrame({"p": belief, "action": action, "theta": truth, "context": context})
    checks = ["sufficiency", "iterated_expectation", "monotone_choice"]
    one, *others = (
        analyze(runs.astype({"p": kind}), checks=checks, rng=0).results
        for kind in ("float64", "float32", "Float32", "float[pyarrow]")
    )
    for other in others:
        pd.testing.assert_frame_equal(one, other)


@TESTS
def test_the_order_of_three_states(test):
    rng = np.random.default_rng(9)
    belief = rng.dirichlet([1, 1, 1], 100)
    truth = (rng.random((100, 1)) > belief.cumsum(axis=1)[:, :2]).sum(axis=1)
    action = (rng.random((100, 1)) > softmax(4 * belief, axis=1).cumsum(axis=1)[:, :2]).sum(axis=1)
    pvalues = [
        test(belief[:, order], action, np.argsort(order)[truth], rng=0).pvalue
        for order in ([0, 1, 2], [1, 2, 0], [2, 1, 0])
    ]
    assert np.ptp(pvalues) < MONTE_CARLO


@pytest.mark.parametrize("test", [sufficiency_test, cmi_test, calibration_test])
def test_one_belief_written_in_several_ways(test):
    """Breaks if 0.3 and 1 - 0.7 part, in a column or among the reports of one case."""
    belief, action, truth, context = a_table(4)
    belief = belief.round(1)  # ties of cases
    again = np.where(np.arange(belief.size) % 2, 1 - (1 - belief), (belief + 1) - 1)
    assert (again != belief).any()
    options = {"context": context, "rng": 0}
    if test is not calibration_test:
        options["action"] = action
    results = {
        (result.statistic, result.pvalue)
        for result in (
            test(each, truth=truth, **options) for each in (belief, again, np.float32(again))
        )
    }
    assert len(results) == 1
