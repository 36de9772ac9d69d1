"""What the reveal command writes: breaks if a file of an earlier call stays, or another is lost."""

import pandas as pd

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
    for name in kept | stale:
        (out / name).write_text("earlier", encoding="utf-8")
    assert main(["reveal", "--answers", str(filled), "--out", str(out), *where]) == 0
    assert {path.name for path in out.iterdir()} == kept | {
        "bets.csv",
        "stated.csv",
        "stated_errors.csv",
    }
