import itertools
import logging
import subprocess
import sys
import tomllib
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bayesnets import coverage, load_network, posterior, sample
from bayesnets.records.cases import sample_record_cases
from bayesnets.records.datasets import dataset_names, load_dataset
from bayesnets.records.strata import strata
from bayesnets.records.task import RecordTask
from coherence.errors import InputError

COVARIATES = ("smoke", "bronc", "xray", "dysp")


@pytest.fixture(scope="module")
def records():
    return sample(load_network("asia"), 4000, rng=1)


@pytest.fixture(scope="module")
def task(records):
    return RecordTask("clinic", records, COVARIATES, "either", "yes")


def evidence_of(table):
    columns = [column for column in table.columns if column.startswith("x_")]
    return table[columns].rename(columns=lambda column: column.removeprefix("x_"))


def matching(records, states):
    rows = np.ones(len(records), dtype=bool)
    for variable, state in states.items():
        if state is not None:
            rows &= (records[variable] == state).to_numpy()
    return records[rows]


def brute_strata(records, covariates, target, positive, least):
    found = {}
    for size in range(1, len(covariates) + 1):
        for subset in itertools.combinations(covariates, size):
            for states, group in records.groupby(list(subset)):
                if len(group) >= least:
                    found[tuple(zip(subset, states, strict=True))] = (
                        len(group),
                        int((group[target] == positive).sum()),
                    )
    return found


@pytest.mark.parametrize("least", [1, 100, 700])
@pytest.mark.parametrize("seed", range(3))
def test_strata_are_those_of_a_count_by_hand(seed, least, random_network):
    network = random_network(seed, n_nodes=5)
    records = sample(network, 3000, rng=seed)
    target, covariates = (
        network.names[2],
        [name for name in network.names if name != network.names[2]],
    )
    table = strata(records, covariates, target, positive="s1", min_records=least)
    found = {
        tuple((name, state) for name, state in row.items() if state is not None): (n, k)
        for row, n, k in zip(
            evidence_of(table).to_dict("records"), table["n"], table["n_positive"], strict=True
        )
    }
    assert found == brute_strata(records, covariates, target, "s1", least)
    assert len(found) == len(table)
    np.testing.assert_array_equal(table["p_true"], table["n_positive"] / table["n"])
    sizes = evidence_of(table).notna().sum(axis=1)
    assert sizes.is_monotonic_increasing


def test_wilson_intervals_are_those_of_statsmodels():
    table = pd.DataFrame(
        {
            "a": ["x"] * 50 + ["y"] * 50 + ["z"] * 30,
            "b": ["no"] * 50 + ["yes"] * 50 + ["yes"] * 7 + ["no"] * 23,
        }
    )
    found = strata(table, ["a"], "b", positive="yes", min_records=1)
    low, high = proportion_confint(found["n_positive"], found["n"], method="wilson")
    np.testing.assert_allclose(found[["low", "high"]], np.column_stack([low, high]), atol=1e-12)
    assert found.loc[0, "low"] == 0
    assert found.loc[1, "high"] == 1


def test_sizes_and_order_of_states(records):
    table = strata(records, COVARIATES, "either", positive="yes", n_observed=(2, 3))
    assert set(evidence_of(table).notna().sum(axis=1)) == {2, 3}
    ordered = records.assign(smoke=pd.Categorical(records["smoke"], ["yes", "no", "never"]))
    assert strata(ordered, ["smoke"], "either", positive="yes")["x_smoke"].tolist() == ["yes", "no"]
    assert strata(records, ["smoke"], "either", positive="yes")["x_smoke"].tolist() == ["no", "yes"]


def test_missing_values_are_an_error_or_dropped(records):
    holes = records.astype(object)
    holes.loc[[5, 9], "smoke"] = None
    holes.loc[7, "tub"] = None
    with pytest.raises(
        InputError,
        match=r"2 rows of 4000 have missing values, the first at index 5, 9, in 'smoke' \(2 rows\)",
    ):
        strata(holes, ["smoke"], "either", positive="yes")
    # A hole in a column that is not used costs nothing.
    assert strata(holes, ["smoke"], "either", positive="yes", missing="drop")["n"].sum() == 3998


def test_cases_have_the_columns_of_cases_from_a_network(task):
    cases = sample_record_cases(task, 40, rng=1)
    features = [f"x_{name}" for name in COVARIATES]
    assert list(cases.columns) == [
        "context",
        *features,
        "theta",
        "p_true",
        "z",
        "weight",
        "probability_bin",
        "n",
        "low",
        "high",
        "record",
    ]
    assert cases["context"].is_unique
    assert cases["context"].str.startswith("clinic-either-").all()
    assert cases["weight"].mean() == pytest.approx(1)
    table = coverage(cases)
    assert (
        table["n"].tolist()
        == cases["probability_bin"].value_counts().reindex(range(20), fill_value=0).tolist()
    )
    below = table.loc[table["n"] < table["capacity"], "n"]
    assert below.max() - below.min() <= 1
    assert table["capacity"].sum() == len(task.strata(n_observed=(1, 3)))
    assert table["natural_share"].sum() == pytest.approx(1)


def test_bins_that_stay_short_are_told(task, caplog):
    with caplog.at_level(logging.WARNING, logger="bayesnets.records.cases"):
        cases = sample_record_cases(task, 40, rng=1)
    note = cases.attrs["coverage"]["note"]
    assert caplog.messages == [note]
    capacity = np.array(cases.attrs["coverage"]["capacity"])
    assert all(
        (f" {b / 20:.3g} to {(b + 1) / 20:.3g} ({capacity[b]})" in note) == (capacity[b] < 2)
        for b in range(20)
    )
    assert f"There are {capacity.sum()} strata" in note
    assert sample_record_cases(task, 40, even=False, rng=1).attrs["coverage"]["note"] == ""
    assert sample_record_cases(task, 3, n_bins=1, rng=1).attrs["coverage"]["note"] == ""


def test_truth_is_the_share_and_theta_is_a_record_of_the_stratum(task, records):
    cases = sample_record_cases(task, 40, rng=2)
    for row, evidence in zip(
        cases.to_dict("records"), evidence_of(cases).to_dict("records"), strict=True
    ):
        inside = matching(records, evidence)
        assert len(inside) == row["n"] >= 100
        assert row["p_true"] == (inside["either"] == "yes").mean()
        assert row["record"] in inside.index
        assert row["theta"] == (records.loc[row["record"], "either"] == "yes")


def test_theta_follows_the_share(task):
    draws = pd.concat([sample_record_cases(task, 40, rng=seed) for seed in range(60)])
    spread = np.sqrt((draws["p_true"] * (1 - draws["p_true"])).sum())
    assert abs(draws["theta"].sum() - draws["p_true"].sum()) < 4.5 * spread
    # Not the rounded share: undecided strata show both outcomes.
    undecided = draws[draws["p_true"].between(0.3, 0.7)]
    assert 0.2 < undecided["theta"].mean() < 0.8


def test_z_has_enough_records_in_every_state(task, records):
    cases = sample_record_cases(task, 40, rng=3)
    for z, evidence in zip(cases["z"], evidence_of(cases).to_dict("records"), strict=True):
        inside = matching(records, evidence)
        fit_to_ask = [
            name
            for name in COVARIATES
            if evidence[name] is None
            and inside[name].value_counts().reindex(["yes", "no"]).min() >= 100
        ]
        assert (z in fit_to_ask) if fit_to_ask else z is None
    assert 0.2 < cases["z"].notna().mean() < 1
    chosen = sample_record_cases(task, 20, auxiliary="smoke", rng=3)
    assert set(chosen["z"].dropna()) == {"smoke"}
    assert chosen["x_smoke"].isna().all()


def test_posteriors_of_the_network_are_shares_of_records(task, records):
    cases = sample_record_cases(task, 40, rng=4)
    evidence = evidence_of(cases)
    np.testing.assert_allclose(
        posterior(task.network, evidence, "either")["yes"], cases["p_true"], atol=1e-12
    )
    asked = cases["z"].notna()
    for position in np.flatnonzero(asked)[:8]:
        z, row = cases["z"].iloc[position], evidence.iloc[[position]]
        inside = matching(records, row.iloc[0].to_dict())
        weights = posterior(task.network, row, z).iloc[0]
        beliefs = {
            state: posterior(task.network, row.assign(**{z: state}), "either")["yes"].item()
            for state in weights.index
        }
        for state, weight in weights.items():
            assert weight == pytest.approx((inside[z] == state).mean(), abs=1e-12)
            assert beliefs[state] == pytest.approx(
                (inside.loc[inside[z] == state, "either"] == "yes").mean(), abs=1e-12
            )
        # Iterated expectation holds among shares of the same records.
        assert sum(weights[state] * beliefs[state] for state in weights.index) == pytest.approx(
            cases["p_true"].iloc[position], abs=1e-12
        )
    assert task.network.tables == "fitted"


def test_weights_lead_back_to_the_natural_design(task):
    table = task.strata(n_observed=(1, 3))
    sizes = evidence_of(table).notna().sum(axis=1)
    mass = table["n"] / sizes.map({1: 4, 2: 6, 3: 4})
    natural = np.average(table["p_true"], weights=mass)
    # With 40 cases every bin that has a stratum holds one.
    draws = [sample_record_cases(task, 40, rng=seed) for seed in range(200)]
    means = np.array([np.average(cases["p_true"], weights=cases["weight"]) for cases in draws])
    plain = np.array([cases["p_true"].mean() for cases in draws])
    assert abs(means.mean() - natural) < 4.5 * means.std() / np.sqrt(200)
    assert abs(plain.mean() - natural) > 0.1
    natural_design = [
        sample_record_cases(task, 5, even=False, rng=seed)["weight"].std() for seed in range(5)
    ]
    assert max(natural_design) < np.mean([cases["weight"].std() for cases in draws])


def test_a_seed_fixes_the_cases(task):
    pd.testing.assert_frame_equal(task.cases(20, seed=5), sample_record_cases(task, 20, rng=5))
    assert not task.cases(20, seed=5).equals(task.cases(20, seed=6))
    shuffled = RecordTask(
        "clinic", task.records.sample(frac=1, random_state=0), COVARIATES, "either", "yes"
    )
    by_evidence = [
        one.strata().sort_values([f"x_{name}" for name in COVARIATES], ignore_index=True)
        for one in (task, shuffled)
    ]
    pd.testing.assert_frame_equal(*by_evidence)


def test_a_later_change_of_the_table_does_not_reach_the_task(records):
    mine = records.copy()
    mine_task = RecordTask("clinic", mine, COVARIATES, "either", "yes")
    before = mine_task.strata()["n_positive"].sum()
    mine["either"] = "yes"
    assert mine_task.strata()["n_positive"].sum() == before
    assert mine_task.records["either"].nunique() == 2


def test_shares_of_nothing_or_all_stay_in():
    table = pd.DataFrame(
        {"a": ["x", "y"] * 200, "b": ["yes", "no"] * 200, "c": ["u"] * 200 + ["v"] * 200}
    )
    cases = sample_record_cases(RecordTask("sure", table, ("a", "c"), "b", "yes"), 4, rng=1)
    assert set(cases["p_true"]) == {0.0, 0.5, 1.0}
    assert cases.loc[cases["p_true"] == 0, "high"].item() > 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covariates": ["smoke", "age"]}, "these are absent: 'age'"),
        ({"covariates": "smoke"}, "covariates must be a sequence"),
        ({"covariates": []}, "covariates must be a sequence of one or more"),
        ({"covariates": ["smoke", "either"]}, "distinct and other than the target 'either'"),
        ({"covariates": ["smoke", "smoke"]}, "covariates must be distinct"),
        ({"target": "lungs"}, "Did you mean 'lung'"),
        ({"positive": "true"}, "positive must be a state of 'either', not 'true'. Known: no, yes"),
        ({"min_records": 0}, "min_records must be a positive whole number, not 0"),
        ({"min_records": 99.5}, "min_records must be a positive whole number, not 99.5"),
        (
            {"min_records": 5000},
            r"with 1 or more observed covariates the largest holds \d+ of 4000 records, fewer than 5000",
        ),
        ({"n_observed": 3}, r"n_observed must be .* from 1 to 2, not 3"),
        ({"n_observed": (2, 1)}, "n_observed must be"),
        ({"missing": "ignore"}, "missing must be 'error' or 'drop'"),
    ],
)
def test_wrong_input_is_named(records, change, message):
    call = {"covariates": ["smoke", "bronc"], "target": "either", "positive": "yes", **change}
    with pytest.raises(InputError, match=message):
        strata(records, call.pop("covariates"), call.pop("target"), **call)


def test_wrong_records_are_named(records):
    with pytest.raises(
        InputError, match=r"'age' of records must hold labels .* the first is 41 \(int\)"
    ):
        strata(records.assign(age=41), ["age"], "either", positive="yes")
    with pytest.raises(InputError, match=r"the largest holds 1 of 1 records, fewer than 100"):
        strata(records.head(1), ["smoke"], "either", positive=records["either"].iloc[0])
    with pytest.raises(
        InputError,
        match=r"with 2 or more observed covariates the largest holds (\d+) of 150 records",
    ) as caught:
        strata(records.head(150), ["smoke", "bronc"], "either", positive="no", n_observed=2)
    assert f"holds {records.head(150).groupby(['smoke', 'bronc']).size().max()} of" in str(
        caught.value
    )
    with pytest.raises(
        InputError, match="column 'smoke' of records must hold a label; all 4000 values are missing"
    ):
        strata(records.assign(smoke=None), ["smoke"], "either", positive="yes")


def test_wrong_calls_for_cases_are_named(task, records):
    with pytest.raises(
        InputError,
        match=r"5000 cases were asked for, and \d+ strata with 1 to 3 observed covariates have at least 100 records",
    ):
        sample_record_cases(task, 5000)
    with pytest.raises(
        InputError, match="auxiliary must be a covariate, not 'smok'. Did you mean 'smoke'"
    ):
        sample_record_cases(task, 5, auxiliary="smok")
    with pytest.raises(InputError, match="task must be a RecordTask, not DataFrame"):
        sample_record_cases(records, 5)
    with pytest.raises(InputError, match="n must be a positive whole number"):
        sample_record_cases(task, 0)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, not -1"):
        task.cases(5, seed=-1)
    with pytest.raises(InputError, match="one beside the auxiliary variable 'smoke'"):
        sample_record_cases(
            RecordTask("t", records, ("smoke",), "either", "yes"), 1, auxiliary="smoke"
        )
    wide = pd.DataFrame({f"v{number}": list("ab") * 200 for number in range(24)})
    with pytest.raises(
        InputError, match="at most 10,000,000 combinations .* 23 covariates have 16,777,216"
    ):
        _ = RecordTask("wide", wide, tuple(wide.columns[:-1]), "v23", "a").network


@pytest.mark.parametrize(
    ("name", "n", "share"), [("randhie", 19_138, 0.496029), ("breast_cancer", 569, 212 / 569)]
)
def test_data_sets_are_tasks(name, n, share):
    task = load_dataset(name)
    assert len(task.records) == n
    assert task.outcomes.mean() == pytest.approx(share, abs=1e-6)
    assert task.phrases.default_target == task.target
    assert task.phrases.positive(task.target) == task.positive
    cases = task.cases(40, seed=1)
    np.testing.assert_allclose(
        posterior(task.network, evidence_of(cases), task.target)[task.positive],
        cases["p_true"],
        atol=1e-12,
    )
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


def test_unknown_data_sets_are_named():
    with pytest.raises(InputError, match="not 'randhi'. Did you mean 'randhie'"):
        load_dataset("randhi")
    with pytest.raises(InputError, match="the largest holds 285 of 569 records, fewer than 400"):
        load_dataset("breast_cancer", min_records=400).strata()


def test_importing_the_package_loads_no_source_of_data():
    code = (
        "import sys, bayesnets, bayesnets.records.datasets, bayesnets.records.cases, "
        "bayesnets.records.fitting; "
        "print([m for m in ('statsmodels', 'sklearn', 'pgmpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
