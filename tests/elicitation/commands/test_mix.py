"""``coherence mix``.

Breaks if a score differs from Python's, if a model is asked twice, or if a failure loses answers.
"""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from coherence import score_mixing, simulate_mixing
from elicitation import AnswerStore, mixing_questions

from ..models.hosted.fake_server import Fake, answer, raw, serving

ROOT = Path(__file__).parents[3]
TABLES = {"scores.csv", "scores.json", "measures.csv", "curves.csv", "dependence.csv"}
N_QUESTIONS = 98


def written(folder):
    return {path.name for path in folder.iterdir()}


def scored(folder):
    return json.loads((folder / "scores.json").read_text(encoding="utf-8"))["experiments"]


@pytest.mark.lengthy
def test_answers_are_scored_as_in_python_and_everything_is_written(answers, tmp_path, run):
    out = tmp_path / "scores"
    said = run(f"mix --answers {answers} --out {out} --seed 3").out
    # Names of models are neither paths nor terminal commands.
    assert "\x1b" not in said
    assert not (tmp_path / "first").exists()
    figures = {"rates-1.png", "rates-2.png", "flips.png"}
    assert written(out) == TABLES | figures | {"leaderboard.csv", "runs.parquet", "files.sha256"}
    golden = score_mixing(pd.read_csv(answers, dtype={"answer": str}), rng=3).experiments
    for name in ("published", "low"):
        assert [row[name] for row in scored(out)] == pytest.approx(golden[name].tolist())
    runs = pd.read_parquet(out / "runs.parquet")
    assert len(runs) == 2 * 6 * 48
    assert not runs.isna().all().any()


@pytest.mark.lengthy
def test_answers_of_several_files(answers, tmp_path, run):
    table = simulate_mixing("uniform", n_draws=5, rng=0)
    table.to_parquet(tmp_path / "more.parquet")
    run(f"mix --answers {answers} {tmp_path}/more.parquet --out {tmp_path}/out")
    assert len(pd.read_csv(tmp_path / "out" / "leaderboard.csv")) == 3
    table.assign(answer="1")[table["draw"] == 0].to_parquet(tmp_path / "again.parquet")
    words = f"mix --answers {tmp_path}/more.parquet --answers {tmp_path}/again.parquet"
    assert "of model 'uniform'" in run(f"{words} --out {tmp_path}/x", status=2).err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("shown", [0.4, 0.6])
def test_the_share_that_cannot_be_read_is_warned_of(shown, tmp_path, run):
    table = {"experiment": "flip", "p": [0.2, 0.8], "answer": "1", "probability": shown}
    pd.DataFrame(table).to_csv(tmp_path / "flips.csv", index=False)
    said = run(f"mix --answers {tmp_path}/flips.csv --out {tmp_path}/out").out
    assert ("cannot be read in experiment 1 (60.0%)" in said) == (shown == 0.4)
    # One experiment of a nameless model has neither a leaderboard nor a figure of flips.
    assert written(tmp_path / "out") == TABLES | {"rates.png", "files.sha256"}


@pytest.mark.lengthy
def test_the_ceiling_of_a_faultless_player_is_told_and_laid_out(tmp_path, run):
    simulate_mixing("ideal", rng=0).to_parquet(tmp_path / "ideal.parquet")
    words = f"mix --answers {tmp_path}/ideal.parquet --out {tmp_path} --paper {tmp_path}/paper"
    said = run(words).out
    assert "equilibria gets 80.7 on average, under the ceiling of 91.1" in said
    table, scores = (
        pd.read_csv(tmp_path / "paper" / "mixing.csv"),
        pd.read_csv(tmp_path / "scores.csv"),
    )
    assert table["ceiling"].tolist() == pytest.approx(scores["ceiling"].tolist(), abs=1e-12)


@pytest.mark.lengthy
def test_why_a_corrected_score_is_missing_is_said(tmp_path, run):
    simulate_mixing("uniform", n_draws=1, rng=0).to_parquet(tmp_path / "one.parquet")
    said = run(f"mix --answers {tmp_path}/one.parquet --out {tmp_path}/out").out
    assert "no corrected score" in said


def test_the_name_of_a_model_is_no_formula_in_any_table(answers, tmp_path, run):
    table = pd.read_csv(answers)
    one = table[table["model"] == table["model"].iloc[0]].assign(model="=HYPERLINK(1)")
    one.to_parquet(tmp_path / "named.parquet")
    run(f"mix --answers {tmp_path}/named.parquet --out {tmp_path}/out --paper {tmp_path}/paper")
    written = [*(tmp_path / "out").glob("*.csv"), *(tmp_path / "paper").glob("*.csv")]
    named = {file.name: set(pd.read_csv(file).get("model", ())) for file in written}
    assert {name for name, names in named.items() if names} >= {"dependence.csv", "scores.csv"}
    assert set().union(*named.values()) <= {"'=HYPERLINK(1)"}


def test_a_wrong_paper_folder_leaves_no_results_folder(tmp_path, run):
    simulate_mixing("ideal", rng=0).to_parquet(tmp_path / "ideal.parquet")
    (tmp_path / "paper").write_text("a file")
    words = f"mix --answers {tmp_path}/ideal.parquet --out {tmp_path}/out --paper {tmp_path}/paper"
    assert "--paper must be a folder" in run(words, 2).err
    assert not (tmp_path / "out").exists()


@pytest.mark.lengthy
def test_a_model_is_asked_once(blank_models, tmp_path, run):
    """Exact rates need one question per condition, and a name is told from a folder."""
    words = f"mix --model {blank_models[0]} --out {tmp_path}/out --threads 1 --device cpu"
    for _ in range(2):
        assert "98 of 98 answers" in run(f"{words} --draws 1 --keep-going").err
        with AnswerStore(tmp_path / "out" / "answers.sqlite") as store:
            assert len(store) == N_QUESTIONS
    run(f"{words} --exact")
    exact = pd.read_parquet(tmp_path / "out" / "answers.parquet").fillna({"item": "", "order": ""})
    sums = exact.groupby(["experiment", "p", "item", "order"])["probability"].sum()
    assert len(sums) == N_QUESTIONS
    assert sums.to_numpy() == pytest.approx(1.0)


@pytest.mark.lengthy
def test_folders_of_one_name_are_told_apart(blank_models, tmp_path, run):
    for name, folder in zip(("one", "two"), blank_models, strict=True):
        shutil.copytree(folder, tmp_path / name / "model")
    named = f"mix --model {tmp_path}/one/model --model"
    run(f"{named} {tmp_path}/two/model --out {tmp_path}/out --exact")
    answers = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    sums = answers.groupby("model")["probability"].sum().to_dict()
    assert sums == pytest.approx({"one/model": N_QUESTIONS, "two/model": N_QUESTIONS})
    figures = {"leaderboard.csv", "flips.png", "rates-1.png", "rates-2.png"}
    assert figures <= written(tmp_path / "out")
    # A folder that is none is found before any model is asked.
    assert "none is not a folder" in run(f"{named} {tmp_path}/none --out {tmp_path}/x", 2).err
    assert not (tmp_path / "x").exists()


class Mixer(Fake):
    """A server of models that answer by the seed, "stuck" always alike.

    After `fails_after` answers it gives none, and it keeps what it drew.
    """

    def __init__(self, *, fails_after=None, seconds=0.0):
        super().__init__(self.draw, models=("m", "other", "stuck"))
        self.answers = {question.text: question.answers for question in mixing_questions()}
        self.fails_after, self.seconds, self.drawn = fails_after, seconds, []

    def draw(self, body, _):
        text = body["messages"][0]["content"] if "messages" in body else body["prompt"]
        if text not in self.answers:
            return answer("fine")  # what is asked to find out what the server can do
        with self.lock:
            if self.fails_after is not None and len(self.drawn) >= self.fails_after:
                return raw(404, b"{}")
            self.drawn.append((body["model"], text, body["seed"], body["max_tokens"]))
        time.sleep(self.seconds)
        choices = self.answers[text]
        return answer(choices[0 if body["model"] == "stuck" else body["seed"] % len(choices)])


@pytest.mark.lengthy
def test_a_session_that_a_server_ended_goes_on_at_another_address(tmp_path, run, monkeypatch):
    monkeypatch.setenv("MIXER_KEY", "sk-very-secret")
    out = tmp_path / "out"
    words = f"mix --model m --out {out} --draws 2 --set server_name=lab --set max_connections=4"
    with serving(failing := Mixer(fails_after=50)) as address:
        errors = run(f"{words} --server {address} --api-key-env MIXER_KEY", status=2).err
    assert "secret" not in errors
    assert {headers["authorization"] for headers in failing.headers} == {"Bearer sk-very-secret"}
    assert not (out / "scores.csv").exists()
    with serving(mixer := Mixer()) as address:
        for _ in range(2):
            run(f"{words} --server {address}")
            assert len(mixer.drawn) == 2 * N_QUESTIONS - 50
    assert not set(mixer.drawn) & set(failing.drawn)
    assert len({seed for _, _, seed, _ in failing.drawn + mixer.drawn}) == 196
    answers = pd.read_parquet(out / "answers.parquet")
    assert (len(answers), set(answers["model"]), set(answers["status"])) == (196, {"m"}, {"ok"})
    assert scored(out)[-1]["answers"] == 196


@pytest.mark.lengthy
def test_several_models_of_a_server(tmp_path, run):
    """Every model has its row, and a server that may not draw at all is spoken of."""
    words = f"mix --model m --model stuck --out {tmp_path} --draws 3 --max-new-tokens 77"
    with serving(mixer := Mixer()) as address:
        said = run(f"{words} --server {address}").err
    assert "the same answer from stuck" in said
    assert "same answer from m" not in said
    assert {(model, tokens) for model, _, _, tokens in mixer.drawn} == {("m", 77), ("stuck", 77)}
    assert pd.read_csv(tmp_path / "leaderboard.csv")["model"].tolist() == ["m", "stuck"]


@pytest.mark.lengthy
def test_a_killed_session_asks_only_for_the_rest(tmp_path, run):
    """Each question is answered once, but for those under way at the kill."""
    out = tmp_path / "out"
    words = f"mix --model m --out {out} --draws 2 --set max_connections=1 --set server_name=lab"
    with serving(slow := Mixer(seconds=0.05)) as address:
        process = subprocess.Popen(
            [sys.executable, "-m", "coherence", *words.split(), "--server", address],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while len(slow.drawn) < 60:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with AnswerStore(out / "answers.sqlite") as store:
        kept = len(store)
    assert 20 <= kept <= len(slow.drawn) < 196, "the kill came too late to test anything"
    assert not (out / "answers.parquet").exists()
    with serving(mixer := Mixer()) as address:
        run(f"{words} --server {address}")
    assert len(mixer.drawn) == 196 - kept
    assert len({request[2] for request in slow.drawn + mixer.drawn}) == 196
    assert len(pd.read_parquet(out / "answers.parquet")) == 196


@pytest.mark.slow
def test_the_lesson_runs_and_its_answers_can_be_scored(tmp_path, monkeypatch, capsys):
    words = ["mixing_lesson.py", "--out", str(tmp_path), "--draws", "5"]
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(str(ROOT / "examples" / "mixing_lesson.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "ideal    published 0.0 of 8, corrected 8.0 of 8" in said
    assert "literal  published 7.8 of 8, corrected 0.0 of 8" in said
    table = pd.read_csv(tmp_path / "answers.csv", dtype={"answer": str})
    board = score_mixing(table, n_resamples=100, rng=0).leaderboard()["model"].tolist()
    assert board[0] in ("ideal", "literal")
    assert board[-1] == "first"
