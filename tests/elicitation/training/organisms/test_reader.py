"""The trained reader: breaks if seeds give other models, or if it misses its figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
def test_the_reader_meets_its_figures(tmp_path):
    """The whole training by the script; its figures are for evidence without lessons."""
    subprocess.run(
        [sys.executable, "examples/train_reader.py", "--out", str(tmp_path / "reader")],
        cwd=ROOT,
        check=True,
    )
    record = json.loads((tmp_path / "reader" / "card.json").read_text())
    assert record["parameters"] < 1_200_000
    assert record["accuracy"]["readable"] >= 0.98
    assert record["accuracy"]["rmse"] < 0.05
    assert record["accuracy"]["rmse_auxiliary"] < 0.08
    # Some 250 decisions in five groups: its actions follow the policy at the exact posterior.
    assert record["accuracy"]["policy_distance"] < 0.12
