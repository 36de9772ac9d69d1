"""Scores of bets: breaks if a file is missing, stale or unlike what Python gives."""

import numpy as np
import pandas as pd
import pytest

from coherence import read_runs, score_bets
from coherence.batteries.bets.agents import simulate_answers
from coherence.cli.main import main


def test_answers_are_scored_as_in_python(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    assert len(table) == 2 * 25 * 4 + 2 * 100 * 3 + 9 * 10 * 5 * 2
    answers = pd.concat([simulate_answers(name, table, rng=1) for name in ("maximiser", "random")])
    answers.to_csv(tmp_path / "answers.csv", index=False)
    out = tmp_path / "out"
    assert main(["bets", "--answers", str(tmp_path / "answers.csv"), "--out", str(out)]) == 0
    accuracy = pd.read_csv(out / "accuracy.csv")
    expected = score_bets(table, answers).accuracy
    np.testing.assert_allclose(accuracy["accuracy"], expected["accuracy"])
    np.testing.assert_allclose(accuracy["low"], expected["low"])
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
        "files.sha256",
    }
    assert read_runs(out / "runs.parquet").groupby(["task", "model"])[
        "context"
    ].nunique().unique().tolist() == [10]
    assert pd.read_csv(out / "models.csv")["model"].tolist() == ["maximiser", "random"] * 3
    read_runs(out / "ladder_runs.parquet")
    output = capsys.readouterr().out
    row = expected[
        (expected["model"] == "maximiser")
        & (expected["template"] == "coin")
        & (expected["truth"] == "correct")
    ].iloc[0]
    assert f"{row['accuracy']:.1%}" in output
    assert "maximiser, ladder of a coin" in output


@pytest.mark.lengthy
def test_all_pairs_are_contexts_on_request(questions, tmp_path):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    simulate_answers("maximiser", table, rng=1).to_csv(tmp_path / "answers.csv", index=False)
    assert (
        main(f"bets --answers {tmp_path}/answers.csv --out {tmp_path}/out --pairs crossed".split())
        == 0
    )
    assert read_runs(tmp_path / "out" / "runs.parquet").groupby("task")[
        "context"
    ].nunique().unique().tolist() == [100]
    assert not (tmp_path / "out" / "models.csv").exists()


@pytest.mark.lengthy
def test_results_of_an_earlier_call_do_not_stay(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    out = tmp_path / "out"
    out.mkdir()
    for name in ("accuracy_x.svg", "accuracy_1.svg.bak", "notes.csv", "answers.sqlite"):
        (out / name).write_text("mine", encoding="utf-8")
    pd.concat([simulate_answers(name, table, rng=1) for name in ("maximiser", "random")]).to_csv(
        tmp_path / "several.csv", index=False
    )
    values = table[table["kind"] == "value"]
    partial = simulate_answers("random", values, rng=1)
    partial.to_csv(tmp_path / "one.csv", index=False)
    assert main(["bets", "--answers", str(tmp_path / "several.csv"), "--out", str(out)]) == 0
    assert (out / "ladder_2.svg").exists()
    assert "in place of" not in capsys.readouterr().err
    assert main(["bets", "--answers", str(tmp_path / "one.csv"), "--out", str(out)]) == 0
    assert f"to {out}, in place of those of an earlier call" in capsys.readouterr().err
    left = {file.name for file in out.iterdir()}
    assert left == {
        "answers.csv",
        "accuracy.csv",
        "accuracy_1.svg",
        "accuracy_x.svg",
        "accuracy_1.svg.bak",
        "notes.csv",
        "answers.sqlite",
        "files.sha256",
    }
    partial.to_csv(out / "ladder.csv", index=False)
    assert main(["bets", "--answers", str(out / "ladder.csv"), "--out", str(out)]) == 0
    assert (out / "ladder.csv").exists()  # what was read is no result


@pytest.mark.lengthy
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
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []


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
        assert main(f"bets --answers {tmp_path}/answers.csv --out {out} --rule {rule}".split()) == 0
        shares.append(
            pd.read_csv(out / "accuracy.csv")
            .set_index(["template", "truth"])
            .loc[("coin", "correct"), "accuracy"]
        )
    assert shares == [0.0, 0.5]
