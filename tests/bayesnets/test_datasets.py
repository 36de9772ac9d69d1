import tomllib
from importlib.resources import files

import numpy as np
import pytest

from bayesnets import dataset_names, load_dataset, posterior


@pytest.mark.parametrize(
    ("name", "n", "share"), [("randhie", 19_138, 0.496029), ("breast_cancer", 569, 212 / 569)]
)
def test_data_sets_are_tasks(name, n, share, evidence_of):
    task = load_dataset(name)
    assert len(task.records) == n
    assert task.outcomes.mean() == pytest.approx(share, abs=1e-6)
    assert task.phrases.default_target == task.target
    assert task.phrases.positive(task.target) == task.positive
    cases = task.cases(40, seed=1)
    exact = posterior(task.network, evidence_of(cases), task.target)[task.positive]
    np.testing.assert_allclose(exact, cases["p_true"], atol=1e-12)
    assert cases["n"].min() >= 100
    assert cases["p_true"].max() - cases["p_true"].min() > 0.6


@pytest.mark.parametrize("name", dataset_names())
def test_every_state_of_a_data_set_has_words(name):
    task = load_dataset(name)
    assert task.phrases.n_wordings >= 3
    assert set(task.phrases.variables) == {*task.covariates, task.target}
    seen = []
    for variable, states in task.states.items():
        assert tuple(task.phrases.labels(variable)) == states
        for state in states:
            words = task.phrases.variables[variable].states[state]
            assert len(set(words.phrases)) == task.phrases.n_wordings
            seen += [*words.phrases, words.question]
    # Two states in the same words would be one piece of evidence.
    assert len(set(seen)) == len(seen)
    raw = tomllib.loads((files("bayesnets") / "words" / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(raw["variables"]) == set(task.states)


def test_cut_points_are_those_that_are_documented():
    from sklearn.datasets import load_breast_cancer
    from statsmodels.datasets import randhie

    raw = randhie.load_pandas().data
    task = load_dataset("randhie")
    raw = raw.loc[task.records.index]
    assert set(raw["physlm"]) == {0, 1}
    percent = (np.exp(raw["lncoins"]) - 1).round()
    plan = task.records["plan"]
    assert ((plan == "deductible") == (raw["idp"] == 1)).all()
    found = {
        state: set(group)
        for state, group in percent[plan != "deductible"].groupby(
            plan[plan != "deductible"], observed=True
        )
    }
    assert found == {"free": {0.0}, "part": {25.0, 50.0}, "most": {95.0}}
    for state, low, high in (("few", 0, 7), ("some", 8, 14), ("many", 17, 60)):
        assert raw.loc[task.records["chronic"] == state, "disea"].between(low, high).all()
    for state, low, high in (("none", 0, 1.001), ("small", 1.01, 500), ("large", 500, 2000)):
        assert np.exp(raw.loc[task.records["incentive"] == state, "lpi"]).between(low, high).all()
    assert ((raw["mdvis"] >= 2) == (task.records["frequent_visits"] == "yes")).all()
    assert (raw.loc[task.records["health"] == "excellent", ["hlthg", "hlthf", "hlthp"]] == 0).all(
        axis=None
    )
    samples = load_breast_cancer(as_frame=True).frame
    tumours = load_dataset("breast_cancer").records
    for name in ("radius", "texture", "smoothness", "concavity", "symmetry"):
        above = samples[f"mean {name}"] > samples[f"mean {name}"].median()
        assert ((tumours[name] == "high") == above).all()
    assert ((samples["target"] == 0) == (tumours["diagnosis"] == "malignant")).all()
