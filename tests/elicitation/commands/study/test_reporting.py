"""The report of a study. Breaks if it says more than its tables hold, or hides what is missing."""

import json

import pandas as pd
import pytest

from coherence import analyze
from coherence.cli.main import main


@pytest.fixture
def folder(write, tmp_path):
    """The small study, asked and reported."""
    assert main(["study", "run", str(write())]) == 0
    return tmp_path / "study"


def test_results_are_those_of_the_tables(folder):
    runs = pd.concat(
        [pd.read_parquet(path) for path in sorted((folder / "runs").glob("*.parquet"))],
        ignore_index=True,
    )
    expected = analyze(runs, checks=["residual_covariance"], rng=0).results
    found = pd.read_parquet(folder / "report" / "results.parquet")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert len(found) == 4
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert "cancer, few" in page
    units = json.loads((folder / "report" / "results.json").read_text(encoding="utf-8"))["units"]
    assert {(unit["task"], unit["model"]) for unit in units} == {
        ("asia", "leaky"),
        ("asia", "steady"),
        ("cancer, few", "leaky"),
        ("cancer, few", "steady"),
    }
