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
    size = {"n_contexts": n_contexts, "n_reps": n_reps, "policies": policies}
    studies = (simulate(agent, **size, rng=seed + number) for number in range(n))
    return sum(test(runs) <= 0.05 for runs in studies)


def sufficiency(runs):
    rows = runs[runs["action"].notna()]
    arrays = rows["p"], rows["action"], rows["theta"]
    return coherence.sufficiency_test(*arrays, context=rows["context"], rng=7).pvalue


def asked(name, n_contexts, n_reps=2):
    runs = simulate(name, n_contexts=n_contexts, n_reps=n_reps, rng=1, iterated=False)
    return runs.drop(columns=["p_true", "truth_kind"])


@pytest.mark.lengthy
def test_the_prediction_is_what_an_independent_simulation_finds():
    agent = AGENTS["rational"].with_parameters(hidden_signal=0.3)
    size, planted = {"n_contexts": 40, "n_reps": 2}, {"signal": 0.3, "planted": "hidden_signal"}
    options = {"check": "sufficiency", "state": "realised", "n_simulations": 150}
    table = power("rational", **size, **planted, **options, rng=1).table
    predicted = table[table["quantity"] == "power"].iloc[0]
    assert 0.3 < predicted["power"] < 0.95  # where a wrong prediction would show
    rejected = found(agent, sufficiency, n=60, **size)
    assert alike((predicted["n_rejected"], rejected), (150, 60))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "planted", "signal", "base", "n_contexts", "n_reps", "policies"),
    [
        ("sufficiency", "hidden_signal", 0.2, "rational", 60, 3, False),
        ("sufficiency", "hidden_signal", 0.1, "heaping", 60, 1, True),
        ("monotone_choice:yes/no", "peak", 1.0, "nonmonotone", 40, 2, False),
        ("iterated_expectation", "iterated_bias", 0.5, "rational", 120, 2, False),
        ("cmi", "hidden_signal", 0.3, "rational", 60, 2, False),
        ("sufficiency", "hidden_signal", 0.3, "noisy", 80, 3, False),
    ],
)
def test_predictions_of_every_check(check, planted, signal, base, n_contexts, n_reps, policies):
    """400 studies against 200 others, from planning to a report."""
    name = check.partition(":")[0]
    size = {"n_contexts": n_contexts, "n_reps": n_reps, "policies": policies}
    options = {"signal": signal, "planted": planted, "check": name, "n_simulations": 400}
    plan = power(base, **size, **options, rng=1).table
    predicted = plan[(plan["quantity"] == "power") & (plan["check"] == check)].iloc[0]

    def reported(runs):
        results = coherence.analyze(runs, checks=[name], rng=7).results.set_index("check")
        return results["pvalue"].get(check, np.nan)

    agent = AGENTS[base].with_parameters(**{planted: signal})
    rejected = found(agent, reported, n=200, **size)
    assert alike((predicted["n_rejected"], rejected), (400, 200)), (predicted, rejected)


@pytest.mark.slow
def test_the_plan_of_a_table_is_near_the_power_of_the_agent_itself():
    """400 contexts have an error of their own, so that 10 points are allowed."""
    options = {"n_contexts": [60, 150], "n_reps": [1, 5], "signal": 0.2, "rng": 2}
    own, likewise = (
        power(agent, **options, check="sufficiency").table["power"].to_numpy()
        for agent in ("rational", asked("rational", 400, n_reps=5))
    )
    np.testing.assert_allclose(likewise, own, atol=0.1)


@pytest.mark.lengthy
def test_every_share_has_its_exact_interval_and_its_row():
    checks = ["sufficiency", "monotone_choice", "iterated_expectation"]
    options = {"n_contexts": [20, 30], "n_reps": [1, 2], "signal": [0.4, 0.2], "check": checks}
    table = power("rational", **options, **QUICK).table
    assert table.groupby("check").size().eq(12).all()
    assert set(table.loc[table["signal"] == 0, "quantity"]) == {"size"}
    assert set(table.loc[table["signal"] > 0, "quantity"]) == {"power"}
    for row in table.to_dict("records"):
        assert row["power"] == row["n_rejected"] / 20
        ends = stats.binomtest(int(row["n_rejected"]), 20).proportion_ci()
        assert (row["low"], row["high"]) == tuple(ends)
    pairs = [f"monotone_choice:{pair}" for pair in ("yes/no", "yes/defer", "defer/no")]
    shown = ["sufficiency", "sufficiency with theta", *pairs]
    shown += ["iterated_expectation"]
    assert table["check"].unique().tolist() == shown
    assert set(table["n_prompts"]) == {20 * 5, 20 * 2 * 5, 30 * 5, 30 * 2 * 5}


@pytest.mark.lengthy
def test_a_larger_grid_keeps_the_numbers_of_a_smaller_one():
    few = {"n_simulations": 10, "n_draws": 99, "rng": 1}
    one = {"n_contexts": 20, "n_reps": 2, "signal": 0.4, "check": ["monotone_choice"]}
    more = {"n_contexts": [20, 25], "n_reps": [1, 2], "signal": [0.2, 0.4], "n_jobs": 2}
    more["check"] = ["monotone_choice", "sufficiency"]
    cell = ["check", "signal", "n_reps", "n_contexts"]
    small, large = (power("rational", **grid, **few).table.set_index(cell) for grid in (one, more))
    small, common = small.drop(columns="n_prompts"), large.loc[small.index]
    pd.testing.assert_frame_equal(small, common[small.columns], check_dtype=False)


def test_probabilities_are_asked_once_unless_more_is_said():
    few = {"n_contexts": 20, "signal": [], "check": "sufficiency", "n_simulations": 10}
    table = power("rational", policies=True, **few, n_draws=99, rng=1).table
    assert set(table["n_reps"]) == {1}
    assert set(power("rational", **few, n_draws=99, rng=1).table["n_reps"]) == {5}


@pytest.mark.lengthy
def test_groups_are_the_units_of_the_plan():
    """What templates share is not taken for a signal, and a signal is found beside it."""
    options = {"n_contexts": 200, "n_reps": 1, "signal": 0.4, "check": "sufficiency"}
    options["state"] = "exact"
    result = power("rational", **options, group=20, n_simulations=60, n_draws=199, rng=1)
    size, found = result.table.sort_values("signal").to_dict("records")
    assert size["n_rejected"] <= stats.binom.ppf(0.999, 60, 0.05)
    assert found["n_rejected"] > size["n_rejected"] + 5
    assert "groups of 20 contexts" in str(result)
    assert result.settings["group"] == {"size": 20, "taste": 1.0, "missed": 0.5}


@pytest.mark.lengthy
def test_what_is_undefined_does_not_reject_and_is_counted():
    """Two values of noisy reports leave the moments without a test."""
    options = {"n_contexts": 20, "n_reps": 2, "signal": [], "check": "sufficiency"}
    coarse = AGENTS["noisy"].with_parameters(grid=0.5)
    table = power(coarse, **options, **QUICK).table
    assert (table["n_undefined"] == 20).all()
    assert (table["n_rejected"] == 0).all()


@pytest.mark.slow
def test_a_target_is_searched_for_and_its_size_stands_beside_it():
    said, few = [], {"n_reps": 2, "n_simulations": 60, "n_draws": 99, "rng": 1}
    options = {"signal": 0.4, "target": 0.8, "costs": Costs(tokens_in=10)}
    result = power("rational", **few, **options, progress=lambda *of: said.append(of))
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
    beyond = power("rational", signal=0.02, state="exact", target=0.8, limit=30, **few)
    assert beyond.needed["reached"].tolist() == [False]
    assert "80% power is not reached with 30 contexts" in " ".join(str(beyond).split())


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
        ({"agent": 3}, "agent must be the name of an agent, an Agent, a runs table"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, message):
    agent = options.pop("agent", "rational")
    with pytest.raises(InputError, match=message):
        power(agent, **options)


@pytest.mark.lengthy
def test_a_table_is_asked_for_what_it_can_give():
    table = asked("noisy", 60)
    for options, said in (
        ({"check": "iterated_expectation"}, "check 'iterated_expectation' needs answers that"),
        ({"check": "evidence_leak"}, "'evidence_leak' needs .*: exact posteriors"),
        ({"planted": "peak"}, "planted must be hidden_signal for the table"),
    ):
        with pytest.raises(InputError, match=said):
            power(table, **options)
    result = power(table, n_contexts=20, n_reps=2, signal=0.4, name="mine", **QUICK)
    assert result.settings["population"] == "mine"
    assert any("reports have noise" in note for note in result.notes)
