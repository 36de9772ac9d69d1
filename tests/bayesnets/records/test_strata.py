import itertools

import numpy as np
import pandas as pd
import pytest

from bayesnets import RecordTask, sample, sample_record_cases, strata
from coherence import InputError

COVARIATES = ("smoke", "bronc", "xray", "dysp")


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


def test_sizes_and_order_of_states(records, evidence_of):
    table = strata(records, COVARIATES, "either", positive="yes", n_observed=(2, 3))
    assert set(evidence_of(table).notna().sum(axis=1)) == {2, 3}
    ordered = records.assign(smoke=pd.Categorical(records["smoke"], ["yes", "no", "never"]))
    assert strata(ordered, ["smoke"], "either", positive="yes")["x_smoke"].tolist() == ["yes", "no"]
    assert strata(records, ["smoke"], "either", positive="yes")["x_smoke"].tolist() == ["no", "yes"]


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
