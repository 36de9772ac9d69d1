import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, simulate
from coherence.analysis.pilot import read_pilot
from coherence.table.runs import Runs


@pytest.fixture(scope="module")
def runs():
    cells = [(model, task) for model in ("noisy", "rational") for task in "ab"]
    tables = (
        simulate(model, n_contexts=40, n_reps=2, rng=seed).assign(task=task)
        for seed, (model, task) in enumerate(cells)
    )
    return pd.concat(tables, ignore_index=True)


def test_it_is_the_rows_of_that_model_on_that_task(runs):
    data, name = read_pilot(Runs(runs), task="b", model="noisy")
    rows = runs[(runs["task"] == "b") & (runs["model"] == "noisy") & runs["action"].notna()]
    assert name == "noisy on b"
    assert data.belief.tolist() == rows["p"].tolist()
    assert [data.actions[code] for code in data.action] == rows["action"].tolist()


def test_several_models_need_a_name(runs):
    for options, said in (
        ({"task": "a"}, r"must leave one \(task, model\) .*; received 2: task 'a'"),
        ({"model": "noisi"}, "model must be one of the table; received 'noisi'.*noisy"),
    ):
        with pytest.raises(InputError, match=said):
            read_pilot(Runs(runs), **options)
    one = runs[(runs["task"] == "a") & (runs["model"] == "noisy")].drop(columns="action")
    with pytest.raises(InputError, match="an action and a state"):
        read_pilot(Runs(one))


def test_policies_and_labels_are_those_of_the_analysis():
    policies = simulate("rational", n_contexts=60, n_reps=1, policies=True, rng=1)
    data, _ = read_pilot(Runs(policies.assign(belief_kind="stated:exact")))
    assert data.policy is not None
    named = simulate("rational", n_contexts=60, n_reps=2, rng=1)
    named["theta"] = np.where(named["theta"] == 1, "ill", "well")
    data, _ = read_pilot(Runs(named), positive="ill")
    assert data.states == ("well", "ill")


@pytest.mark.parametrize(("n_groups", "unit"), [(20, "group"), (5, "context")])
def test_groups_are_the_units_where_there_are_ten(runs, n_groups, unit):
    grouped = runs.assign(group=pd.factorize(runs["context"])[0] % n_groups)
    data, _ = read_pilot(Runs(grouped), task="b", model="noisy")
    assert data.clusters.name == unit
    few = {"n_contexts": 20, "n_reps": 1, "signal": [], "n_simulations": 10}
    notes = coherence.power(data, check="calibration", **few, n_draws=99, rng=1).notes
    assert any("group" in note for note in notes) == (unit == "group")
