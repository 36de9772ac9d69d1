"""The command, in processes of its own.

Breaks if a kill loses answers, if a resumed run differs, or if an error is not one line and exit 2.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from coherence import read_runs
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]


def _command(folder, out, *extra):
    options = [
        "--task",
        "asia",
        "--contexts",
        "15",
        "--reps",
        "4",
        "--batch-size",
        "4",
        "--threads",
        "1",
    ]
    command = [sys.executable, "-m", "coherence.cli.main", "elicit", "--model", str(folder)]
    return [*command, *options, "--out", str(out), *extra]


def _answers(store):
    if not store.exists():
        return {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30) as database:
        try:
            rows = dict(database.execute("SELECT key, answer || created FROM answers"))
        except sqlite3.OperationalError:  # the tables are not there yet
            rows = {}
    database.close()
    return rows


def _wait_for_answers(process, store, least):
    deadline = time.monotonic() + 120
    while len(_answers(store)) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _start(command):
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts():
    """Undo what a test run in the background hands down: a child that ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_nothing_and_asks_nothing_twice(model_folder, tmp_path):
    out, store = tmp_path / "runs.parquet", tmp_path / "runs.parquet.answers.sqlite"
    total = 15 * 4 * 8
    process = _start(_command(model_folder, out))
    _wait_for_answers(process, store, 40)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = _answers(store)
    assert 40 <= len(kept) < total, "the kill came too late to test anything"
    assert not out.exists()

    again = subprocess.run(
        _command(model_folder, out), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"{total - len(kept)} answers asked, {len(kept)} reused" in again.stderr
    whole = _answers(store)
    assert len(whole) == total
    assert kept.items() <= whole.items()

    # One process for both: an uninterrupted run with another batch size, and a run that finds
    # everything.
    other = tmp_path / "other.parquet"
    assert main([*_command(model_folder, other)[3:], "--batch-size", "64"]) == 0
    resumed = read_runs(out)
    pd.testing.assert_frame_equal(
        resumed.drop(columns="created"), read_runs(other).drop(columns="created")
    )
    before = out.read_bytes()
    assert main(_command(model_folder, out)[3:]) == 0
    assert out.read_bytes() == before


@pytest.mark.lengthy
def test_ctrl_c_ends_quietly_and_says_how_to_go_on(model_folder, tmp_path):
    out, store = tmp_path / "runs.parquet", tmp_path / "answers.sqlite"
    process = _start(_command(model_folder, out, "--store", str(store)))
    _wait_for_answers(process, store, 8)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert (
        f"{len(_answers(store))} answers are kept in {store}. The same command resumes." in errors
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--model": "no/such/folder"}, "no/such/folder is not a folder"),
        ({"--task": "asai"}, "Did you mean 'asia'?"),
        ({"--target": "lnug"}, "lnug"),
        ({"--out": "runs.txt"}, "--out must end in .parquet, .csv or .jsonl"),
        ({"--out": "no/such/folder/runs.csv"}, "--out must lie in a folder"),
        ({"--contexts": "0"}, "contexts must be positive"),
        ({"--contexts": "100000"}, "distinct evidence sets"),
        ({"--reps": "0"}, "reps must be positive"),
        (
            {"--prompts": "standard,odd"},
            "prompts must be distinct names among standard, mse, absolute, bayes",
        ),
        ({"--temperature": "-1"}, "temperature and seed must be at least 0"),
        ({"--seed": "-1"}, "seed must be at least 0"),
        ({"--batch-size": "0"}, "batch_size must be positive"),
        ({"--threads": "0"}, "threads must be positive"),
        ({"--store": "no/such/folder/s.sqlite"}, "folder that exists"),
        ({"--store": __file__}, "cannot be used"),
    ],
)
def test_known_errors_are_one_line_and_exit_2(
    model_folder, tmp_path, monkeypatch, capsys, changes, message
):
    monkeypatch.chdir(tmp_path)
    options = {
        "--model": str(model_folder),
        "--task": "asia",
        "--contexts": "2",
        "--reps": "1",
        "--out": "runs.csv",
        **changes,
    }
    assert main(["elicit", *(word for pair in options.items() for word in pair)]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_options_reach_the_session(model_folder, tmp_path, capsys, suffix):
    out = tmp_path / f"runs{suffix}"
    options = [
        "--contexts",
        "2",
        "--reps",
        "1",
        "--prompts",
        "standard, bayes",
        "--no-lie",
        "--temperature",
        "0",
        "--target",
        "bronc",
    ]
    assert (
        main(
            ["elicit", "--model", str(model_folder), "--task", "asia", *options, "--out", str(out)]
        )
        == 0
    )
    assert "4 rows, 6 answers asked, 0 reused" in capsys.readouterr().err
    runs = read_runs(out)
    assert set(runs["task"]) == {"asia:bronc"}
    assert list(runs["prompt"]) == ["standard", "bayes"] * 2


LAB = """
[belief.number]
form = "number"
text = "A patient {description}. What is the probability that they {question}? \
A number from 0 to 1:"
"""
QUESTIONS = """\
id,belief_question,action_question,options,theta
a,How probable is rain?,What now?,stay|go,1
b,How probable is snow?,What now?,stay|go,0
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x.csv", "--task", "asia"], "needed: --model."),
        (["--model", "m", "--out", "x.csv"], "needed: --task (or --questions, but not both)"),
        (
            ["--model", "m", "--out", "x.csv", "--task", "asia", "--questions", "q.csv"],
            "but not both",
        ),
        (
            ["--model", "m", "--out", "x.csv", "--questions", "q.csv", "--target", "lung"],
            "--target belongs to --task",
        ),
        (
            ["--model", "m", "--out", "x.csv", "--questions", "q.csv", "--contexts", "3"],
            "--contexts belongs to --task",
        ),
        (["--model", "m", "--out", "x.csv", "--questions", "none.csv"], "cannot be read"),
        (
            ["--model", "m", "--out", "x.csv", "--task", "asia", "--prompts", "none.toml"],
            "cannot be read",
        ),
        (
            ["--model", "m", "--out", "x.csv", "--task", "asia", "--prompts", "lab.toml,odd"],
            "prompts must be distinct names among standard, mse",
        ),
        (["--status", "none.sqlite"], "none.sqlite does not exist"),
        (
            ["--set", "time=30"],
            "--set has no key 'time'; received 'time=30'. Closest name found: 'timeout'",
        ),
        (["--set", "timeout=soon"], "argument --timeout: invalid int value: 'soon'"),
        (["--set", "resume=no"], "--set resume must be true or false; received 'no'"),
        (
            ["--agent", "leaky", "--out", "x.csv", "--task", "asia", "--set", "prefill=So: "],
            "--prefill begins the answers of a local model",
        ),
        (
            [
                "--agent",
                "leaky",
                "--out",
                "x.csv",
                "--task",
                "asia",
                "--answers",
                "exact",
                "--reps",
                "5",
            ],
            "answers='exact' draws nothing",
        ),
        (
            ["--agent", "leaky", "--out", "x.csv", "--task", "asia", "--set", "min_mass=2"],
            "min_mass must be in [0, 1]; received 2.0",
        ),
    ],
)
def test_what_is_missing_or_does_not_go_together(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text(QUESTIONS)
    Path("lab.toml").write_text(LAB)
    assert main(["elicit", *options]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_prompts_are_shown_without_a_model_and_nothing_is_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["elicit", "--task", "asia", "--contexts", "12", "--show-prompts", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n--- ") + shown.startswith("--- ") == 2
    assert "--- 1: belief (standard), context 1\nConsider a patient who" in shown
    assert list(tmp_path.iterdir()) == []
    assert main(["elicit", "--task", "asia", "--show-prompts", "0"]) == 2
    assert "--show-prompts must be at least 1; received 0" in capsys.readouterr().err


def test_exact_answers_from_the_command_line(model_folder, tmp_path, capsys):
    out = tmp_path / "runs.csv"
    words = ["elicit", "--model", str(model_folder), "--task", "asia", "--contexts", "2"]
    words += ["--answers", "exact", "--no-lie", "--prompts", "standard", "--out", str(out)]
    assert main([*words, "--dry-run"]) == 0
    assert "at most 0 in answers" in capsys.readouterr().out
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "2 rows, 4 answers asked, 0 reused, 100.0% readable" in said
    assert "have probability" in said
    runs = read_runs(out)
    assert runs["p"].notna().all()
    assert runs[["action_no", "action_yes", "action_defer"]].sum(axis=1).tolist() == pytest.approx(
        [1, 1]
    )
    # A beginning that leads elsewhere is another model; after a whole answer, the form of one has
    # next to nothing.
    ended = "No: 0.50\nYes: 0.50\nDecision: No\n"
    assert main([*words, "--set", f"prefill={ended}", "--store", str(tmp_path / "other")]) == 0
    said = capsys.readouterr().err
    assert "4 answers asked" in said
    assert "warning: that is less than one half" in said
    assert set(read_runs(out)["status"]) == {"low_mass"}
    again = ["--set", f"prefill={ended}", "--store", str(tmp_path / "other")]
    assert main([*words, *again, "--set", "min_mass=0.9"]) == 0
    assert "0 answers asked, 4 reused, 0.0% readable" in capsys.readouterr().err


def test_own_prompts_and_questions_from_the_command_line(model_folder, tmp_path, capsys):
    questions, lab, out = tmp_path / "weather.csv", tmp_path / "lab.toml", tmp_path / "runs.parquet"
    questions.write_text(QUESTIONS)
    lab.write_text(
        LAB.replace(
            "A patient {description}. What is the probability that they {question}?", "{question}"
        )
    )
    options = [
        "--model",
        str(model_folder),
        "--questions",
        str(questions),
        "--prompts",
        f"{lab},standard",
        "--reps",
        "1",
        "--out",
        str(out),
    ]
    assert main(["elicit", *options]) == 0
    runs = read_runs(out)
    assert set(runs["task"]) == {"weather"}
    assert list(runs["prompt"]) == ["number", "standard"] * 2
    # Actions stand beside "standard" where it is among the framings.
    assert runs.loc[runs["prompt"] == "standard", "raw_action"].notna().all()
    assert runs.loc[runs["prompt"] == "number", "raw_action"].isna().all()
    assert main(["elicit", *options, "--set", "resume=false"]) == 2
    assert "--no-resume needs a new store" in capsys.readouterr().err
    assert main(["elicit", *options, "--dry-run"]) == 0
    assert "to ask     0\n" in capsys.readouterr().out


def test_a_framing_of_ones_own_can_stand_in_for_standard(model_folder, tmp_path):
    lab, out = tmp_path / "lab.toml", tmp_path / "runs.csv"
    lab.write_text(LAB)
    options = f"--task asia --contexts 2 --reps 1 --prompts {lab} --out {out}".split()
    assert main(["elicit", "--model", str(model_folder), *options]) == 0
    runs = read_runs(out)
    assert set(runs["prompt"]) == {"number"}
    assert runs.loc[runs["z"].isna(), "raw_action"].notna().all()
