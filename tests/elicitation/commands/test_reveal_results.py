"""What the reveal command writes: breaks if a file of an earlier call stays, or another is lost."""

import html
import json

import pandas as pd
import pytest

from coherence.cli.folders import new_files
from coherence.cli.main import main


def test_what_an_earlier_call_wrote_does_not_stay_beside_the_new(tmp_path, capsys):
    """Files of other names stay, and so does the table that is read, whatever it is called."""
    where, out = ["--where", "scenario=choice", "--where", "n=2"], tmp_path / "out"
    out.mkdir()
    filled = out / "bets.csv"
    assert main(["reveal", "--questions", str(filled), *where]) == 0
    table = pd.read_csv(filled)
    table[table["kind"] == "stated"].assign(probability=0.1).to_csv(filled, index=False)
    kept = {"answers.sqlite", "notes.csv", "my-report.html"}
    stale = {
        "scores.csv",
        "table.csv",
        "runs.parquet",
        "results.json",
        "report.html",
        "outcomes.png",
    }
    with new_files(out, "|".join(stale)) as new:
        for name in stale:
            (new / name).write_text("earlier", encoding="utf-8")
    kept |= {"beliefs.csv"}  # a name of the command's, that of a file of the user's
    for name in kept:
        (out / name).write_text("mine", encoding="utf-8")
    assert main(["reveal", "--answers", str(filled), "--out", str(out), *where]) == 0
    assert {path.name for path in out.iterdir()} == kept | {
        "bets.csv",
        "stated.csv",
        "stated_errors.csv",
        "files.sha256",
    }


@pytest.mark.lengthy
def test_cautions_and_the_kind_of_belief_are_part_of_every_file(tmp_path, capsys):
    """They once reached the terminal alone, and titles called the belief stated."""
    where, out = ["--faces", "4", "--where", "scenario=dice", "--where", "n=1"], tmp_path / "out"
    filled = tmp_path / "answers.csv"
    assert main(["reveal", "--questions", str(filled), *where]) == 0
    table = pd.read_csv(filled)
    table = table[table["kind"] != "stated"]
    # Little of the probability falls on the outcomes, and one wording loves the first of them.
    loved = (table["wording"] == "standard") & (table["outcome"] == "1")
    table["probability"] = 1e-6 * (1 + 2 * loved)
    table.loc[table["kind"] == "bet", "probability"] = 0.4
    table.to_csv(filled, index=False)
    capsys.readouterr()
    assert main(["reveal", "--answers", str(filled), "--out", str(out), *where]) == 0
    (unit,) = json.loads((out / "results.json").read_text(encoding="utf-8"))["units"]
    page = html.unescape((out / "report.html").read_text(encoding="utf-8"))
    printed = " ".join(capsys.readouterr().out.replace("·", " ").split())
    assert unit["belief"] == "revealed belief"
    assert unit["scatter"]["across"] == "wordings"
    assert unit["scatter"]["sd"] > 0.03
    (caution,) = unit["cautions"]
    assert caution.startswith("warning: reports of a context differ by")
    (little,) = (said for said in unit["answering"]["sentences"] if said.startswith("warning:"))
    assert "less than half" in little
    for sentence in (caution, little):
        assert sentence[1:] in page
        assert sentence in printed
    assert "Could the revealed belief be the belief acted on?" in page
    assert "stated belief" not in page
    assert "stated belief" not in printed
