"""action_information: the gain in predicting the state, what it takes, and what it does not say."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, action_information, analyze, simulate

FEW = {"n_seeds": 1, "rng": 1}


def answers(seed=1, n_contexts=120, n_reps=3, weight=0.0):
    """Choices that follow the belief and, with some weight, the rest of the exact posterior."""
    rng = np.random.default_rng(seed)
    exact = rng.uniform(0.02, 0.98, n_contexts)
    log_odds = np.log(exact) - np.log1p(-exact) + rng.normal(0, 1.2, n_contexts)
    belief = np.round(1 / (1 + np.exp(-log_odds)), 1)
    acted_on = belief + weight * (exact - belief)
    context = np.repeat(np.arange(n_contexts), n_reps)
    chance = 1 / (1 + np.exp(-8 * (acted_on - 0.5)))
    action = np.where(rng.random(context.size) < chance[context], "yes", "no")
    state = (rng.random(n_contexts) < exact).astype(int)
    rows = {"context": context, "rep": np.tile(np.arange(n_reps), n_contexts), "action": action}
    rows |= {"p": belief[context], "theta": state[context], "p_true": exact[context]}
    return pd.DataFrame(rows)


def estimate(rows, exact=True, action=None, **options):
    posterior = rows["p_true"] if exact else None
    arrays = rows["p"], rows["action"] if action is None else action, rows["theta"]
    return action_information(*arrays, exact=posterior, context=rows["context"], **FEW | options)


def test_what_the_action_adds_is_nothing_where_it_follows_the_belief():
    nothing, something = estimate(answers()), estimate(answers(weight=0.8))
    assert nothing.interval is None or nothing.interval.low < 0 < nothing.interval.high
    assert something.interval.low > 0
    assert something.pvalue is None
    assert something.contributions.sum() == pytest.approx(0, abs=1e-9)


def test_names_order_and_seed_move_nothing():
    """Breaks if folds go by ids: some would put 0 into the interval of this table, and some out."""
    rows = simulate("leaky", n_contexts=40, n_reps=3, rng=1)
    rows = rows[rows["action"].notna()].reset_index(drop=True)
    template = pd.factorize(rows["context"])[0] % 20
    renamed = 1000 - pd.factorize(rows["context"])[0]
    order = np.random.default_rng(0).permutation(len(rows))
    again = rows.assign(context=renamed, group=-template).loc[order]
    for exact in (True, False):
        for group, group_again in ((None, None), (template, again["group"])):
            first = estimate(rows, exact=exact, group=group, n_seeds=3)
            second = estimate(again, exact=exact, group=group_again, n_seeds=3, rng=2)
            found = [(r.statistic, r.interval.low, r.interval.high) for r in (first, second)]
            assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_the_exact_posterior_gives_the_share_that_the_state_gives_with_less_noise():
    """Breaks if the variance of the state is left out of the error: the share would be tripled."""
    rows = answers(n_contexts=700, n_reps=1, weight=1.0)
    exact, realised = estimate(rows), estimate(rows, exact=False)
    assert exact.interval.high - exact.interval.low < realised.interval.high - realised.interval.low
    assert realised.interval.low < exact.statistic < realised.interval.high
    errors = exact.details.set_index("model")["mean_squared_error"]
    of_state = realised.details["mean_squared_error"][0]
    assert errors["without action"] == pytest.approx(of_state, rel=0.15)
    assert exact.statistic == pytest.approx(100 * errors["gain"] / errors["without action"])


def test_probabilities_of_actions_are_predictors_as_they_are():
    rows = answers(weight=0.8)
    chosen = estimate(rows)
    indicators = pd.get_dummies(rows["action"]).astype(float)
    assert estimate(rows, action=indicators).statistic == chosen.statistic
    policy = pd.DataFrame({"no": 1 - rows["p_true"], "yes": rows["p_true"]})
    known = estimate(rows, action=policy)
    assert known.statistic > 2 * chosen.statistic > 0


@pytest.mark.lengthy
def test_published_predicts_the_realised_state_and_counts_rows():
    rows = answers(weight=0.8)
    result = estimate(rows, exact=False, published=True, n_bootstraps=200)
    assert result.settings["target"] == "realised state"
    assert "bootstrap over rows" in result.interval.method
    assert result.settings["n_trees"] == 100
    with pytest.raises(InputError, match="exact must be left out with published=True"):
        estimate(rows, published=True)
    policies = pd.DataFrame({"no": 1 - rows["p"], "yes": rows["p"]})
    refused = action_information(rows["p"], policies, rows["theta"], published=True)
    assert "takes chosen actions" in refused.reason


def test_groups_are_the_units_where_they_are_named():
    rows = answers()
    of_groups = estimate(rows, group=rows["context"] // 6)
    assert "groups as clusters" in of_groups.interval.method
    few = estimate(rows, group=rows["context"] // 30)
    assert math.isnan(few.statistic)
    assert "too few to be the clusters" in few.reason


def test_nothing_to_estimate_is_said():
    for rows, reason in (
        (answers().assign(action="yes"), "only one action was seen ('yes')"),
        (answers().assign(p_true=0.3), "the exact posterior is the same in every context"),
        (answers(n_contexts=8), "fewer than 10"),
    ):
        result = estimate(rows)
        assert math.isnan(result.statistic)
        assert reason in result.reason
    one_state = answers().assign(theta=1)
    assert "realised state is the same" in estimate(one_state, exact=False).reason
    assert not math.isnan(estimate(one_state).statistic)


@pytest.mark.lengthy
def test_it_runs_by_name_alone_and_takes_the_posterior_where_every_row_has_it():
    rows = answers(n_contexts=30, n_reps=1).assign(truth_kind="drawn")
    light = analyze(rows, checks=["calibration", "action_information"], rng=1)
    row = light.results.set_index("check").loc["action_information"]
    assert '"target": "exact posterior"' in row["settings"]
    assert row["verdict"].startswith("Beside the stated belief, the action saves")
    assert math.isnan(row["pvalue"])
    some = rows.assign(p_true=rows["p_true"].where(rows["context"] > 3))
    (unit,) = analyze(some, checks=["action_information"], rng=1).evaluations
    assert unit.results[0].settings["target"] == "realised state"
    assert any("26 of 30 rows" in note.text for note in unit.notes)
