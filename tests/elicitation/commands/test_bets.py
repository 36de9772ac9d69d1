"""The bets command.

Breaks if files are missing or wrong, if a word of the user is misread, or if it asks anything of a
model that it should not.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.batteries.bets.figures import plot_accuracies, plot_ladder, plot_transfer
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "needed: --model DIR to ask a model, or --answers FILE"),
        (["--answers", "a.csv", "--model", "m", "--out", "x"], "and not both"),
        (["--answers", "a.csv"], "--out DIR is missing"),
        (["--answers", "nowhere.csv", "--out", "x"], "nowhere.csv: no such file"),
        (["--answers", "a.txt", "--out", "x"], "a.txt: no such file. Name a .csv or .parquet"),
        (
            ["--model", "m", "--questions", "q.csv", "--out", "x"],
            "--questions belongs to --answers",
        ),
        (["--model", "nowhere", "--out", "x"], "model must be a folder with config.json"),
        (
            ["--model", "a/m", "--model", "b/m", "--out", "x"],
            "model must be a folder with config.json",
        ),
        (
            ["--answers", "a.csv", "--questions", "q.csv", "--payout", "1", "--out", "x"],
            "without --items, --chance, --stake and --payout",
        ),
        (
            ["--rule", "outcome", "questions", "--out", "x.csv"],
            "--rule does not belong to 'coherence bets questions'",
        ),
        (
            ["--model", "m", "train", "--modality", "coin", "--out", "x"],
            "--model does not belong to 'coherence bets train'",
        ),
        (
            ["--items", "nowhere.csv", "questions", "--out", "x.csv"],
            "items nowhere.csv cannot be read",
        ),
        (
            ["questions", "--out", "x.csv", "--payout", "-1"],
            "payout must be a number of at least 0",
        ),
        (
            ["questions", "--out", "x.csv", "--chance", "50"],
            "chances must lie strictly between 0 and 1",
        ),
        (["train", "--modality", "coin", "--out", "x"], "needed: --model DIR, or --from-scratch"),
        (
            ["train", "--modality", "coin", "--out", "x", "--from-scratch", "--goal", "2"],
            "goal in (0, 1]",
        ),
    ],
)
def test_wrong_words_are_named(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bets", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.lengthy
def test_lesson_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "bets_lesson.py"), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "coin, correct" in line)
    maximiser, chooser, guesser, chance = (float(word.rstrip("%")) for word in line.split()[2:])
    assert maximiser > 90
    assert chooser == 50
    assert abs(guesser - chance) < 15
    assert {file.name for file in tmp_path.iterdir()} == {
        "maximiser.svg",
        "value-only.svg",
        "random.svg",
        "ladder.svg",
        "accuracy.csv",
    }


def drawn(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def test_figures_show_the_tables():
    ax = Figure().add_subplot()
    rows = pd.DataFrame(
        {
            "template": ["coin", "coin"],
            "truth": ["correct", "strict"],
            "n": [100, 100],
            "accuracy": [0.6, 0.1],
            "chance": [1 / 3, 0.125],
            "low": [0.4, 0.0],
            "high": [0.8, 0.3],
            "p_exact": [0.001, 0.8],
        }
    )
    [points] = drawn(plot_accuracies(rows, ax), "accuracy")
    assert points.get_offsets()[:, 0].tolist() == [0.6, 0.1]
    assert points.get_facecolor()[1].tolist() == [1, 1, 1, 1]  # not above chance: not filled
    ax = Figure().add_subplot()
    shares = pd.DataFrame(
        [[1.0, 0.5], [0.25, 0.75]], index=["coin", "dice"], columns=["coin", "dice"]
    )
    plot_transfer(shares, ax)
    assert [text.get_text() for text in ax.texts] == ["100%", "50%", "25%", "75%"]
    ax = Figure().add_subplot()
    table = pd.DataFrame(
        {"stated": [0.2, 0.5], "implied": [0.3, np.nan], "low": [0.2, 0.9], "high": [0.4, 1.0]}
    )
    [implied] = drawn(plot_ladder(table, ax), "implied")
    assert implied.get_offsets().tolist() == [[0.2, 0.3]]
    assert len(drawn(ax, "bounds")) == 1
