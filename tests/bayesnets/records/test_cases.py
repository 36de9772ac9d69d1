import logging

import numpy as np
import pandas as pd
import pytest

from bayesnets import RecordTask, coverage, sample_record_cases
from coherence import InputError

COVARIATES = ("smoke", "bronc", "xray", "dysp")


def test_cases_have_the_columns_of_cases_from_a_network(task):
    cases = sample_record_cases(task, 40, rng=1)
    features = [f"x_{name}" for name in COVARIATES]
    assert list(cases.columns) == [
        "context",
        *features,
        "theta",
        "p_true",
        "truth_kind",
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
    assert f"all {capacity.sum()} found" in note
    assert sample_record_cases(task, 40, even=False, rng=1).attrs["coverage"]["note"] == ""
    assert sample_record_cases(task, 3, n_bins=1, rng=1).attrs["coverage"]["note"] == ""


def test_truth_is_the_share_and_theta_is_a_record_of_the_stratum(
    task, records, evidence_of, matching
):
    cases = sample_record_cases(task, 40, rng=2)
    for row, evidence in zip(
        cases.to_dict("records"), evidence_of(cases).to_dict("records"), strict=True
    ):
        inside = matching(records, evidence)
        assert len(inside) == row["n"] >= 100
        assert row["p_true"] == (inside["either"] == "yes").mean()
        assert row["record"] in inside.index
        assert row["theta"] == (records.loc[row["record"], "either"] == "yes")


def test_z_has_enough_records_in_every_state(task, records, evidence_of, matching):
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


@pytest.mark.lengthy
def test_weights_lead_back_to_the_natural_design(task, evidence_of):
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


def test_wrong_calls_for_cases_are_named(task, records):
    with pytest.raises(
        InputError,
        match=r"5000 cases were asked for, and \d+ strata with 1 to 3 observed covariates "
        r"have at least 100 records",
    ):
        sample_record_cases(task, 5000)
    with pytest.raises(
        InputError, match="auxiliary must be a covariate, not 'smok'. Did you mean 'smoke'"
    ):
        sample_record_cases(task, 5, auxiliary="smok")
    with pytest.raises(InputError, match="task must be a RecordTask, not DataFrame"):
        sample_record_cases(records, 5)
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        sample_record_cases(task, 0)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0; received -1"):
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
