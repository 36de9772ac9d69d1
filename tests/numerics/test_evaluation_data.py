"""Belief, action and truth together: aligned codes, and which state the belief is in."""

import numpy as np
import pandas as pd
import pytest

from coherence.statistics.evaluation import as_choices, evaluation_data

BELIEF, ACTION = [0.1, 0.8, 0.3], ["x", "y", "x"]


@pytest.mark.parametrize(
    ("action", "truth", "reason"),
    [
        (["x"] * 10, [0, 1] * 5, "only one action was seen ('x')"),
        (["x", "y"] * 5, [1] * 10, "truth is constant (1)"),
        (["x", "y"] * 5, [0, 1] * 5, ""),
        (["x", "y"] * 4 + ["x"], [0, 1] * 4 + [0], "9 contexts are fewer than 10"),
        ([[1.0, 0.0]] * 12, [0, 1] * 6, "only one action was seen (0)"),
    ],
)
def test_data_of_which_nothing_can_be_said_say_why(action, truth, reason):
    assert as_choices([0.5] * len(action), action, truth, None).degenerate == reason


@pytest.mark.parametrize("policies", [False, True])
def test_some_rows_are_what_they_would_be_if_they_were_all(policies):
    """Else a check would see contexts, labels or groups that none of its rows has."""
    rng = np.random.default_rng(1)
    context = np.repeat([f"c{n}" for n in range(12)], 3)
    rows = pd.DataFrame({"context": context, "belief": rng.random(36).round(2)})
    rows["group"] = np.repeat(list("abcd"), 9)
    rows["truth"] = np.repeat(rng.integers(0, 2, 12), 3)
    rows["posterior"] = np.repeat(rng.random(12), 3)
    action = pd.Series(rng.choice(["x", "y", "z"], 36))
    if policies:
        action = pd.DataFrame(rng.dirichlet([1, 1, 1], 36), columns=list("zxy"))
    known = (rng.random(36) < 0.6) & (context != "c3")
    action[~known] = np.nan

    def data(some, action, **options):
        named = {"posterior": some["posterior"], "group": some["group"]}
        arrays = some["belief"], action, some["truth"], some["context"]
        return evaluation_data(*arrays, **named, **options)

    part = data(rows, action, missing=True).subset(known)
    alone = data(rows[known], action[known])
    for name in ("belief", "action", "truth", "context", "share", "posterior", "group", "state"):
        np.testing.assert_array_equal(getattr(part, name), getattr(alone, name), err_msg=name)
    for name in ("actions", "states", "contexts", "groups", "positive_code"):
        assert getattr(part, name) == getattr(alone, name)
    np.testing.assert_array_equal(part.with_exact_state().exact, alone.with_exact_state().exact)
