"""Answers to bets: breaks if answers to other questions pass, or a fault is not explained."""

import pandas as pd

from coherence.cli.main import main


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
