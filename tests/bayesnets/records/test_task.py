import numpy as np
import pytest

from bayesnets import RecordTask, posterior, sample_record_cases

COVARIATES = ("smoke", "bronc", "xray", "dysp")


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


def test_a_later_change_of_the_table_does_not_reach_the_task(records):
    mine = records.copy()
    mine_task = RecordTask("clinic", mine, COVARIATES, "either", "yes")
    before = mine_task.strata()["n_positive"].sum()
    mine["either"] = "yes"
    assert mine_task.strata()["n_positive"].sum() == before
    assert mine_task.records["either"].nunique() == 2
