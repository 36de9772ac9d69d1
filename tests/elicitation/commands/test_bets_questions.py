"""The questions of the bets command: breaks if a list of things or the odds are misread."""

import re

import pandas as pd
import pytest

from coherence.batteries.bets.agents import simulate_answers
from coherence.cli.main import main


@pytest.mark.lengthy
def test_bets_at_other_odds_from_questions_to_the_ladder(tmp_path, capsys):
    terms = ["--chance", "0.3", "--stake", "50", "--payout", "0.5"]
    assert main(["bets", "questions", "--out", str(tmp_path / "questions.csv"), *terms]) == 0
    assert "no stake breaks even at 0.667 or more: 7 rungs" in capsys.readouterr().err
    table = pd.read_csv(tmp_path / "questions.csv", keep_default_na=False, na_values=[""])
    bet = table[(table["kind"] == "bet") & (table["split"] == "test")].iloc[0]
    assert "It lands on heads in 30% of all tosses." in bet["text"]
    assert (
        "A bet costs a stake of 50 dollars; it comes back, with 25 dollars on top, "
        "if I bet on the right side." in bet["text"]
    )
    simulate_answers("maximiser", table, sharpness=1e6, rng=1).to_csv(
        tmp_path / "answers.csv", index=False
    )
    ladders = []
    for name, words in (
        ("told", ["--questions", str(tmp_path / "questions.csv")]),
        ("made", terms),
    ):
        assert (
            main(
                [
                    "bets",
                    "--answers",
                    str(tmp_path / "answers.csv"),
                    "--out",
                    str(tmp_path / name),
                    *words,
                ]
            )
            == 0
        )
        ladders.append(
            (tmp_path / name / "accuracy.csv").read_bytes()
            + (tmp_path / name / "ladder.csv").read_bytes()
        )
    assert ladders[0] == ladders[1]
    rows = pd.read_csv(tmp_path / "told" / "accuracy.csv").set_index(["template", "truth"])
    assert (rows["accuracy"].xs("correct", level="truth") == 1).all()
    output = capsys.readouterr().out
    assert "elevation 0.00" in output
    assert "intervals take pairs of things as independent" in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "has no rows"),
        (b"item,value\na car,high\n", "lacks column 'split'"),
        (
            b"item,value,split\na car,high,test\n",
            "split 'test' must have things of both values; it has only high ones",
        ),
        (
            b"item,value,split\na car,high,test\na car,high,test\na pen,low,test\n",
            "'a car' occur more than once",
        ),
        (b"item,value,split\na car,high,test\nA car,low,test\n", "'a car' occur more than once"),
        (
            b"item,value,split,price\na car,high,test,-5\na pen,low,test,1\n",
            "the price of 'a car' must be a positive number; received -5",
        ),
        (
            b"item,value,split,price\na car,high,test,nan\na pen,low,test,1\n",
            "the price of 'a car' must be a positive number",
        ),
        (
            b"item,value,split,price\na car,high,test,1\na pen,low,test,2\n",
            "a high thing must be worth more than the low ones",
        ),
        (
            "item,value,split\nein Schl\u00fcssel,high,test\na pen,low,test\n".encode("latin-1"),
            "cannot be read .*Save it as CSV in UTF-8",
        ),
        (
            b"item,value,split\n" + b"x" * 1_000_000 + b",high,test\na pen,low,test\n",
            "cannot be read",
        ),
        (
            b"item,value,split\n" + b"x" * 5_000 + b",high,test\na pen,low,test\n",
            "line 2: item must have at most 100 characters; it has 5000",
        ),
        (
            b"item,value,split\na car, red,high,test\na pen,low,test\n",
            "line 2: there are more cells than columns",
        ),
        (
            b"item,value,split\na car\x1b[2J,high,test\na pen,low,test\n",
            "line 2: item must be a word or a few on one line",
        ),
        (
            b"item,value,split\na car,high,dev\na pen,low,dev\n",
            "no things in split 'test', on which models are scored",
        ),
        (
            b"item,value,split\na car,dear,test\n,low,test\na pen,low,exam\n",
            "line 2: value must be high or low, not 'dear'; line 3: item.*line 4: split",
        ),
        (
            b"item,value,split,price\na car,high,test,lots\n",
            "line 2: price must be a number, not 'lots'",
        ),
    ],
)
def test_faulty_lists_of_things_are_one_line(text, message, tmp_path, capsys):
    (tmp_path / "things.csv").write_bytes(text)
    assert (
        main(f"bets questions --items {tmp_path}/things.csv --out {tmp_path}/questions.csv".split())
        == 2
    )
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert len(errors[0]) < 500
    assert re.search(message, errors[0])
    assert not (tmp_path / "questions.csv").exists()
