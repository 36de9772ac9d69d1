"""The tables of the papers from the commands of the batteries."""

import pandas as pd
import pytest

from coherence import simulate_mixing
from coherence.batteries.bets.agents import simulate_answers
from coherence.cli.main import main


@pytest.mark.lengthy
def test_reveal_writes_the_tables_and_the_figure_of_both_ways_of_asking(tmp_path, capsys):
    where = ["--faces", "4", "--where", "scenario=dice", "--where", "n=1"]
    filled, out, paper = tmp_path / "answers.csv", tmp_path / "out", tmp_path / "paper"
    assert main(["reveal", "--questions", str(filled), *where]) == 0
    table = pd.read_csv(filled)
    table["probability"] = 0.1
    table.to_csv(filled, index=False)
    given = ["reveal", "--answers", str(filled), "--out", str(out), *where]
    assert main([*given, "--paper", str(paper)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    misses = pd.read_csv(out / "misses.csv")
    assert f"all settings {misses['n_settings'].iloc[-1]} " in text
    assert f" {misses['stated_miss'].iloc[-1]:.3f} " in text
    assert (out / "misses.png").read_bytes().startswith(b"\x89PNG")
    names = {path.name for path in paper.iterdir()}
    assert names == {"paper.md", "paper.tex", "misses.svg", "misses.pdf", "files.sha256"} | {
        f"{name}.{ending}"
        for name in ("revealed-dice", "misses")
        for ending in ("md", "tex", "csv")
    }
    index = (paper / "paper.md").read_text(encoding="utf-8")
    assert "](misses.svg)" in index


@pytest.mark.lengthy
def test_bets_writes_accuracies_with_both_tests(questions, tmp_path, capsys):
    table = pd.read_csv(questions, keep_default_na=False, na_values=[""])
    answers, paper = tmp_path / "answers.csv", tmp_path / "paper"
    simulate_answers("maximiser", table, rng=1).to_csv(answers, index=False)
    given = ["bets", "--answers", str(answers), "--out", str(tmp_path / "out")]
    assert main([*given, "--paper", str(paper)]) == 0
    scores = pd.read_csv(tmp_path / "out" / "accuracy.csv").set_index(["template", "truth"])
    shown = pd.read_csv(paper / "bets.csv").iloc[0]
    assert shown["coin.correct"] == scores.loc[("coin", "correct"), "accuracy"]
    sets = pd.read_csv(paper / "bets-sets.csv").iloc[0]
    assert sets["dice.strict.threshold"] == scores.loc[("dice", "strict"), "threshold"]


@pytest.mark.parametrize(
    "action", [["questions", "--out", "q.csv"], ["train", "--modality", "coin", "--out", "m"]]
)
def test_actions_without_a_table_refuse_the_option(action, capsys):
    assert main(["bets", "--paper", "paper", *action]) == 2
    assert "--paper does not belong to 'coherence bets" in capsys.readouterr().err


@pytest.mark.lengthy
def test_mix_writes_the_ceiling_beside_the_score(tmp_path, capsys):
    answers, paper = tmp_path / "answers.csv", tmp_path / "paper"
    simulate_mixing("literal", n_draws=4, rng=0).to_csv(answers, index=False)
    given = ["mix", "--answers", str(answers), "--out", str(tmp_path / "out")]
    assert main([*given, "--paper", str(paper)]) == 0
    table = pd.read_csv(paper / "mixing.csv")
    scores = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert table["ceiling"].tolist() == pytest.approx(scores["ceiling"].tolist(), abs=1e-12)


def test_a_folder_that_cannot_be_is_named_by_its_option(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    given = ["mix", "--answers", "none.csv", "--out", str(tmp_path / "out")]
    answers = tmp_path / "answers.csv"
    simulate_mixing("literal", n_draws=2, rng=0).to_csv(answers, index=False)
    given[2] = str(answers)
    assert main([*given, "--paper", str(tmp_path / "file")]) == 2
    assert "--paper must be a folder" in capsys.readouterr().err
