"""``coherence mix``: scores answers without any model, asks a model and resumes, writes what it says, and names faults in one line."""

import json
import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest

from coherence.cli.main import main
from coherence.mixing import score_mixing, simulate_mixing
from coherence.storage import read_runs

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    table = pd.concat([simulate_mixing(name, n_draws=6, rng=0) for name in ("ideal", "first")], ignore_index=True)
    table.loc[table.index[:3], ["answer", "status"]] = [None, "refused"]
    # Models name themselves: markup, terminal commands and path separators must do no harm.
    table["model"] = table["model"].replace("first", "../first\x1b[31m <b>$x$")
    table.to_csv(path, index=False)
    return path


def test_answers_are_scored_and_everything_is_written(answers, tmp_path, capsys):
    out = tmp_path / "scores"
    assert main(["mix", "--answers", str(answers), "--out", str(out), "--seed", "3"]) == 0
    said = capsys.readouterr().out
    for word in ("published", "ceiling", "corrected", "95% interval", "refused", "5 words", "total", "rank", "if all were read"):
        assert word in said
    assert "\x1b" not in said
    assert said.index("   1  ideal") < said.index("   2  ../first <b>$x$")
    names = {path.name for path in out.iterdir()}
    assert names == {"scores.csv", "scores.json", "measures.csv", "curves.csv", "dependence.csv", "leaderboard.csv", "runs.parquet",
                     "rates-1.png", "rates-2.png", "flips.png"}  # fmt: skip
    assert not (tmp_path / "first").exists()
    golden = score_mixing(pd.read_csv(answers, dtype={"answer": str}), rng=3).experiments
    records = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert [row["published"] for row in records["experiments"]] == pytest.approx(golden["published"].tolist())
    assert [row["low"] for row in records["experiments"]] == pytest.approx(golden["low"].tolist())
    assert len(read_runs(out / "runs.parquet")) == 2 * 6 * 48
    assert (out / "flips.png").read_bytes().startswith(b"\x89PNG")


def test_one_experiment_of_a_nameless_model_has_no_total(tmp_path, capsys):
    table = simulate_mixing("uniform", n_draws=5, rng=0)
    table[table["experiment"] == "words"].drop(columns="model").to_parquet(tmp_path / "words.parquet")
    assert main(["mix", "--answers", str(tmp_path / "words.parquet"), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1].startswith("5 words")
    assert "total" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "scores.csv", "scores.json", "measures.csv", "curves.csv", "dependence.csv", "rates.png",
    }  # fmt: skip


def test_a_model_is_asked_once(tmp_path, capsys):
    """A second run finds every answer; exact rates need one question per condition. The model knows none of this."""
    pytest.importorskip("torch")
    from elicitation.organisms.training import Recipe, train_reader
    from elicitation.session import Task
    from elicitation.store import AnswerStore

    folder = tmp_path / "model"
    train_reader(folder, Task.load("asia"), recipe=Recipe(steps=2, hidden=32, inner=64, layers=1, heads=2, batch=(("belief", 2),), threads=1))
    command = ["mix", "--model", str(folder), "--out", str(tmp_path / "out"), "--threads", "1", "--device", "cpu"]
    for _ in range(2):
        assert main([*command, "--draws", "1"]) == 0
        assert "98 of 98 answers" in capsys.readouterr().err
        with AnswerStore(tmp_path / "out" / "answers.sqlite") as store:
            assert len(store) == 98
    assert len(pd.read_parquet(tmp_path / "out" / "answers.parquet")) == 98
    assert main([*command, "--exact"]) == 0
    exact = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    sums = exact.fillna({"item": "", "order": ""}).groupby(["experiment", "p", "item", "order"])["probability"].sum()
    assert len(sums) == 98
    assert sums.to_numpy() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "needed: --model DIR to ask a model, or --answers FILE"),
        (["--out", "x", "--model", "m", "--answers", "a.csv"], "and not both"),
        (["--answers", "a.csv"], "--out DIR is missing"),
        (["--answers", "a.csv", "--out", "x"], "a.csv: no such file"),
        (["--answers", "a.csv", "--out", "x", "--exact"], "--exact and --draws are for --model"),
        (["--model", "m", "--out", "x", "--exact", "--draws", "5"], "--exact draws no answers"),
        (["--model", "m", "--out", "x", "--seed", "-1"], "--seed must be at least 0"),
        (["--model", "m", "--out", "x"], "m"),
        (["--answers", "a.csv", "--out", "taken"], "--out must be a folder"),
        (["--answers", "wrong.csv", "--out", "x"], "table of answers has 1 fault: column 'p' must hold probabilities in [0, 1]"),
    ],
)
def test_wrong_use_ends_with_2_one_line_and_no_folder(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    (tmp_path / "wrong.csv").write_text("experiment,p,answer\nflip,20,1\nflip,80,0\n", encoding="utf-8")
    assert main(["mix", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_the_lesson_runs_and_its_answers_can_be_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mixing_lesson.py", "--out", str(tmp_path / "lesson"), "--draws", "5"])
    runpy.run_path(str(ROOT / "examples" / "mixing_lesson.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "ideal    published 0.0 of 8, corrected 8.0 of 8" in said
    assert "literal  published 7.8 of 8, corrected 0.0 of 8" in said
    assert (tmp_path / "lesson" / "flips.png").exists()
    board = score_mixing(pd.read_csv(tmp_path / "lesson" / "answers.csv", dtype={"answer": str}), n_resamples=100, rng=0).leaderboard()
    assert board["model"].iloc[0] in ("ideal", "literal")
    assert board["model"].iloc[-1] == "first"
