"""``coherence mix``.

Scores answers without any model, asks a model and resumes, writes what it says, and names faults in
one line.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pandas as pd
import pytest

from coherence import score_mixing, simulate_mixing
from coherence.cli.main import main

from ..models.hosted.fake_server import Fake, answer, raw, serving

ROOT = Path(__file__).parents[3]


@pytest.mark.lengthy
def test_answers_are_scored_and_everything_is_written(answers, tmp_path, capsys):
    out = tmp_path / "scores"
    assert main(["mix", "--answers", str(answers), "--out", str(out), "--seed", "3"]) == 0
    output = capsys.readouterr().out
    for word in (
        "published",
        "ceiling",
        "corrected",
        "95% interval",
        "refused",
        "5 words",
        "total",
        "rank",
        "if all were read",
    ):
        assert word in output
    assert "\x1b" not in output
    assert output.index("   1  ideal") < output.index("   2  ../first <b>$x$")
    names = {path.name for path in out.iterdir()}
    assert names == {
        "scores.csv",
        "scores.json",
        "measures.csv",
        "curves.csv",
        "dependence.csv",
        "leaderboard.csv",
        "runs.parquet",
        "rates-1.png",
        "rates-2.png",
        "flips.png",
        "files.sha256",
    }
    assert not (tmp_path / "first").exists()
    golden = score_mixing(pd.read_csv(answers, dtype={"answer": str}), rng=3).experiments
    records = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert [row["published"] for row in records["experiments"]] == pytest.approx(
        golden["published"].tolist()
    )
    assert [row["low"] for row in records["experiments"]] == pytest.approx(golden["low"].tolist())
    runs = pd.read_parquet(out / "runs.parquet")
    assert len(runs) == 2 * 6 * 48
    assert not runs.isna().all().any()
    assert (out / "flips.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.lengthy
def test_what_an_earlier_call_wrote_does_not_stay_beside_the_new(answers, tmp_path, capsys):
    """Files of other names stay, and so does the table that is read, whatever it is called."""
    out = tmp_path / "out"
    assert main(["mix", "--answers", str(answers), "--out", str(out)]) == 0
    assert "in place of" not in capsys.readouterr().err
    kept = {"answers.sqlite", "rates-mine.png", "notes.csv"}
    for name in kept:
        (out / name).write_text("mine", encoding="utf-8")
    flips = pd.DataFrame(
        {"experiment": "flip", "p": [0.2, 0.8], "answer": "1", "probability": [0.1, 0.3]}
    )
    flips.to_parquet(out / "answers.parquet")
    assert main(["mix", "--answers", str(out / "answers.parquet"), "--out", str(out)]) == 0
    assert f"to {out}, in place of those of an earlier call" in capsys.readouterr().err
    written = {
        "scores.csv",
        "scores.json",
        "measures.csv",
        "curves.csv",
        "dependence.csv",
        "rates.png",
        "files.sha256",
    }
    assert {path.name for path in out.iterdir()} == kept | written | {"answers.parquet"}
    flips.to_csv(tmp_path / "flips.csv", index=False)
    assert main(["mix", "--answers", str(tmp_path / "flips.csv"), "--out", str(out)]) == 0
    # Nobody but the user wrote it: the name alone does not make it one of the command's.
    assert {path.name for path in out.iterdir()} == kept | written | {"answers.parquet"}


@pytest.mark.lengthy
def test_a_model_is_asked_once(tmp_path, capsys):
    """A second run finds every answer; exact rates need one question per condition.

    The model knows none of this.
    """
    pytest.importorskip("torch")
    from elicitation import AnswerStore, Task
    from elicitation.training.organisms.reader import Recipe, train_reader

    folder = tmp_path / "model"
    train_reader(
        folder,
        Task.load("asia"),
        recipe=Recipe(
            steps=2, hidden=32, inner=64, layers=1, heads=2, batch=(("belief", 2),), threads=1
        ),
        n_cases=0,
    )
    command = f"mix --model {folder} --out {tmp_path}/out --threads 1 --device cpu".split()
    for _ in range(2):
        assert main([*command, "--draws", "1", "--keep-going"]) == 0
        assert "98 of 98 answers" in capsys.readouterr().err
        with AnswerStore(tmp_path / "out" / "answers.sqlite") as store:
            assert len(store) == 98
    assert len(pd.read_parquet(tmp_path / "out" / "answers.parquet")) == 98
    assert main([*command, "--exact"]) == 0
    assert "probabilities of answers to 98 questions" in capsys.readouterr().err
    exact = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    sums = (
        exact.fillna({"item": "", "order": ""})
        .groupby(["experiment", "p", "item", "order"])["probability"]
        .sum()
    )
    assert len(sums) == 98
    assert sums.to_numpy() == pytest.approx(1.0)


@pytest.mark.slow
def test_models_are_asked_one_after_the_other(tmp_path, capsys, monkeypatch):
    """Two folders of the same name give a leaderboard and a figure side by side.

    The first model is gone before the second is loaded.
    """
    pytest.importorskip("torch")
    from elicitation import Task
    from elicitation.models.local import causal
    from elicitation.training.organisms.reader import Recipe, train_reader

    folders = [tmp_path / name / "model" for name in ("one", "two")]
    for steps, folder in enumerate(folders, start=1):
        recipe = Recipe(
            steps=steps, hidden=32, inner=64, layers=1, heads=2, batch=(("belief", 2),), threads=1
        )
        train_reader(folder, Task.load("asia"), recipe=recipe, n_cases=0)
    load, loaded, alive = causal.load_causal_model, [], []

    def watched(*args, **options):
        alive.append([reference() is not None for reference in loaded])
        model = load(*args, **options)
        loaded.append(weakref.ref(model))
        return model

    monkeypatch.setattr(causal, "load_causal_model", watched)
    command = [
        "mix",
        *(word for folder in folders for word in ("--model", str(folder))),
        *f"--out {tmp_path}/out --threads 1".split(),
    ]
    assert main([*command, "--device", "cpu", "--exact"]) == 0
    assert alive == [[], [False]]
    output = capsys.readouterr()
    assert "one/model: 98 of 98 answers" in output.err
    assert "two/model: 98 of 98 answers" in output.err
    assert {"leaderboard.csv", "flips.png", "rates-1.png", "rates-2.png"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    answers = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert answers.groupby("model")["probability"].sum().to_dict() == pytest.approx(
        {"one/model": 98, "two/model": 98}
    )
    # A folder that is none is found before any model is asked.
    assert (
        main(f"mix --model {folders[0]} --model {tmp_path}/none --out {tmp_path}/other".split())
        == 2
    )
    assert "none is not a folder" in capsys.readouterr().err
    assert len(loaded) == 2
    assert not (tmp_path / "other").exists()


class Mixer(Fake):
    """A server of models that answer by the seed, "stuck" always alike.

    After `fails_after` answers it gives none, and it keeps what it drew.
    """

    def __init__(self, *, fails_after=None, seconds=0.0):
        from elicitation import mixing_questions

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
def test_a_server_is_asked_and_a_session_that_it_ended_goes_on(tmp_path, capsys, monkeypatch):
    """What came before the failure is kept.

    Under the same --server-name another address is asked for the rest only, and once.
    """
    monkeypatch.setenv("MIXER_KEY", "sk-very-secret")
    out = tmp_path / "out"
    command = (
        f"mix --model m --out {out} --draws 2 --set server_name=lab --set max_connections=4".split()
    )
    with serving(failing := Mixer(fails_after=50)) as address:
        assert main([*command, "--server", address, "--api-key-env", "MIXER_KEY"]) == 2
    errors = capsys.readouterr().err
    assert "does not answer any more" in errors
    assert "secret" not in errors
    assert {headers["authorization"] for headers in failing.headers} == {"Bearer sk-very-secret"}
    assert not (out / "scores.csv").exists()
    with serving(mixer := Mixer()) as address:
        assert main([*command, "--server", address]) == 0
        assert len(mixer.drawn) == 2 * 98 - 50
        assert not set(mixer.drawn) & set(failing.drawn)
        assert main([*command, "--server", address]) == 0
        assert len(mixer.drawn) == 2 * 98 - 50
    assert "196 of 196 answers" in capsys.readouterr().err
    assert len({seed for _, _, seed, _ in failing.drawn + mixer.drawn}) == 196
    answers = pd.read_parquet(out / "answers.parquet")
    assert len(answers) == 196
    assert set(answers["model"]) == {"m"}
    assert set(answers["status"]) == {"ok"}
    assert (
        json.loads((out / "scores.json").read_text(encoding="utf-8"))["experiments"][-1]["answers"]
        == 196
    )


@pytest.mark.lengthy
def test_several_models_of_a_server(tmp_path, capsys):
    """Every model has its row, and a server that may not draw at all is spoken of."""
    command = (
        f"mix --model m --model stuck --out {tmp_path}/out --draws 3 --max-new-tokens 77".split()
    )
    with serving(mixer := Mixer()) as address:
        assert main([*command, "--server", address]) == 0
    output = capsys.readouterr()
    assert (
        "all draws of a question got the same answer from stuck. Does its service draw?"
        in output.err
    )
    assert "same answer from m." not in output.err
    assert output.out.index("   1  m") < output.out.index("   2  stuck")
    assert {(model, tokens) for model, _, _, tokens in mixer.drawn} == {("m", 77), ("stuck", 77)}
    assert pd.read_csv(tmp_path / "out" / "leaderboard.csv")["model"].tolist() == ["m", "stuck"]
    with serving(Mixer()) as address:
        assert (
            main(f"mix --server {address} --model m --model m --out {tmp_path}/twice".split()) == 2
        )
    assert "--model must name different models; received m, m." in capsys.readouterr().err
    assert not (tmp_path / "twice").exists()


@pytest.mark.lengthy
def test_a_killed_session_asks_only_for_the_rest(tmp_path):
    """The kill comes between two answers.

    Each question was answered once when both sessions are through, but for those under way at the
    kill.
    """
    out = tmp_path / "out"
    command = [
        "mix",
        "--model",
        "m",
        "--out",
        str(out),
        "--draws",
        "2",
        "--set",
        "max_connections=1",
        "--set",
        "server_name=lab",
        "--server",
    ]
    with serving(slow := Mixer(seconds=0.05)) as address:
        process = subprocess.Popen(
            [sys.executable, "-m", "coherence.cli.main", *command, address],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while _stored(out) < 20:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    kept = _stored(out)
    assert 20 <= kept <= len(slow.drawn) < 196, "the kill came too late to test anything"
    assert not (out / "answers.parquet").exists()
    with serving(mixer := Mixer()) as address:
        assert main([*command, address]) == 0
    assert len(mixer.drawn) == 196 - kept
    assert len({request[2] for request in slow.drawn + mixer.drawn}) == 196
    assert len(pd.read_parquet(out / "answers.parquet")) == 196


def _stored(out):
    import sqlite3

    if not (out / "answers.sqlite").exists():
        return 0
    database = sqlite3.connect(f"file:{out / 'answers.sqlite'}?mode=ro", uri=True, timeout=30)
    try:
        return database.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.OperationalError:  # the tables are not there yet
        return 0
    finally:
        database.close()


@pytest.mark.lengthy
def test_answers_of_several_files(answers, tmp_path, capsys):
    table = simulate_mixing("uniform", n_draws=5, rng=0)
    table.to_parquet(tmp_path / "more.parquet")
    out = tmp_path / "out"
    assert (
        main(["mix", "--answers", str(answers), str(tmp_path / "more.parquet"), "--out", str(out)])
        == 0
    )
    assert len(pd.read_csv(out / "leaderboard.csv")) == 3
    assert "uniform" in capsys.readouterr().out
    table.assign(answer="1")[table["draw"] == 0].to_parquet(tmp_path / "again.parquet")
    assert (
        main(
            [
                "mix",
                "--answers",
                str(tmp_path / "more.parquet"),
                "--answers",
                str(tmp_path / "again.parquet"),
                "--out",
                str(tmp_path / "x"),
            ]
        )
        == 2
    )
    errors = capsys.readouterr().err
    assert "of model 'uniform'" in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "x").exists()


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
        (["--model", "m", "--out", "x"], "m is not a folder"),
        (["--model", "m", "--out", "x", "--draws", "0"], "--draws must be at least 1; received 0"),
        (
            ["--model", "m", "--out", "x", "--server", "http://localhost:1", "--exact"],
            "--exact needs the files of the model",
        ),
        (
            ["--answers", "a.csv", "--out", "x", "--server", "http://localhost:1"],
            "--server needs --model",
        ),
        (["--answers", "wrong.csv", "wrong.csv", "--out", "x"], "wrong.csv is named twice"),
        (["--answers", "a.csv", "--out", "taken"], "--out must be a folder"),
        (
            ["--answers", "right.csv", "--out", "taken/x"],
            "--out must be a folder that can be made; taken/x cannot",
        ),
        (
            ["--answers", "wrong.csv", "--out", "x"],
            "table of answers has 1 error: column 'p' must hold probabilities in [0, 1]",
        ),
    ],
)
def test_wrong_use_ends_with_2_one_line_and_no_folder(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    (tmp_path / "wrong.csv").write_text(
        "experiment,p,answer\nflip,20,1\nflip,80,0\n", encoding="utf-8"
    )
    (tmp_path / "right.csv").write_text(
        "experiment,p,answer,probability\nflip,.2,1,.2\nflip,.8,1,.8\n", encoding="utf-8"
    )
    assert main(["mix", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_lesson_runs_and_its_answers_can_be_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["mixing_lesson.py", "--out", str(tmp_path / "lesson"), "--draws", "5"]
    )
    runpy.run_path(str(ROOT / "examples" / "mixing_lesson.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert "ideal    published 0.0 of 8, corrected 8.0 of 8" in output
    assert "literal  published 7.8 of 8, corrected 0.0 of 8" in output
    assert (tmp_path / "lesson" / "flips.png").exists()
    board = score_mixing(
        pd.read_csv(tmp_path / "lesson" / "answers.csv", dtype={"answer": str}),
        n_resamples=100,
        rng=0,
    ).leaderboard()
    assert board["model"].iloc[0] in ("ideal", "literal")
    assert board["model"].iloc[-1] == "first"
