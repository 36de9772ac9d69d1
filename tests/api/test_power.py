"""Power predicted is power found: studies simulated and tested by the public functions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence import AGENTS, Costs, InputError, power, simulate

QUICK = {"n_simulations": 20, "n_draws": 99, "rng": 1}


def alike(counts, sizes):
    """Fisher's exact test that two shares are equal; level .001."""
    table = [[count, size - count] for count, size in zip(counts, sizes, strict=True)]
    return stats.fisher_exact(table).pvalue > 0.001


def found(agent, test, *, n, n_contexts, n_reps, seed=20_000, policies=False):
    """Count rejections in studies that `simulate` draws, as a user would."""
    rejected = 0
    for number in range(n):
        runs = simulate(
            agent, n_contexts=n_contexts, n_reps=n_reps, policies=policies, rng=seed + number
        )
        pvalue = test(runs)
        rejected += pvalue is not None and pvalue <= 0.05
    return rejected


def residual_covariance(runs, n_draws=999):
    rows = runs[runs["p"].notna() & (runs["z_state"].isna()) & (runs["prompt"] == "standard")]
    labels = ["yes", "no", "defer"]
    policies = "action_yes" in rows
    action = rows[[f"action_{label}" for label in labels]] if policies else rows["action"]
    arrays = rows["p"], action, rows["theta"]
    options = {"context": rows["context"], "n_draws": n_draws, "rng": 7}
    return coherence.residual_covariance_test(*arrays, **options).pvalue


def iterated_expectation(runs):
    return coherence.iterated_expectation_test(runs, rng=7).pvalue


@pytest.mark.lengthy
def test_the_prediction_is_what_an_independent_simulation_finds():
    agent = AGENTS["rational"].with_parameters(hidden_signal=0.3)
    table = power(
        "rational",
        n_contexts=40,
        n_reps=2,
        signal=0.3,
        planted="hidden_signal",
        check="residual_covariance",
        state="realised",
        n_simulations=150,
        rng=1,
    ).table
    predicted = table[table["quantity"] == "power"].iloc[0]
    assert 0.3 < predicted["power"] < 0.95  # where a wrong prediction would show
    rejected = found(agent, residual_covariance, n=60, n_contexts=40, n_reps=2)
    assert alike((predicted["n_rejected"], rejected), (150, 60))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "planted", "signal", "base", "n_contexts", "n_reps", "policies"),
    [
        ("residual_covariance", "hidden_signal", 0.2, "rational", 60, 3, False),
        ("residual_covariance", "hidden_signal", 0.1, "heaping", 60, 1, True),
        ("monotone_choice:yes/no", "peak", 1.0, "nonmonotone", 40, 2, False),
        ("iterated_expectation", "iterated_bias", 0.5, "rational", 120, 2, False),
        ("cmi", "hidden_signal", 0.3, "rational", 60, 2, False),
        ("rational_agent", "hidden_signal", 0.3, "noisy", 80, 3, False),
    ],
)
def test_predictions_of_every_check(check, planted, signal, base, n_contexts, n_reps, policies):
    """400 studies against 200 others, from planning to a report."""
    name = check.partition(":")[0]
    size = {"n_contexts": n_contexts, "n_reps": n_reps}
    plan = power(
        base,
        **size,
        signal=signal,
        planted=planted,
        check=name,
        policies=policies,
        n_simulations=400,
        rng=1,
    ).table
    predicted = plan[(plan["quantity"] == "power") & (plan["check"] == check)].iloc[0]

    def reported(runs):
        results = coherence.analyze(runs, checks=[name], rng=7).results.set_index("check")
        return results["pvalue"].get(check, np.nan)

    agent = AGENTS[base].with_parameters(**{planted: signal})
    rejected = found(agent, reported, n=200, **size, policies=policies)
    assert alike((predicted["n_rejected"], rejected), (400, 200)), (predicted, rejected)


@pytest.mark.slow
def test_the_plan_of_a_fitted_agent_is_near_the_power_of_the_agent_itself():
    """Fitted to 400 contexts: the agent is known up to its fit, so that 10 points are allowed."""
    runs = simulate("rational", n_contexts=400, n_reps=5, rng=1, iterated=False)
    rows = runs[runs["action"].notna()]
    fitted = coherence.fit_rational_agent(
        rows["p"], rows["action"], rows["theta"], context=rows["context"]
    )
    size = {"n_contexts": [60, 150], "n_reps": [1, 5], "signal": 0.2}
    own, likewise = (
        power(agent, **size, check="residual_covariance", rng=2).table["power"].to_numpy()
        for agent in ("rational", fitted)
    )
    np.testing.assert_allclose(likewise, own, atol=0.1)


@pytest.mark.lengthy
def test_every_share_has_its_exact_interval_and_its_row():
    checks = ["residual_covariance", "monotone_choice", "iterated_expectation"]
    options = {"n_contexts": [20, 30], "n_reps": [1, 2], "signal": [0.4, 0.2], "check": checks}
    table = power("rational", **options, **QUICK).table
    assert table.groupby("check").size().eq(12).all()
    assert set(table.loc[table["signal"] == 0, "quantity"]) == {"size"}
    assert set(table.loc[table["signal"] > 0, "quantity"]) == {"power"}
    for row in table.to_dict("records"):
        assert row["power"] == row["n_rejected"] / 20
        assert (row["low"], row["high"]) == tuple(
            stats.binomtest(int(row["n_rejected"]), 20).proportion_ci()
        )
    assert table["check"].unique().tolist() == [
        "residual_covariance",
        "residual_covariance with theta",
        "monotone_choice:yes/no",
        "monotone_choice:yes/defer",
        "monotone_choice:defer/no",
        "monotone_direction",
        "iterated_expectation",
    ]
    assert set(table["n_prompts"]) == {20 * 5, 20 * 2 * 5, 30 * 5, 30 * 2 * 5}


@pytest.mark.lengthy
def test_the_check_that_looks_for_what_is_planted_is_the_usual_one():
    few = {"n_contexts": 20, "n_reps": 2, "signal": [], **QUICK}
    for planted, check in (("iterated_bias", "iterated_expectation"), (None, "sufficiency")):
        table = power("rational", planted=planted, **few).table
        assert table["check"].str.startswith(check).all()


@pytest.mark.lengthy
def test_a_larger_grid_keeps_the_numbers_of_a_smaller_one():
    few = {"n_simulations": 10, "n_draws": 99, "rng": 1}
    small = power(
        "rational", n_contexts=20, n_reps=2, signal=0.4, check="monotone_choice", **few
    ).table
    large = power(
        "rational",
        n_contexts=[20, 25],
        n_reps=[1, 2],
        signal=[0.2, 0.4],
        check=["monotone_choice", "residual_covariance"],
        n_jobs=2,
        **few,
    ).table
    common = small.columns.drop("n_prompts")
    both = small.merge(large, on=["check", "signal", "n_reps", "n_contexts"], how="left")
    for name in common.drop(["check", "signal", "n_reps", "n_contexts"]):
        pd.testing.assert_series_equal(
            both[f"{name}_x"], both[f"{name}_y"], check_names=False, check_dtype=False
        )


def test_probabilities_are_asked_once_unless_more_is_said():
    few = {"n_contexts": 20, "signal": [], "check": "residual_covariance", "n_simulations": 10}
    table = power("rational", policies=True, **few, n_draws=99, rng=1).table
    assert set(table["n_reps"]) == {1}
    assert set(power("rational", **few, n_draws=99, rng=1).table["n_reps"]) == {5}


@pytest.mark.lengthy
def test_groups_are_the_units_of_the_plan():
    """What templates share is not taken for a signal, and a signal is found beside it."""
    options = {"n_contexts": 200, "n_reps": 1, "signal": 0.4, "check": "residual_covariance"}
    options["state"] = "exact"
    result = power("rational", **options, group=20, n_simulations=60, n_draws=199, rng=1)
    size, found = result.table.sort_values("signal").to_dict("records")
    assert size["n_rejected"] <= stats.binom.ppf(0.999, 60, 0.05)
    assert found["n_rejected"] > size["n_rejected"] + 5
    assert "groups of 20 contexts" in str(result)
    assert result.settings["group"] == {"size": 20, "taste": 1.0, "missed": 0.5}


@pytest.mark.lengthy
def test_a_level_of_its_own():
    options = {"n_contexts": 40, "n_reps": 2, "signal": 0.4, "check": "residual_covariance"}
    usual, strict = (power("rational", **options, alpha=a, **QUICK).table for a in (0.05, 0.01))
    assert (strict["n_rejected"] <= usual["n_rejected"]).all()
    assert (strict["n_rejected"] < usual["n_rejected"]).any()


@pytest.mark.lengthy
def test_what_is_undefined_does_not_reject_and_is_counted():
    """Reports that never differ leave `rational_agent` without a test."""
    few = {"n_simulations": 10, "n_draws": 99, "rng": 1}
    table = power("rational", n_contexts=20, n_reps=2, signal=[], check="rational_agent", **few)
    table = table.table
    assert (table["n_undefined"] == 10).all()
    assert (table["n_rejected"] == 0).all()


@pytest.mark.slow
def test_a_target_is_searched_for_and_its_size_stands_beside_it():
    said = []
    result = power(
        "rational",
        n_reps=2,
        signal=0.4,
        target=0.8,
        n_simulations=60,
        n_draws=99,
        costs=Costs(tokens_in=10),
        progress=lambda *of: said.append(of),
        rng=1,
    )
    (needed,) = result.needed.to_dict("records")
    assert needed["reached"]
    assert needed["low"] <= needed["n_contexts"] <= needed["high"]
    assert needed["n_prompts"] == needed["n_contexts"] * 2 * 2
    assert needed["tokens_in"] == needed["n_prompts"] * 10
    at = result.table[result.table["n_contexts"] == needed["n_contexts"]]
    assert set(at["quantity"]) == {"size", "power"}
    power_there = at.loc[at["quantity"] == "power"].iloc[0]
    assert power_there["low"] <= 0.8 <= power_there["high"]
    assert needed["sentence"] in str(result)
    assert said[-1][0] == said[-1][1]


@pytest.mark.lengthy
def test_a_target_beyond_the_limit_is_said_to_be():
    result = power(
        "rational",
        n_reps=1,
        signal=0.02,
        state="exact",
        target=0.8,
        limit=30,
        n_simulations=40,
        n_draws=99,
        rng=1,
    )
    (needed,) = result.needed.to_dict("records")
    assert not needed["reached"]
    assert "80% power is not reached with 30 contexts" in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check": "cni"}, "check must be among .*; received 'cni'. .*'cmi'"),
        ({"check": []}, "check must name at least one check; received none"),
        ({"check": "matching"}, "check 'matching' needs questions with a level"),
        ({"n_contexts": 5}, "n_contexts must be a whole number of at least 10; received 5"),
        ({"n_contexts": []}, "n_contexts must hold at least one number; received none"),
        ({"n_reps": 0}, "n_reps must be a whole number of at least 1; received 0"),
        ({"signal": 20}, "signal must hold numbers from -1 to 1; received 20"),
        ({"signal": "a"}, "signal must hold numbers from -1 to 1; received 'a'"),
        ({"alpha": 0}, "alpha must lie between 0 and 1; received 0"),
        ({"n_draws": 9}, "n_draws must be a whole number of at least 99; received 9"),
        ({"n_simulations": 1}, "n_simulations must be a whole number of at least 10"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1; received 0"),
        ({"target": 80}, "target must be a power between .05 and 1; received 80"),
        ({"target": 0.8, "n_contexts": 20}, "n_contexts cannot stand beside target"),
        ({"target": 0.8, "check": "calibration"}, "check must be a test .* 'calibration'"),
        ({"check": "prompt_consistency", "n_reps": 1}, "n_reps must be at least 2 for prompt"),
        ({"group": 20, "n_contexts": 100}, "n_contexts must make at least 10 groups of 20"),
        ({"group": 1}, "group must be a whole number of at least 2; received 1"),
        ({"group": 20, "target": 0.8, "limit": 300}, "limit must be a whole number of at leas"),
        ({"planted": "unstated"}, "received 'unstated': what is left unstated shows only where"),
        ({"planted": "slope"}, "planted must be a parameter of agents that is 0 where"),
        ({"agent": "leeky"}, "agent must be the name of an agent; received 'leeky'"),
        ({"agent": 3}, "agent must be the name of an agent, an Agent, a fitted"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, message):
    agent = options.pop("agent", "rational")
    with pytest.raises(InputError, match=message):
        power(agent, **options)


@pytest.fixture(scope="module")
def pilots():
    fitted = []
    for n_contexts in (40, 400):
        runs = simulate("rational", n_contexts=n_contexts, n_reps=2, rng=1, iterated=False)
        rows = runs[runs["action"].notna()]
        arrays = rows["p"], rows["action"], rows["theta"]
        fitted.append(coherence.fit_rational_agent(*arrays, context=rows["context"]))
    return fitted


@pytest.mark.lengthy
def test_a_plan_from_a_pilot_has_the_error_of_the_pilot(pilots):
    """A pilot ten times as large is known about three times as well."""
    options = {"n_contexts": 60, "n_reps": 2, "signal": 0.2, "check": "residual_covariance"}
    width = []
    for fitted in pilots:
        table = power(fitted, **options, n_simulations=80, n_draws=99, rng=1).table
        assert table.loc[table["quantity"] == "size", "pilot_low"].isna().all()
        (row,) = table[table["quantity"] == "power"].to_dict("records")
        assert row["pilot_low"] < row["low"] < row["power"] < row["high"] < row["pilot_high"]
        width.append(row["pilot_high"] - row["pilot_low"])
    assert width[0] > 1.3 * width[1]


@pytest.mark.lengthy
def test_the_error_of_a_pilot_stands_in_text_and_may_be_left_out(pilots):
    few = {"n_contexts": 80, "n_reps": 2, "signal": 0.4, "check": "residual_covariance", **QUICK}
    assert "with the error of the pilot" in str(power(pilots[0], **few))
    assert "pilot_low" not in power(pilots[0], **few, refits=0).table
    assert "pilot_low" not in power("rational", **few).table
    with pytest.raises(InputError, match="refits must be 0 or at least 6; received 3"):
        power(pilots[0], **few, refits=3)
    del few["n_contexts"]
    searched = power(pilots[0], **few, target=0.8)
    (needed,) = searched.needed.to_dict("records")
    assert "With the error of the pilot the power there is" in needed["sentence"]


@pytest.mark.lengthy
def test_a_fitted_agent_is_asked_for_what_it_can_give():
    runs = simulate("noisy", n_contexts=60, n_reps=2, rng=1, iterated=False)
    rows = runs[runs["action"].notna()]
    fitted = coherence.fit_rational_agent(
        rows["p"], rows["action"], rows["theta"], context=rows["context"]
    )
    with pytest.raises(InputError, match="check 'iterated_expectation' needs answers that"):
        power(fitted, check="iterated_expectation")
    with pytest.raises(InputError, match="'evidence_leak' needs .*: exact posteriors"):
        power(fitted, check="evidence_leak")
    with pytest.raises(InputError, match="planted must be hidden_signal for the fitted agent"):
        power(fitted, planted="peak")
    table = power(fitted, n_contexts=20, n_reps=2, signal=0.4, name="mine", **QUICK)
    assert "iterated_expectation" not in set(table.table["check"])
    assert table.settings["population"] == "mine"
    assert any("reports have noise" in note for note in table.notes)
