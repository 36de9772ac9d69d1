"""Scores of forecasts over three states and more: by hand, against scikit-learn, by redrawing."""

import math

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.errors import InputError, SchemaError

STATES = ["away", "draw", "home"]


def scored(belief, truth, **options):
    return coherence.calibration_test(belief, truth, n_draws=199, rng=1, **options)


def forecasts(n=200, power=1.0, seed=3):
    """Forecasts that are calibrated, or with another power overconfident, and what happened."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet([1.5, 1.5, 1.5], n)
    belief = chance**power / (chance**power).sum(axis=1, keepdims=True)
    outcome = (rng.random((n, 1)) > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
    return belief, np.array(STATES, dtype=object)[outcome]


def wide(n=80, **changes):
    belief, truth = forecasts(n)
    columns = {f"p_{state}": belief[:, at] for at, state in enumerate(STATES)}
    return pd.DataFrame({"context": np.arange(n), "theta": truth, **columns, **changes})


def test_scores_by_hand():
    """The score of Brier (1950) sums over states; the log score is that of what happened."""
    belief = np.tile([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], (10, 1))
    scores = scored(belief, ["home", "home"] * 10, states=["home", "draw", "away"]).fitted
    # .25 + .09 + .04 and .81 + .01 + .64
    assert scores.brier == pytest.approx((0.38 + 1.46) / 2)
    assert scores.n_states == 3
    assert scores.brier_interval is None  # all cases had the same outcome


def test_two_columns_are_one_belief():
    belief, truth = forecasts()
    values, happened = belief[:, 2], truth == "home"
    two = np.stack([1 - values, values], axis=1)
    wide_, plain = scored(two, happened, states=[False, True]), scored(values, happened)
    assert wide_.fitted == plain.fitted
    assert wide_.pvalue == plain.pvalue


def test_names_and_order_of_states_change_nothing():
    belief, truth = forecasts()
    one = scored(belief, truth, states=STATES)
    frame = pd.DataFrame(belief, columns=STATES)[["home", "away", "draw"]]
    assert scored(frame, truth).fitted.brier == pytest.approx(one.fitted.brier)
    assert math.isnan(one.pvalue)
    assert "Brier score alone" in one.reason
    assert one.statistic == one.fitted.brier
    assert f"{one.statistic:.4g} squared error (Brier score), 95% interval [" in str(one)
    assert "nan" not in str(one)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "each of the 3 columns of belief must be"),  # two labels came true
        ({"states": ["a", "b"]}, "each of the 3 columns of belief must be"),
        ({"states": ["a", "b", "c"]}, "truth must hold labels of states; received 'away', 'home'"),
        ({"states": STATES, "positive": "home"}, "positive names the state of a belief in one"),
    ],
)
def test_columns_must_be_known_by_name(options, said):
    with pytest.raises(InputError, match=said):
        scored([[0.5, 0.3, 0.2]] * 40, ["home", "away"] * 20, **options)
    with pytest.raises(InputError, match="states are the labels of several columns"):
        scored([0.5] * 40, [0, 1] * 20, states=[0, 1])


def test_wide_columns_are_scored_by_themselves(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # workers of a parallel run have 80, where headings wrap
    table = pd.concat([wide(model="one"), wide(model="two")], ignore_index=True)
    worse = table["model"] == "two"
    columns = [f"p_{state}" for state in STATES]
    table.loc[worse, columns] = np.roll(table.loc[worse, columns].to_numpy(), 1, axis=1)
    table.loc[table.index[-1], "theta"] = None
    report = coherence.analyze(table, rng=1)
    assert report.scores["model"].tolist() == ["one", "two"]
    assert report.scores["n_states"].tolist() == [3, 3]
    belief, truth = forecasts(80)
    direct = scored(belief, truth, states=STATES).fitted
    assert report.scores["brier"][0] == pytest.approx(direct.brier)
    for text in (" ".join(str(report).split()), report.to_html()):
        assert "sum over the states, from 0 to 2" in text
    with pytest.raises(SchemaError, match=r"replace.{'draw': 'STATE'}"):
        coherence.analyze(table.rename(columns={"p_draw": "p_tie"}))
