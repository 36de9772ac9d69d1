"""Training on bets from the command line: breaks if what is trained cannot be asked."""

import sqlite3

import pandas as pd
import pytest

from coherence.cli.main import main


@pytest.mark.slow
def test_training_asking_and_transfer(tmp_path, capsys, list_of_things):
    """Plumbing on two things of each kind: what is trained is saved, asked, and compared.

    What it learns is for the slow test.
    """
    (tmp_path / "things.csv").write_text(list_of_things, encoding="utf-8")
    short = [
        "--from-scratch",
        "--items",
        str(tmp_path / "things.csv"),
        "--epochs",
        "1",
        "--goal",
        "1",
        "--threads",
        "1",
        "--device",
        "cpu",
    ]
    paper = ["--paper", str(tmp_path / "paper")]
    assert main(["bets", "transfer", "--out", str(tmp_path / "all"), *short, *paper]) == 0
    table = pd.read_csv(tmp_path / "all" / "transfer.csv")
    assert set(zip(table["trained_on"], table["tested_on"], strict=True)) == {
        (a, b) for a in ("coin", "dice", "card") for b in ("coin", "dice", "card")
    }
    assert (tmp_path / "all" / "transfer.svg").exists()
    laid_out = pd.read_csv(tmp_path / "paper" / "transfer.csv").set_index("trained_on")
    correct = table[table["truth"] == "correct"]
    for row in correct.to_dict("records"):
        assert laid_out.loc[row["trained_on"], f"{row['tested_on']}.correct"] == row["accuracy"]
    output = capsys.readouterr().out
    assert "trained on" in output
    asked = f"--out {tmp_path}/scores --items {tmp_path}/things.csv --device cpu".split()
    assert main(["bets", "--model", str(tmp_path / "all" / "coin"), *asked]) == 0
    alone = pd.read_csv(tmp_path / "scores" / "accuracy.csv")
    several = ["--model", str(tmp_path / "all" / "coin"), "--model", str(tmp_path / "all" / "dice")]
    assert main(["bets", *several, "--out", str(tmp_path / "both"), *asked[2:]]) == 0
    assert set(pd.read_csv(tmp_path / "both" / "models.csv")["model"]) == {"coin", "dice"}
    # What has been asked is not asked again: the second call differs from the first in nothing.
    first = (tmp_path / "both" / "answers.csv").read_bytes()
    kept = (
        sqlite3.connect(tmp_path / "both" / "answers.sqlite")
        .execute("SELECT count(*), max(created) FROM answers")
        .fetchone()
    )
    assert kept[0] == len(pd.read_csv(tmp_path / "both" / "answers.csv"))
    assert main(["bets", *several, "--out", str(tmp_path / "both"), *asked[2:]]) == 0
    assert (tmp_path / "both" / "answers.csv").read_bytes() == first
    assert (
        sqlite3.connect(tmp_path / "both" / "answers.sqlite")
        .execute("SELECT count(*), max(created) FROM answers")
        .fetchone()
        == kept
    )
    (tmp_path / "file").write_text("", encoding="utf-8")
    capsys.readouterr()
    assert main(["bets", *several, "--out", str(tmp_path / "file" / "sub"), *asked[2:]]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert "--out must be a folder that can be made" in errors[0]
    both = pd.read_csv(tmp_path / "both" / "accuracy.csv")
    pd.testing.assert_frame_equal(both[both["model"] == "coin"].reset_index(drop=True), alone)
    assert main(["bets", *several[:2] * 2, "--out", str(tmp_path / "twice"), *asked[2:]]) == 2
    assert "coin is named twice. Leave one of them out" in capsys.readouterr().err
    same = table[(table["trained_on"] == "coin") & (table["truth"] == "correct")].set_index(
        "tested_on"
    )["accuracy"]
    assert (
        alone[alone["truth"] == "correct"].set_index("template")["accuracy"][same.index].to_dict()
        == same.to_dict()
    )
