"""The trained reader: breaks if seeds give other models, or if it misses its figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elicitation.training.organisms.course import Recipe
from elicitation.training.organisms.reader import train_reader

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model(asia, tmp_path):
    recipe = Recipe(
        steps=3,
        hidden=16,
        inner=16,
        layers=1,
        heads=1,
        batch=(("belief", 2), ("auxiliary", 2)),
        threads=1,
    )
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train_reader(tmp_path / name, asia, recipe=recipe, seed=seed, n_cases=0)
    weights = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in "abc"}
    assert weights["a"] == weights["b"] != weights["c"]
    record = json.loads((tmp_path / "a" / "card.json").read_text())
    assert record["seed"] == 0
    assert record["recipe"]["steps"] == 3


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
