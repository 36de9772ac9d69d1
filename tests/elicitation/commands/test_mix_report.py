"""What the mix command prints and writes: breaks if a warning or a file is missing."""

import pandas as pd
import pytest

from coherence import simulate_mixing
from coherence.cli.main import main


@pytest.mark.parametrize(("shown", "warned"), [(0.4, True), (0.6, False)])
def test_rates_of_little_are_warned_of(shown, warned, tmp_path, capsys):
    table = pd.DataFrame(
        {"experiment": "flip", "p": [0.2, 0.8], "answer": "1", "probability": shown}
    )
    table.to_csv(tmp_path / "flips.csv", index=False)
    assert (
        main(["mix", "--answers", str(tmp_path / "flips.csv"), "--out", str(tmp_path / "out")]) == 0
    )
    assert (
        "More than half of the answers cannot be read in experiment 1 (60.0%)"
        in capsys.readouterr().out
    ) is warned


@pytest.mark.lengthy
def test_why_a_corrected_score_is_missing_is_said(tmp_path, capsys):
    simulate_mixing("uniform", n_draws=1, rng=0).to_parquet(tmp_path / "one.parquet")
    assert (
        main(["mix", "--answers", str(tmp_path / "one.parquet"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "no corrected score" in capsys.readouterr().out


def test_one_experiment_of_a_nameless_model_has_no_total(tmp_path, capsys):
    table = simulate_mixing("uniform", n_draws=5, rng=0)
    table[table["experiment"] == "words"].drop(columns="model").to_parquet(
        tmp_path / "words.parquet"
    )
    assert (
        main(["mix", "--answers", str(tmp_path / "words.parquet"), "--out", str(tmp_path / "out")])
        == 0
    )
    output = capsys.readouterr().out
    assert output.splitlines()[1].startswith("5 words")
    assert "total" in output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "scores.csv",
        "scores.json",
        "measures.csv",
        "curves.csv",
        "dependence.csv",
        "rates.png",
        "files.sha256",
    }


@pytest.mark.lengthy
def test_the_published_scoring_is_said_to_punish_equilibria(answers, tmp_path, capsys):
    table = simulate_mixing("ideal", rng=0)
    table.to_parquet(tmp_path / "ideal.parquet")
    assert (
        main(["mix", "--answers", str(tmp_path / "ideal.parquet"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert (
        "a faultless player of the equilibria gets 80.7 on average, under the ceiling of 91.1."
        in capsys.readouterr().out
    )
    table[table["experiment"].isin(["reads", "pennies", "positioning"])].to_parquet(
        tmp_path / "games.parquet"
    )
    assert (
        main(["mix", "--answers", str(tmp_path / "games.parquet"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "under the ceiling of experiment 4 of 1" in capsys.readouterr().out
