"""The summary of a job. Breaks if text of a table becomes markup, or a lost file costs a result."""

import pandas as pd
import pytest

from coherence import simulate
from coherence.cli.main import main

EVIL = "a|b <img src=x> [c](http://d) `e`"


@pytest.fixture
def runs(tmp_path):
    table = simulate("leaky", n_contexts=30, n_reps=2, prompts=["standard"], rng=1)
    both = [table.assign(model=EVIL), table.assign(model="still", p=0.5)]
    pd.concat(both).to_parquet(tmp_path / "runs.parquet")
    return str(tmp_path / "runs.parquet")


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        ("analyze", ["--checks", "sufficiency"], ["Acts on more", " choice at equal belief"]),
        (
            "compare",
            ["--effects", "calibration:brier,report_noise"],
            ["hardly moves", "| **calibration:brier"],
        ),
    ],
)
def test_a_table_and_sentences_are_appended_with_names_escaped(
    command, options, says, runs, tmp_path, monkeypatch, capsys
):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main([command, runs, *options]) == 0
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n###")
    assert all(words in text for words in says)
    assert r"a\|b &lt;img src=x&gt; [c&#93;(http://d) \`e\`" in text
    assert "<img" not in text
    assert "warning" not in capsys.readouterr().err


def test_a_summary_that_cannot_be_written_is_one_line(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary.md"))
    assert main(["compare", runs, "--effects", "calibration:brier"]) == 0
    printed = capsys.readouterr()
    assert "calibration:brier" in printed.out
    (line,) = [line for line in printed.err.splitlines() if "warning" in line]
    assert "GITHUB_STEP_SUMMARY was not written" in line
