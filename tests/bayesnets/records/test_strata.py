"""Records: breaks if a stratum, share or interval is not that of a count by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from bayesnets import posterior, sample, sample_record_cases, strata
from coherence import InputError


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
def test_strata_are_those_of_a_count_by_hand(seed, least, random_network, evidence_of):
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
        ({"min_records": 0}, "min_records must be a whole number of at least 1; received 0"),
        ({"min_records": 99.5}, "min_records must be a whole number of at least 1; received 99.5"),
        (
            {"min_records": 5000},
            r"with 1 or more observed covariates the largest holds \d+ of 4000 records, "
            r"fewer than 5000",
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


def test_posteriors_of_the_network_are_shares_of_records(task, records, evidence_of, matching):
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
