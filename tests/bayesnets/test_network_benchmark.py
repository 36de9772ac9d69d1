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


def test_the_time_of_pgmpy_is_extrapolated_to_all_different_rows():
    figure = networks.compare("alarm", n=40, queried=10)
    assert figure["different"] == 40
    assert figure["queried"] == 10
    assert figure["ratio"] == pytest.approx(figure["pgmpy"] / figure["ours"])
    assert figure["difference"] < 1e-9
    lines = networks.comparison_table(
        {"alarm": {**figure, "ours": 0.02, "pgmpy": 7.0, "ratio": 350.0, "difference": 2e-16}}
    )
    assert "| alarm | 40 | 0.02 | 7 | 350 | 2e-16 |" in lines
    assert (
        "pgmpy was asked about 10 (alarm) rows; its time for all different rows is extrapolated "
        "from these." in lines
    )


@pytest.mark.lengthy
def test_growth_and_cases_are_measured():
    grown = {("alarm", n): networks.grow("alarm", n) for n in (50, 100)}
    assert all(figure["seconds"] > 0 for figure in grown.values())
    assert "| alarm | 1,000 | 0.5 | 500 | 3 |" in networks.growth_table(
        {("alarm", 1000): {"seconds": 0.5, "megabytes": 3.0}}
    )
    figure = networks.draw("alarm", 40)
    assert figure["contexts"] == 40
    assert (figure["fewest"], figure["most"]) == (2, 2)
