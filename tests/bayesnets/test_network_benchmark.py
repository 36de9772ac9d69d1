"""The benchmark of the networks: it compares what it says, and its tables read as meant."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bayesnets import load_network, posterior

spec = importlib.util.spec_from_file_location(
    "benchmark_networks", Path(__file__).parents[2] / "benchmarks" / "networks.py"
)
networks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(networks)


def test_every_row_observes_ten_covariates_and_never_the_target():
    evidence = networks.evidence_rows(load_network("alarm"), "LVFAILURE", 200)
    assert (evidence.notna().sum(axis=1) == 10).all()
    assert "LVFAILURE" not in evidence
    assert len(evidence.notna().drop_duplicates()) > 190


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_pgmpy_is_asked_the_same_question():
    network = load_network("alarm")
    evidence = networks.evidence_rows(network, "LVFAILURE", 3)
    np.testing.assert_allclose(
        networks.query_all(network, evidence, "LVFAILURE"),
        posterior(network, evidence, "LVFAILURE"),
        atol=1e-12,
    )


@pytest.mark.lengthy
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_both_fit_the_same_tables_and_columns_without_a_record_are_counted():
    figures = networks.fit_tables("alarm", 1000)
    assert figures["difference"] == 0
    assert 0 < figures["empty"] < figures["columns"]
