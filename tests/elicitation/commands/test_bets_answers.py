"""Answers to bets: breaks if answers to other questions pass, or a fault is not explained."""

import pandas as pd
import pytest

from coherence.cli.main import main

from ..models.hosted.fake_server import Fake, answer, serving


@pytest.mark.lengthy
def test_answers_to_other_questions_are_refused_with_the_option_that_is_missing(
    tmp_path, capsys, list_of_things
):
    (tmp_path / "list.csv").write_text(list_of_things, encoding="utf-8")
    things, terms = ["--items", str(tmp_path / "list.csv")], ["--chance", "0.3"]
    scored = ["--out", str(tmp_path / "out"), "--answers"]
    for name, words in {"plain": [], "things": things, "terms": terms}.items():
        assert main(["bets", "questions", "--out", str(tmp_path / f"{name}_q.csv"), *words]) == 0
        table = pd.read_csv(tmp_path / f"{name}_q.csv", keep_default_na=False, na_values=[""])
        table[["question"]].assign(answer="a").to_csv(tmp_path / f"{name}.csv", index=False)
        table[table["kind"] == "bet"][["question"]].assign(answer="a").to_csv(
            tmp_path / f"{name}_bets.csv", index=False
        )
    every = "--items, --chance, --stake and --payout"
    for answers, words, missing in (
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
        assert main(["bets", *scored, str(tmp_path / f"{answers}.csv"), *words]) == 2, (
            answers,
            words,
        )
        lines = capsys.readouterr().err.splitlines()
        assert f"Say {missing} as for the questions that were answered" in lines[-1], (
            answers,
            words,
        )
        assert not (tmp_path / "out").exists()
    assert main(["bets", *scored, str(tmp_path / "terms.csv"), *terms]) == 0
    assert (
        main(
            ["bets", *scored, *f"{tmp_path}/things.csv --questions {tmp_path}/things_q.csv".split()]
        )
        == 0
    )


@pytest.mark.lengthy
def test_models_behind_servers_are_asked_in_words_and_once(tmp_path, capsys, list_of_things):
    """The dear thing has the letter that its option has, whoever stands first."""
    (tmp_path / "list.csv").write_text(list_of_things, encoding="utf-8")
    out = tmp_path / "out"
    fake = Fake(lambda body, n: answer("The answer is **(a)**."), models=("m", "n"))
    with serving(fake) as address:
        words = ["--server", address, "--model", "m", "--out", str(out), "--items"]
        assert main(["bets", *words, str(tmp_path / "list.csv")]) == 0
        n_asked = len(fake.asked)
        assert main(["bets", *words, str(tmp_path / "list.csv")]) == 0
    answers = pd.read_csv(out / "answers.csv")
    assert set(answers["answer"]) == {"The answer is **(a)**."}
    # The second call asks what the server can do, and no question.
    assert len(fake.asked) - n_asked < 6
    assert n_asked >= answers["question"].nunique()
    assert {body["temperature"] for _, body in fake.asked[3:]} <= {0.0, 1.0}
    assert (out / "accuracy.csv").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "m", "--temperature", "1"], "--temperature belongs to hosted models"),
        (["--server", "http://127.0.0.1:9", "--answers", "a.csv"], "--server needs --model"),
        (
            ["--server", "http://127.0.0.1:9", "--model", "m", "--likelihood", "token"],
            "--likelihood needs the model's files",
        ),
        (
            ["--server", "http://127.0.0.1:9", "--model", "m", "--model", "m"],
            "--model must name different models",
        ),
    ],
)
def test_options_that_do_not_go_together(words, message, tmp_path, capsys):
    assert main(["bets", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
