"""Calls of figures that cannot be drawn: the parameter and the remedy are named."""

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, InputError, plots
from coherence.checks.monotone import MonotoneResult
from tests.api.tables import make_choices

RNG = np.random.default_rng(1)
BELIEF = RNG.random(120)
TRUTH, ACTION = (RNG.random(120) < BELIEF).astype(int), RNG.integers(2, size=120)


def result(check, kind=CheckResult):
    return kind(check, "", 0.1, "", None, 0.5, 9, 9)


def states(data=BELIEF, **changes):
    return plots.plot_state_shares(data, **{"action": ACTION, "truth": TRUTH} | changes)


def beliefs(*arguments):
    return plots.plot_beliefs(*arguments)


CALLS = [
    (lambda: beliefs(pd.DataFrame({"p": [None]})), "at least one parsed belief"),
    (lambda: beliefs(pd.DataFrame({"p_no": [0.1], "p_yes": [0.9]})), "must have a column p"),
    (lambda: beliefs(pd.DataFrame({"p": 0.1, "model": ["a", "b"]})), "2 values of 'model'"),
    (lambda: beliefs(pd.DataFrame({"p": [0.1]}), ["yes"]), "action must be left out beside"),
    (lambda: plots.plot_calibration(make_choices(p_true=False).assign(truth="x")), "be 0 or 1"),
    (lambda: plots.plot_calibration([0.1, 0.4], gaps=True), "or p_true be known"),
    (lambda: plots.plot_forest(pd.DataFrame({"p": [0.1]})), "lacking the columns check, estimate"),
    (lambda: plots.plot_pairwise_choice(result("a", MonotoneResult)), "must have bins to draw"),
    (lambda: plots.plot_pairwise_choice(result("cmi")), "received cmi"),
    (lambda: plots.plot_power(pd.DataFrame()), "lacking the columns agent, check, signal"),
    (lambda: plots.plot_state_shares(result("cmi")), "sufficiency_test; received a result of cmi"),
    (lambda: states(shown="maybe"), "shown must be an action; received 'maybe'"),
    (lambda: states(truth=np.repeat(["rain", "dry"], 60)), "nothing says which of the two"),
    (lambda: states(truth=None), "no state is known"),
    (lambda: states(action=None), "no parsed actions"),
    (lambda: states(ax=3), "ax must be matplotlib Axes"),
]


@pytest.mark.parametrize(("call", "said"), CALLS)
def test_what_cannot_be_drawn_is_said(call, said):
    with pytest.raises(InputError, match=said):
        call()
