import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, simulate
from coherence.analysis.fitting import fit_evaluation
from coherence.table.runs import Runs


@pytest.fixture(scope="module")
def runs():
    pieces = []
    for model in ("noisy", "rational"):
        for task in ("a", "b"):
            piece = simulate(model, n_contexts=40, n_reps=2, rng=len(pieces))
            pieces.append(piece.assign(task=task, model=model))
    return pd.concat(pieces, ignore_index=True)


def test_it_is_the_agent_of_that_model_on_that_task(runs):
    agent, name = fit_evaluation(Runs(runs), task="b", model="noisy")
    rows = runs[(runs["task"] == "b") & (runs["model"] == "noisy") & runs["action"].notna()]
    expected = coherence.fit_rational_agent(
        rows["p"], rows["action"], rows["theta"], context=rows["context"]
    )
    assert name == "noisy on b"
    pd.testing.assert_frame_equal(agent.thresholds, expected.thresholds)


def test_several_models_need_a_name(runs):
    with pytest.raises(
        InputError, match=r"must leave one \(task, model\) .*; received 2: task 'a'"
    ):
        fit_evaluation(Runs(runs), task="a")
    with pytest.raises(InputError, match="model must be one of the table; received 'noisi'.*noisy"):
        fit_evaluation(Runs(runs), model="noisi")


def test_policies_and_labels_are_those_of_the_analysis():
    policies = simulate("rational", n_contexts=60, n_reps=1, policies=True, rng=1)
    agent, _ = fit_evaluation(Runs(policies.assign(belief_kind="stated:exact")))
    assert agent.data.policy is not None
    assert not agent.noisy
    assert agent.cautions == ()  # computed beliefs have no noise that repetitions would show
    named = simulate("rational", n_contexts=60, n_reps=2, rng=1)
    named["theta"] = np.where(named["theta"] == 1, "ill", "well")
    agent, _ = fit_evaluation(Runs(named), positive="ill")
    assert agent.data.states == ("well", "ill")


def test_a_table_without_choices_is_refused():
    runs = simulate("rational", n_contexts=30, n_reps=1, rng=1).drop(columns="action")
    with pytest.raises(InputError, match="an action and a state"):
        fit_evaluation(Runs(runs))


@pytest.mark.parametrize(("n_groups", "unit"), [(20, "group"), (5, "context")])
def test_groups_are_the_units_where_there_are_ten(runs, n_groups, unit):
    grouped = runs.assign(group=pd.factorize(runs["context"])[0] % n_groups)
    agent, _ = fit_evaluation(Runs(grouped), task="b", model="noisy")
    assert agent.clusters.name == unit


def test_a_plan_from_grouped_answers_without_groups_says_so(runs):
    grouped = runs.assign(group=pd.factorize(runs["context"])[0] % 20)
    agent, _ = fit_evaluation(Runs(grouped), task="b", model="noisy")
    few = {"n_contexts": 20, "n_reps": 1, "signal": [], "refits": 0, "n_simulations": 10}
    notes = coherence.power(agent, **few, n_draws=99, rng=1).notes
    assert any("group" in note for note in notes)
