"""A margin is claimed where intervals lie within it, of all actions, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from coherence import InputError, analyze, cmi_test, simulate, sufficiency_test

CHECKS = ["sufficiency"]
LEAKY = simulate("leaky", n_contexts=200, n_reps=5, iterated=False, rng=1)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(1)
    context = np.repeat(np.arange(300), 4)
    belief = rng.integers(2, 19, 300) / 20
    truth = (rng.random(300) < belief).astype(int)
    share = 0.2 + 0.6 * belief[context]
    action = np.where(rng.random(context.size) < share, "yes", "no")
    columns = {"context": context, "p": belief[context], "theta": truth[context]}
    return pd.DataFrame({**columns, "action": action})


def test_the_interval_decides(runs):
    report = analyze(runs, checks=CHECKS, rng=1)
    (result,) = report.evaluations[0].results
    # Two actions have opposite differences: one interval tells of both.
    plain = result.also["plain_average"]
    least = max(-plain.low, plain.high)
    assert 0.01 < least < 0.2
    above, below = (
        analyze(runs, checks=CHECKS, rng=1, margin=least + away).evaluations[0].conclusion
        for away in (0.001, -0.001)
    )
    assert above[0].startswith("Within ")
    assert "Not shown to be within " in below[0]
    assert below[0].startswith(report.evaluations[0].conclusion[0])
    beyond = analyze(LEAKY, checks=CHECKS, margin=0.05, rng=1)
    (unit,) = beyond.evaluations
    assert unit.results[0].also["plain_average"].low > 0.05
    assert "Beyond 5 points: the average difference" in unit.conclusion[0]
    assert beyond.settings["margin"] == 0.05
    with pytest.raises(InputError, match=r"margin .*sufficiency.*checks=\['cmi'\]. Add"):
        analyze(runs, checks=["cmi"], margin=0.05)


def test_every_action_counts():
    """The action that moves most is not the one that the effect shown is about."""
    rng = np.random.default_rng(2)
    belief = rng.integers(2, 19, 400) / 20
    truth = (rng.random(400) < belief).astype(int)
    yes = 0.1 + 0.5 * belief
    no = (1 - yes) * (0.5 + 0.2 * (truth - belief))
    policies = np.stack([yes, no, 1 - yes - no], axis=1)
    table = pd.DataFrame({"context": range(400), "p": belief, "theta": truth})
    table["action"] = [rng.choice(["yes", "no", "defer"], p=row) for row in policies]
    (result,) = analyze(table, checks=CHECKS, rng=1).evaluations[0].results
    plain = result.also["plain_average"]
    shown = max(abs(plain.low), abs(plain.high))
    ends = result.details[["plain_low", "plain_high"]].abs()
    assert result.settings["component"].startswith("P(yes")
    least = ends.iloc[:3].to_numpy().max()
    assert least > shown
    for margin, opening in ((least + 0.001, "Within "), (least - 0.001, "Not shown to be within ")):
        (unit,) = analyze(table, checks=CHECKS, rng=1, margin=margin).evaluations
        assert opening in unit.conclusion[0]


def test_no_interval_no_claim(runs):
    few = runs[runs["context"] < 12].assign(theta=lambda rows: (rows["context"] == 0).astype(int))
    told = analyze(few, checks=CHECKS, margin=0.05, rng=1).evaluations[0].conclusion[0]
    assert told.startswith("Cannot tell: too few cases")
    assert "ithin" not in told


@pytest.mark.parametrize("margin", [1, 0, 1.5, True, "5"])
def test_a_margin_is_a_difference_of_probabilities(margin):
    with pytest.raises(InputError, match=f"between 0 and 1.*received {margin!r}"):
        analyze(LEAKY, checks=CHECKS, margin=margin)


# Equal input, equal output: what says the same gives the same p-value.


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
