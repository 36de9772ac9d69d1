"""Records: breaks if a stratum, share, interval or case is not that of a count by hand."""

import itertools
import logging

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bayesnets import (
    RecordTask,
    coverage,
    load_network,
    posterior,
    sample,
    sample_record_cases,
    strata,
)
from coherence import InputError

COVARIATES = ("smoke", "bronc", "xray", "dysp")


@pytest.fixture(scope="module")
def records():
    return sample(load_network("asia"), 4000, rng=1)


@pytest.fixture(scope="module")
def task(records):
    return RecordTask("clinic", records, COVARIATES, "either", "yes")


def matching(records, states):
    """The records that show these states, by brute force."""
    seen = {variable: state for variable, state in states.items() if state is not None}
    return records[(records[list(seen)] == list(seen.values())).all(axis=1)]


def brute_strata(records, covariates, target, positive, least):
    found = {}
    for size in range(1, len(covariates) + 1):
        for subset in itertools.combinations(covariates, size):
            for states, group in records.groupby(list(subset)):
                if len(group) >= least:
                    n_positive = int((group[target] == positive).sum())
                    found[tuple(zip(subset, states, strict=True))] = (len(group), n_positive)
    return found


@pytest.mark.parametrize(("seed", "least"), [(0, 1), (1, 100), (2, 700)])
def test_strata_are_those_of_a_count_by_hand(seed, least, random_network, evidence_of):
    network = random_network(seed, n_nodes=5)
    records = sample(network, 3000, rng=seed)
    target = network.names[2]
    covariates = [name for name in network.names if name != target]
    table = strata(records, covariates, target, positive="s1", min_records=least)
    seen = evidence_of(table)
    keys = [
        tuple((name, state) for name, state in row.items() if state is not None)
        for row in seen.to_dict("records")
    ]
    counts = zip(table["n"], table["n_positive"], strict=True)
    found = dict(zip(keys, counts, strict=True))
    assert found == brute_strata(records, covariates, target, "s1", least)
    assert len(found) == len(table)
    np.testing.assert_array_equal(table["p_true"], table["n_positive"] / table["n"])
    assert seen.notna().sum(axis=1).is_monotonic_increasing


def test_wilson_intervals_are_those_of_statsmodels():
    b = ["no"] * 50 + ["yes"] * 50 + ["yes"] * 7 + ["no"] * 23
    table = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 50 + ["z"] * 30, "b": b})
    found = strata(table, ["a"], "b", positive="yes", min_records=1)
    low, high = proportion_confint(found["n_positive"], found["n"], method="wilson")
    np.testing.assert_allclose(found[["low", "high"]], np.column_stack([low, high]), atol=1e-12)
    assert found.loc[0, "low"] == 0
    assert found.loc[1, "high"] == 1


def test_missing_values_are_an_error_or_dropped(records):
    holes = records.astype(object)
    holes.loc[[5, 9], "smoke"] = None
    holes.loc[7, "tub"] = None
    most = len(matching(records, {"smoke": records["smoke"].mode()[0]}))
    with pytest.raises(InputError, match=f"min_records must leave .* holds {most} of 4000"):
        strata(records, ["smoke"], "either", positive="yes", min_records=most + 1)
    with pytest.raises(InputError, match=r"2 rows of 4000 .* at index 5, 9, in 'smoke' \(2 rows\)"):
        strata(holes, ["smoke"], "either", positive="yes")
    # A hole in a column that is not used costs nothing.
    assert strata(holes, ["smoke"], "either", positive="yes", missing="drop")["n"].sum() == 3998


def test_posteriors_of_the_network_are_shares_of_records(task, records, evidence_of):
    cases = sample_record_cases(task, 40, rng=4)
    evidence = evidence_of(cases)
    exact = posterior(task.network, evidence, "either")["yes"]
    np.testing.assert_allclose(exact, cases["p_true"], atol=1e-12)
    assert task.network.tables == "fitted"
    for position in np.flatnonzero(cases["z"].notna())[:8]:
        z, row = cases["z"].iloc[position], evidence.iloc[[position]]
        inside = matching(records, row.iloc[0].to_dict())
        weights = posterior(task.network, row, z).iloc[0]
        mean = 0.0
        for state, weight in weights.items():
            given_z = posterior(task.network, row.assign(**{z: state}), "either")["yes"].item()
            assert weight == pytest.approx((inside[z] == state).mean(), abs=1e-12)
            share = (inside.loc[inside[z] == state, "either"] == "yes").mean()
            assert given_z == pytest.approx(share, abs=1e-12)
            mean += weight * given_z
        # Iterated expectation holds among shares of the same records.
        assert mean == pytest.approx(cases["p_true"].iloc[position], abs=1e-12)


def test_cases_have_the_columns_of_cases_from_a_network_and_short_bins_are_named(task, caplog):
    with caplog.at_level(logging.WARNING, logger="bayesnets.cases"):
        cases = sample_record_cases(task, 40, rng=1)
    columns = ", ".join(column for column in cases if not column.startswith("x_"))
    assert columns == (
        "context, theta, p_true, truth_kind, z, weight, probability_bin, n, low, high, record"
    )
    assert cases["context"].is_unique
    assert cases["context"].str.startswith("clinic-either-").all()
    assert cases["weight"].mean() == pytest.approx(1)
    table = coverage(cases)
    counts = cases["probability_bin"].value_counts().reindex(range(20), fill_value=0)
    assert table["n"].tolist() == counts.tolist()
    below = table.loc[table["n"] < table["capacity"], "n"]
    assert below.max() - below.min() <= 1
    assert table["capacity"].sum() == len(task.strata(n_observed=(1, 3)))
    assert table["natural_share"].sum() == pytest.approx(1)
    note, capacity = cases.attrs["coverage"]["note"], table["capacity"]
    assert caplog.messages == [note]
    for b, n in enumerate(capacity):
        assert (f" {b / 20:.3g} to {(b + 1) / 20:.3g} ({n})" in note) == (n < 2)
    assert f"all {capacity.sum()} found" in note
    assert sample_record_cases(task, 40, even=False, rng=1).attrs["coverage"]["note"] == ""
    assert sample_record_cases(task, 3, n_bins=1, rng=1).attrs["coverage"]["note"] == ""


def test_truth_is_the_share_theta_a_record_of_the_stratum_and_z_has_enough_records(
    task, records, evidence_of
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
        fit_to_ask = [
            name
            for name in COVARIATES
            if evidence[name] is None
            and inside[name].value_counts().reindex(["yes", "no"]).min() >= 100
        ]
        assert (row["z"] in fit_to_ask) if fit_to_ask else row["z"] is None
    assert 0.2 < cases["z"].notna().mean() < 1
    chosen = sample_record_cases(task, 20, auxiliary="smoke", rng=3)
    assert set(chosen["z"].dropna()) == {"smoke"}
    assert chosen["x_smoke"].isna().all()
