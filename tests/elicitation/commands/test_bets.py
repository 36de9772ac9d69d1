"""The bets command.

Breaks if files are missing or wrong, if a word of the user is misread, or if it asks anything of a
model that it should not.
"""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence import read_runs
from coherence.batteries.bets.agents import simulate_answers
from coherence.batteries.bets.plots import plot_accuracies, plot_ladder, plot_transfer
from coherence.batteries.bets.scores import score_bets
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]
THINGS = "item,value,split\n" + "".join(
    f"{name},{value},{split}\n"
    for split in ("train", "dev", "test")
    for value, names in {"high": ("gem", "ship"), "low": ("nail", "sock")}.items()
    for name in (f"a {split} {word}" for word in names)
)


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("bets") / "questions.csv"
    assert main(["bets", "questions", "--out", str(path)]) == 0
    return path


def test_answers_are_scored_as_in_python(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    assert len(table) == 2 * 25 * 4 + 2 * 100 * 3 + 9 * 10 * 5 * 2
    answers = pd.concat([simulate_answers(name, table, rng=1) for name in ("maximiser", "random")])
    answers.to_csv(tmp_path / "answers.csv", index=False)
    out = tmp_path / "out"
    assert main(["bets", "--answers", str(tmp_path / "answers.csv"), "--out", str(out)]) == 0
    found = pd.read_csv(out / "accuracy.csv")
    expected = score_bets(table, answers).accuracy
    np.testing.assert_allclose(found["accuracy"], expected["accuracy"])
    np.testing.assert_allclose(found["low"], expected["low"])
    names = {
        "accuracy.csv",
        "answers.csv",
        "ladder.csv",
        "runs.parquet",
        "ladder_runs.parquet",
        "accuracy_1.svg",
        "accuracy_2.svg",
        "ladder_1.svg",
    }
    assert {file.name for file in out.iterdir()} == names | {
        "ladder_2.svg",
        "models.csv",
        "models.svg",
    }
    assert read_runs(out / "runs.parquet").groupby(["task", "model"])[
        "context"
    ].nunique().unique().tolist() == [10]
    assert pd.read_csv(out / "models.csv")["model"].tolist() == ["maximiser", "random"] * 3
    read_runs(out / "ladder_runs.parquet")
    said = capsys.readouterr().out
    row = expected[
        (expected["model"] == "maximiser")
        & (expected["template"] == "coin")
        & (expected["truth"] == "correct")
    ].iloc[0]
    assert f"{row['accuracy']:.1%}" in said
    assert "maximiser, ladder of a coin" in said


def test_all_pairs_are_contexts_on_request(questions, tmp_path):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    simulate_answers("maximiser", table, rng=1).to_csv(tmp_path / "answers.csv", index=False)
    assert (
        main(
            [
                "bets",
                "--answers",
                str(tmp_path / "answers.csv"),
                "--out",
                str(tmp_path / "out"),
                "--pairs",
                "crossed",
            ]
        )
        == 0
    )
    assert read_runs(tmp_path / "out" / "runs.parquet").groupby("task")[
        "context"
    ].nunique().unique().tolist() == [100]
    assert not (tmp_path / "out" / "models.csv").exists()


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
    found = []
    for name, said in (("told", ["--questions", str(tmp_path / "questions.csv")]), ("made", terms)):
        assert (
            main(
                [
                    "bets",
                    "--answers",
                    str(tmp_path / "answers.csv"),
                    "--out",
                    str(tmp_path / name),
                    *said,
                ]
            )
            == 0
        )
        found.append(
            (tmp_path / name / "accuracy.csv").read_bytes()
            + (tmp_path / name / "ladder.csv").read_bytes()
        )
    assert found[0] == found[1]
    rows = pd.read_csv(tmp_path / "told" / "accuracy.csv").set_index(["template", "truth"])
    assert (rows["accuracy"].xs("correct", level="truth") == 1).all()
    said = capsys.readouterr().out
    assert "elevation 0.00" in said
    assert "intervals take pairs of things as independent" in said


def test_answers_to_other_questions_are_refused_with_the_option_that_is_missing(tmp_path, capsys):
    (tmp_path / "list.csv").write_text(THINGS, encoding="utf-8")
    things, terms = ["--items", str(tmp_path / "list.csv")], ["--chance", "0.3"]
    scored = ["--out", str(tmp_path / "out"), "--answers"]
    for name, said in {"plain": [], "things": things, "terms": terms}.items():
        assert main(["bets", "questions", "--out", str(tmp_path / f"{name}_q.csv"), *said]) == 0
        table = pd.read_csv(tmp_path / f"{name}_q.csv", keep_default_na=False, na_values=[""])
        table[["question"]].assign(answer="a").to_csv(tmp_path / f"{name}.csv", index=False)
        table[table["kind"] == "bet"][["question"]].assign(answer="a").to_csv(
            tmp_path / f"{name}_bets.csv", index=False
        )
    every = "--items, --chance, --stake and --payout"
    for answers, said, missing in (
        ("plain", things, "--items"),
        ("things", [], "--items"),
        ("terms", [], every[9:]),
        ("plain", terms, every[9:]),
        ("terms", ["--chance", "0.4"], every[9:]),
        ("terms", ["--chance", "0.3", "--stake", "21"], every[9:]),
        ("terms_bets", [], every),
        ("plain_bets", [*things, *terms], every),
    ):
        capsys.readouterr()
        assert main(["bets", *scored, str(tmp_path / f"{answers}.csv"), *said]) == 2, (
            answers,
            said,
        )
        lines = capsys.readouterr().err.splitlines()
        assert f"Say {missing} as for the questions that were answered" in lines[-1], (
            answers,
            said,
        )
        assert not (tmp_path / "out").exists()
    assert main(["bets", *scored, str(tmp_path / "terms.csv"), *terms]) == 0
    assert (
        main(
            [
                "bets",
                *scored,
                str(tmp_path / "things.csv"),
                "--questions",
                str(tmp_path / "things_q.csv"),
            ]
        )
        == 0
    )


def test_results_of_an_earlier_call_do_not_stay(questions, tmp_path):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    out = tmp_path / "out"
    out.mkdir()
    for name in ("accuracy_x.svg", "accuracy_1.svg.bak", "notes.csv", "answers.sqlite"):
        (out / name).write_text("mine", encoding="utf-8")
    pd.concat([simulate_answers(name, table, rng=1) for name in ("maximiser", "random")]).to_csv(
        out / "models.csv", index=False
    )
    values = table[table["kind"] == "value"]
    one = simulate_answers("random", values, rng=1)
    one.to_csv(tmp_path / "one.csv", index=False)
    assert main(["bets", "--answers", str(out / "models.csv"), "--out", str(out)]) == 0
    assert (out / "ladder_2.svg").exists()
    assert main(["bets", "--answers", str(tmp_path / "one.csv"), "--out", str(out)]) == 0
    left = {file.name for file in out.iterdir()}
    assert left == {
        "answers.csv",
        "accuracy.csv",
        "accuracy_1.svg",
        "accuracy_x.svg",
        "accuracy_1.svg.bak",
        "notes.csv",
        "answers.sqlite",
    }
    one.to_csv(out / "ladder.csv", index=False)
    assert main(["bets", "--answers", str(out / "ladder.csv"), "--out", str(out)]) == 0
    assert (out / "ladder.csv").exists()  # what was read is no result


def test_names_with_signs_that_no_font_has_draw_without_a_warning(questions, tmp_path, recwarn):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    named = [
        simulate_answers("random", table, rng=seed).assign(model=f"model \U0001f9e8 {seed}")
        for seed in (1, 2)
    ]
    pd.concat(named).to_csv(tmp_path / "answers.csv", index=False)
    assert (
        main(["bets", "--answers", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "\U0001f9e8" in (tmp_path / "out" / "models.svg").read_text(encoding="utf-8")
    assert [str(one.message) for one in recwarn if "Glyph" in str(one.message)] == []


def test_unread_answers_are_told_in_the_terminal(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    test = table[(table["kind"] == "value") & (table["split"] == "test")]
    said = ["hm"] * 3 + ["a"] * (len(test) - 3)
    pd.DataFrame({"question": test["question"], "answer": said}).to_csv(
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


def test_rule_changes_what_is_right(questions, tmp_path):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    bets = table[(table["kind"] == "bet") & (table["split"] == "test")]
    lose = [
        next(letter for letter in "abc" if row[f"role_{letter}"] == "lose")
        for row in bets.to_dict("records")
    ]
    pd.DataFrame({"question": bets["question"], "answer": lose}).to_csv(
        tmp_path / "answers.csv", index=False
    )
    shares = []
    for rule in ("side", "outcome"):
        out = tmp_path / rule
        assert (
            main(
                [
                    "bets",
                    "--answers",
                    str(tmp_path / "answers.csv"),
                    "--out",
                    str(out),
                    "--rule",
                    rule,
                ]
            )
            == 0
        )
        shares.append(
            pd.read_csv(out / "accuracy.csv")
            .set_index(["template", "truth"])
            .loc[("coin", "correct"), "accuracy"]
        )
    assert shares == [0.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "needed: --model DIR to ask a model, or --answers FILE"),
        (["--answers", "a.csv", "--model", "m", "--out", "x"], "and not both"),
        (["--answers", "a.csv"], "--out DIR is missing"),
        (["--answers", "nowhere.csv", "--out", "x"], "nowhere.csv: no such file"),
        (["--answers", "a.txt", "--out", "x"], "must be .csv or .parquet"),
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
        (
            ["questions", "--out", "x.csv", "--items", "nowhere.csv"],
            "items nowhere.csv cannot be read",
        ),
    ],
)
def test_wrong_words_are_named(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bets", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


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
    ],
)
def test_faulty_lists_of_things_are_one_line(text, message, tmp_path, capsys):
    (tmp_path / "things.csv").write_bytes(text)
    assert (
        main(
            [
                "bets",
                "questions",
                "--items",
                str(tmp_path / "things.csv"),
                "--out",
                str(tmp_path / "questions.csv"),
            ]
        )
        == 2
    )
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert len(said[0]) < 500
    assert re.search(message, said[0])
    assert not (tmp_path / "questions.csv").exists()


def test_training_asking_and_transfer(tmp_path, capsys):
    """Plumbing on two things of each kind: what is trained is saved, asked, and compared.

    What it learns is for the slow test.
    """
    (tmp_path / "things.csv").write_text(THINGS, encoding="utf-8")
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
    assert main(["bets", "transfer", "--out", str(tmp_path / "all"), *short]) == 0
    table = pd.read_csv(tmp_path / "all" / "transfer.csv")
    assert set(zip(table["trained_on"], table["tested_on"], strict=True)) == {
        (a, b) for a in ("coin", "dice", "card") for b in ("coin", "dice", "card")
    }
    assert (tmp_path / "all" / "transfer.svg").exists()
    said = capsys.readouterr().out
    assert "trained on" in said
    asked = [
        "--out",
        str(tmp_path / "scores"),
        "--items",
        str(tmp_path / "things.csv"),
        "--device",
        "cpu",
    ]
    assert main(["bets", "--model", str(tmp_path / "all" / "coin"), *asked]) == 0
    own = pd.read_csv(tmp_path / "scores" / "accuracy.csv")
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
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "--out must be a folder that can be made" in said[0]
    both = pd.read_csv(tmp_path / "both" / "accuracy.csv")
    pd.testing.assert_frame_equal(both[both["model"] == "coin"].reset_index(drop=True), own)
    assert main(["bets", *several[:2] * 2, "--out", str(tmp_path / "twice"), *asked[2:]]) == 2
    assert (
        "must have different names, by which tables tell them apart; 'coin' occurs twice"
        in capsys.readouterr().err
    )
    same = table[(table["trained_on"] == "coin") & (table["truth"] == "correct")].set_index(
        "tested_on"
    )["accuracy"]
    assert (
        own[own["truth"] == "correct"].set_index("template")["accuracy"][same.index].to_dict()
        == same.to_dict()
    )


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
