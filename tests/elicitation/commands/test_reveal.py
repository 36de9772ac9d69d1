"""``coherence reveal``.

Breaks if a kind of answer is not scored, if a model is asked what it cannot answer, or if a file of
an earlier call stays or another is lost.
"""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coherence

from .conftest import written

ROOT = Path(__file__).parents[3]
COINS = "--where scenario=coins --where variant=single"


@pytest.fixture
def fill_in(run, tmp_path):
    """Write the questions of a part of the battery, and what a function makes of them."""

    def write(where, answers, path=tmp_path / "answers.csv"):
        run(f"reveal --write-questions {path} {where}")
        table = pd.read_csv(path, dtype={"outcome": str, "option": str})
        answers(table).to_csv(path, index=False)
        return path

    return write


@pytest.mark.lengthy
def test_from_a_model_folder_to_the_verdict(blank_models, tmp_path, run):
    instruct, out = blank_models[1], tmp_path / "out"
    words = f"reveal --model {instruct} --out {out} {COINS} --where n=2,3"
    said = run(words)
    # Random weights hardly ever say a letter: the answer mass is in the table, and is warned of.
    assert pd.read_csv(out / "stated_errors.csv")["answer_mass"].between(0, 0.5).all()
    assert "no belief" in said.out
    runs = coherence.read_runs(out / "runs.parquet")
    assert set(runs["task"]) == {"coins"}
    assert (runs["status"] == "ok").all()
    tables = ("beliefs", "scores", "summary", "stated", "stated_errors", "bets")
    assert {f"{name}.csv" for name in tables} | {"outcomes.png", "report.html"} <= written(out)
    (unit,) = json.loads((out / "results.json").read_text())["evaluations"]
    checks = {result["check"] for result in unit["results"]}
    assert {"iterated_expectation", "sufficiency", "prompt_consistency:story"} <= checks
    # Every text is in the store: the same command asks nothing and finds the same.
    first = pd.read_csv(out / "scores.csv")
    assert "instruct, beliefs: 36 of 36 answers" in run(f"{words} --only-revealed").err
    pd.testing.assert_frame_equal(pd.read_csv(out / "scores.csv"), first)


@pytest.mark.lengthy
def test_answers_from_elsewhere_need_no_model(fill_in, tmp_path):
    """Breaks if torch is loaded on the way: scoring a table must work without the extra."""
    where = "--faces 6 --where scenario=dice --where variant=single"

    def uniform(table):
        table = table[table.kind == "belief"]
        groups = table.groupby(["setting", "wording"])["outcome"]
        return table.assign(probability=1 / groups.transform("size"))

    words = ["reveal", "--answers", str(fill_in(where, uniform)), "--out", str(tmp_path)]
    code = (
        f"import sys; from coherence.cli.main import main; status = main({words + where.split()!r})"
        "; sys.exit(status or 10 * ('torch' in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    scores = pd.read_csv(tmp_path / "scores.csv").groupby("group")["chebyshev"].mean()
    assert scores["1 die, single"] == pytest.approx(0)
    assert scores["2 dice, single"] == pytest.approx(1 / 6 - 1 / 11)
    assert not (tmp_path / "runs.parquet").exists()


def test_only_files_of_an_earlier_call_are_replaced(fill_in, tmp_path, run):
    """Files of the user's stay, whatever they are called, and so does the table that is read."""
    where, out = "--where scenario=choice --where n=2", tmp_path / "out"
    out.mkdir()
    filled = fill_in(where, lambda table: table.assign(probability=0.1), out / "bets.csv")
    before = filled.read_bytes()
    refused = run(f"reveal --write-questions {filled} {where}", status=2).err
    assert "--write-questions must be a new file" in refused
    assert filled.read_bytes() == before
    words = f"reveal --answers {filled} --out {out} {where}"
    run(words)
    assert {"scores.csv", "summary.csv", "outcomes.png"} <= written(out)
    kept = {"answers.sqlite", "notes.csv", "my-report.html", "orders.csv"}
    for name in kept:
        (out / name).write_text("mine", encoding="utf-8")
    table = pd.read_csv(filled)
    table[table.kind == "stated"].to_csv(filled, index=False)
    said = run(words)
    assert "in place of those of an earlier call" in said.err
    assert written(out) == kept | {"bets.csv", "stated.csv", "stated_errors.csv", "files.sha256"}
    # Stated answers alone are scored.
    errors = pd.read_csv(out / "stated_errors.csv")["stated_error"]
    assert errors.tolist() == pytest.approx([0.75] * 3)
    assert "0.4 on average" in " ".join(said.out.split())  # the probability of a letter at all
