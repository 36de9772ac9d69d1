"""What the bets command prints: breaks if an unread answer or a model's name is shown wrongly."""

import pandas as pd

from coherence.cli.main import main


def test_unread_answers_are_told_in_the_terminal(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    test = table[(table["kind"] == "value") & (table["split"] == "test")]
    replies = ["hm"] * 3 + ["a"] * (len(test) - 3)
    pd.DataFrame({"question": test["question"], "answer": replies}).to_csv(
        tmp_path / "answers.csv", index=False
    )
    assert (
        main(["bets", "--answers", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert (
        "note: model: 3 of 100 answers on values and bets could not be read and count as wrong."
        in capsys.readouterr().out
    )


def test_names_of_models_are_no_paths_and_no_terminal_commands(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""]).head(50)
    pd.DataFrame({"question": table["question"], "answer": "a", "model": "../evil\x1b[2J"}).to_csv(
        tmp_path / "answers.csv", index=False
    )
    assert (
        main(["bets", "--answers", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "\x1b" not in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir() if "evil" in file.name] == []
