"""Scores of forecasts: decomposition by hand, calibration by redrawn outcomes, pairs, screens."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence.errors import InputError, SchemaError
from coherence.statistics.shares import clustered_auc


def scored(belief, truth, **options):
    return coherence.calibration_test(belief, truth, n_draws=199, rng=1, **options)


def forecasters(n=60, **changes):
    """Two forecasters of the same questions, the second with noise in its log-odds."""
    rng = np.random.default_rng(5)
    good = rng.uniform(0.05, 0.95, n)
    noisy = 1 / (1 + np.exp(-np.log(good / (1 - good)) - rng.normal(0, 2, n)))
    truth = (rng.random(n) < good).astype(int)
    one = pd.DataFrame({"context": np.arange(n), "theta": truth})
    both = [one.assign(model="good", p=good), one.assign(model="noisy", p=noisy)]
    return pd.concat(both, ignore_index=True).assign(**changes)


def test_the_decomposition_by_hand():
    """Twelve forecasts of four values; isotonic regression pools .4 and .6."""
    belief = np.repeat([0.2, 0.4, 0.6, 0.8], 3)
    truth = [0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1]
    scores = scored(belief, truth).fitted
    # Recalibrated: 0 | (2 + 1) / 6 = .5 twice | 1; its squared error is 6 x .25 / 12 = .125.
    # Brier: (3 x .04 + 2 x .36 + .16 + .16 + 2 x .36 + 3 x .04) / 12 = 2 / 12.
    assert scores.brier == pytest.approx(2 / 12)
    assert scores.uncertainty == pytest.approx(0.25)
    assert scores.miscalibration == pytest.approx(2 / 12 - 0.125)
    assert scores.discrimination == pytest.approx(0.25 - 0.125)


def test_the_parts_add_up_however_many_rows_a_case_has():
    rng = np.random.default_rng(3)
    context = np.repeat(np.arange(50), rng.integers(1, 4, 50))
    belief = rng.random(context.size).round(2)
    truth = rng.integers(0, 2, 50)[context]
    scores = scored(belief, truth, context=context).fitted
    parts = scores.miscalibration - scores.discrimination + scores.uncertainty
    # The parts are of the mean forecasts, the Brier score of single ones.
    mean = pd.Series(belief).groupby(context).mean()
    outcome = pd.Series(truth).groupby(context).first()
    assert parts == pytest.approx(((mean - outcome) ** 2).mean(), abs=1e-8)
    of_case = pd.Series((belief - truth) ** 2).groupby(context).mean()
    assert scores.brier == pytest.approx(of_case.mean())


def crowd(rng, stretch, n=150, n_each=30):
    """People around a centre; a case happens with its mean forecast, made as extreme."""
    context = np.repeat(np.arange(n), n_each)
    centre = rng.uniform(0.15, 0.85, n)
    belief = np.clip(centre[context] + rng.normal(0, 0.25, context.size), 0, 1).round(2)
    mean = np.bincount(context, belief) / n_each
    happened = rng.random(n) < np.clip(0.5 + stretch * (mean - 0.5), 0, 1)
    return belief, happened[context].astype(int), context


def test_of_several_forecasts_of_a_case_the_mean_is_tested():
    """Breaks if rows make the statistic that outcomes redrawn from means are compared with."""
    rejected = {1.0: 0, 2.0: 0}
    for seed in range(20):
        for stretch in rejected:
            belief, truth, context = crowd(np.random.default_rng([3, seed]), stretch)
            result = scored(belief, truth, context=context)
            rejected[stretch] += result.pvalue <= 0.05
            mean = (np.bincount(context, belief) / 30).round(9)
            alone = scored(mean, truth[::30])
            assert result.statistic == pytest.approx(alone.statistic, abs=1e-7)
    assert rejected[2.0] >= 18
    assert rejected[1.0] <= 4
    assert "mean forecast of its case" in result.null
    assert "mean forecast" not in alone.null


def test_the_p_value_is_that_of_the_score_test_of_cox():
    """Chi-square with two degrees, where cases are many."""
    rng = np.random.default_rng(4)
    belief = rng.uniform(0.05, 0.95, 400)
    truth = (rng.random(400) < belief + 0.05 * (0.5 - belief)).astype(int)
    design = np.stack([np.ones(400), np.log(belief / (1 - belief))])
    score = design @ (truth - belief)
    information = (design * belief * (1 - belief)) @ design.T
    expected = stats.chi2.sf(score @ np.linalg.solve(information, score), 2)
    found = coherence.calibration_test(belief, truth, n_draws=4_999, rng=1).pvalue
    assert found == pytest.approx(expected, abs=0.03)
    # What was forecast with certainty and did not happen is no chance.
    sure = coherence.calibration_test([0.0, 1.0] * 20, [0, 1] * 19 + [1, 0], n_draws=199, rng=1)
    assert sure.pvalue == pytest.approx(1 / 200)


def test_overconfidence_is_rejected_and_no_interval_is_given():
    rng = np.random.default_rng(2)
    chance = rng.random(300)
    truth = (rng.random(300) < chance).astype(int)
    stated = chance**3 / (chance**3 + (1 - chance) ** 3)
    result = scored(stated, truth)
    assert result.pvalue == pytest.approx(1 / 200)
    assert result.interval is None
    inside = result.details["recalibrated"].between(result.details["low"], result.details["high"])
    assert inside.mean() < 0.9
    calibrated = scored(chance, truth).details
    assert calibrated["recalibrated"].between(calibrated["low"], calibrated["high"]).mean() > 0.9


def test_outcomes_that_depend_never_differ_or_are_few_take_numbers_away():
    belief, truth = np.tile([0.2, 0.9], 20), np.tile([0, 1], 20)
    dependent = scored(belief, truth, group=np.repeat(np.arange(20), 2))
    assert math.isnan(dependent.pvalue)
    assert "redrawn ones do not" in dependent.reason
    assert dependent.fitted.miscalibration == pytest.approx(0.025)
    groups = scored(belief, truth, group=np.arange(40) % 6)
    assert "6 groups are too few" in groups.reason
    assert groups.fitted.brier_interval is None
    # Where nothing happened yet, the errors seen do not show how large they can be.
    never = scored(np.linspace(0.01, 0.1, 40), np.zeros(40, int))
    assert never.fitted.brier_interval is None
    assert "same outcome" in never.reason
    assert 0 < never.pvalue <= 1
    few = scored([0.2, 0.9] * 3, [0, 1] * 3)
    assert np.isnan([few.statistic, few.fitted.brier]).all()
    assert few.reason


def test_a_case_has_one_outcome():
    with pytest.raises(InputError, match=r"truth must be constant within a context.*group"):
        scored([0.2] * 40, [0, 1] * 20, context=np.repeat(np.arange(20), 2))


def test_forecasts_alone_are_one_table_the_best_first():
    report = coherence.analyze(forecasters(), rng=1)
    assert report.scores["model"].tolist() == ["good", "noisy"]
    assert report.scores["brier"].is_monotonic_increasing
    record = json.loads(report.to_json())
    assert [row["model"] for row in record["scores"]] == ["good", "noisy"]
    for text in (" ".join(str(report).split()), report.to_html()):
        assert text.index("Brier score") < text.index("MCB") < text.index("p (Holm)")
        assert "No test rejects" not in text


def test_the_distance_to_the_exact_posterior_stands_in_the_table_where_it_is_known():
    rows = forecasters()
    exact = rows.assign(
        p_true=rows["context"].map(rows[rows["model"] == "good"].set_index("context")["p"])
    )
    assert "RMSE" not in str(coherence.analyze(rows, rng=1))
    report = coherence.analyze(exact, columns={"p_true": "p_true"}, rng=1)
    assert "RMSE" in str(report)
    assert report.scores["rmse"].iloc[0] == pytest.approx(0, abs=1e-9)
    assert report.scores["rmse"].iloc[1] > 0.1


def test_many_forecasters_have_one_page():
    table = forecasters()
    many = pd.concat([table.assign(model=table["model"] + str(at)) for at in range(3)])
    names = [name for name, _ in coherence.analyze(many, rng=1).to_files()]
    assert names == ["report.html"]


def test_the_interval_of_discrimination_is_that_of_a_jackknife_over_clusters():
    """Clusters whose rows share their noise and have either state."""
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(150), 4)
    state = rng.integers(0, 2, 600)
    belief = state + 2 * rng.normal(size=150)[cluster] + rng.normal(size=600)

    def area(rows):
        ranks, of = stats.rankdata(belief[rows]), state[rows]
        return (ranks[of == 1].mean() - (of.sum() + 1) / 2) / (of == 0).sum()

    left_out = np.array([area(cluster != at) for at in range(150)])
    error = math.sqrt(149 / 150 * ((left_out - left_out.mean()) ** 2).sum())
    value, low, high = clustered_auc(belief, state.astype(float), cluster)
    assert value == pytest.approx(area(cluster >= 0))
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.02)


def test_the_sentence_of_scores_counts_tests_that_are_rejected():
    rng, n = np.random.default_rng(3), 200
    chance = rng.random(n)
    one = pd.DataFrame({"context": np.arange(n), "theta": (rng.random(n) < chance).astype(int)})
    wrong = one.assign(p=1 - chance, model="wrong")
    right = one.assign(p=chance, model="right")
    for models, said in (
        ([wrong], "calibration is rejected"),
        ([right], "calibration is not rejected"),
        ([right, wrong], "calibration is rejected in 1 of 2 tests"),
    ):
        report = coherence.analyze(pd.concat(models), checks=["scores"], rng=1)
        assert said in " ".join(str(report).split())


# Scores of forecasts over three states and more: by hand, against scikit-learn, by redrawing.


STATES = ["away", "draw", "home"]


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


def test_updates_of_a_forecast_are_averaged_and_it_is_said():
    table = forecasters()
    assert "several forecasts" not in str(coherence.analyze(table, checks=["scores"], rng=1))
    updated = pd.concat([table, table[table["context"] < 9].assign(p=0.5)], ignore_index=True)
    report = coherence.analyze(updated, checks=["scores"], rng=1)
    said = " ".join(str(report).split())
    assert "MCB, DSC, UNC and p are those of their mean." in said
    assert "mean stated belief" in " ".join(report.evaluations[0].conclusion)
    losses = (updated["p"] - updated["theta"]) ** 2
    of_good = losses[updated["model"] == "good"].groupby(updated["context"]).mean()
    brier = report.scores.set_index("model").loc["good", "brier"]
    assert brier == pytest.approx(of_good.mean())
