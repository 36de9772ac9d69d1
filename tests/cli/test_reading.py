import dataclasses
import inspect
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coherence import read_runs
from coherence.cli.reading import READING
from coherence.runs.columns import OPTIONS, Reading


@pytest.fixture
def rows(tmp_path):
    table = pd.DataFrame({"id": range(40), "is": [0, 1] * 20})
    table["belief"] = ((table["id"] % 7) / 3 - 1 + table["is"] / 9).clip(-1, 1).round(2)
    table["kind"] = ["a", "b", "b", "b"] * 10
    table.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


def test_what_reading_takes_is_declared_once():
    """Breaks if Python, the command line and the page know different options."""
    fields = {each.name for each in dataclasses.fields(Reading)}
    assert {*inspect.signature(read_runs).parameters} == {"path", *fields}
    options = {*READING["columns"], *READING["files"]}
    assert options == {*OPTIONS, *fields} - {"columns"}
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text("utf-8")
    assert [name for name in options if f"--{name}" not in page] == []
    # The table of options and usual names: each that has a usual name stands there with it.
    table = re.findall(r"^\| (`--[^|]*) \| ([^|]*) \|", page.split("\n## ")[0], re.M)
    rows = [(re.findall(r"--([a-z-]+)", a), re.findall(r"`(\w+)`", b)) for a, b in table]
    named = [zip([each for each in a if each in OPTIONS], b, strict=False) for a, b in rows]
    assert dict(pair for pairs in named for pair in pairs) | {"exact": "p_true"} == OPTIONS


COLUMNS = ("--belief", "belief", "--truth", "is", "--context", "id")


def test_values_that_begin_with_a_minus_need_no_equals_sign(rows, run):
    """Breaks if argparse takes -1..1 for an option."""
    typed = ["--scale", "-1..1", "--missing", "-99,-1"]
    status, out, _ = run("analyze", rows, *COLUMNS, *typed, "--full")
    said = " ".join(out.split())
    assert (status, "Brier" in said) == (0, True)
    assert "was read on the scale -1..1: -1 as 0, 0 as 0.5, 1 as 1" in said
    assert "3 cells with -1 are missing: 'belief' (3); no cell holds -99." in said


def test_analyze_reads_a_table_from_a_german_spreadsheet(tmp_path, run):
    lines = [f"{10 * case + 5},5 %;{case % 2}" for case in range(9)]
    table = tmp_path / "mine.csv"
    table.write_bytes("\n".join(["Überzeugung;theta", *lines]).encode("latin-1"))
    options = ["analyze", str(table), "--belief", "Überzeugung", "--checks", "calibration"]
    for wanted, value in (("encoding", "latin-1"), ("decimal", ",")):
        status, _, err = run(*options)
        assert (status, f"--{wanted}" in err) == (2, True)
        options += [f"--{wanted}", value]
    assert run(*options)[0] == 0


def test_the_truth_of_questions_that_were_not_forecast_is_left_out_as_the_error_says(tmp_path, run):
    """A tournament has questions of several kinds, and updates of forecasts of some of them.

    Breaks if truths of the other kinds are refused for how they are written, or if the condition
    that is proposed cannot stand beside one that was given.
    """
    table = pd.DataFrame(
        {
            "question": np.repeat(np.arange(60), 2),
            "who": ["ann", "bob"] * 60,
            "kind": np.repeat(["binary", "number", "choice"], 40),
            "probability": np.tile([0.2, 0.7, 0.6, 0.4, 0.9], 24),
            "outcome": np.repeat(["yes", "no", "annulled", "yes", "no", "yes"] * 10, 2),
        }
    )
    other = table["kind"] != "binary"
    table.loc[other, "probability"] = np.nan
    table.loc[other, "outcome"] = np.tile(["0", "0.0", "3 or more", "Nobody", "yes"], 16)
    table.to_csv(tmp_path / "forecasts.csv", index=False)
    words = "--belief probability --truth outcome --context question --model-column who"
    command = ["analyze", tmp_path / "forecasts.csv", *words.split(), "--checks", "calibration"]
    status, _, err = run(*command)
    assert status == 2
    option, condition = shlex.split(err[err.index("--where") : err.index(" (in Python")])
    assert condition == 'probability != None and outcome != "annulled"'
    status, out, _ = run(*command, option, condition)
    assert (status, "where kept 34 of 120 rows" in out) == (0, True)
    # A second condition narrows the first.
    first = ["--where", 'kind == "binary"']
    status, _, err = run(*command, *first)
    option, condition = shlex.split(err[err.index("--where") : err.index(" (in Python")])
    assert (status, condition) == (2, 'outcome != "annulled"')
    status, out, _ = run(*command, *first, option, condition)
    assert (status, "where kept 34 of 120 rows" in out) == (0, True)
