import shlex
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

import coherence
from coherence import AGENTS, read_runs, simulate

SMALL = ["--cases", "20,30", "--reps", "2", "--simulations", "10"]


@pytest.mark.parametrize("state", ["exact", "realised"])
def test_what_a_verdict_proposes_runs_as_typed(state, tmp_path, run, monkeypatch):
    agent = replace(coherence.AGENTS["rational"], unstated=0.5)
    size = {"n_contexts": 60, "n_reps": 2, "iterated": False, "prompts": ["standard"]}
    file = tmp_path / "runs.csv"
    coherence.simulate(agent, **size, rng=6).to_csv(file, index=False)
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run("analyze", file, "--checks", "sufficiency", "--state", state)
    assert status == 0
    assert "No evidence" in out
    shown = out[out.index("coherence power") :].split("\n\n")[0].replace("\\\n", "")
    words = shlex.split(shown.split("\n")[0])
    assert words[words.index("--cases") + 1] == "60,120,240"
    words[words.index("--cases") + 1] = "60"
    status, out, err = run(*words[1:], "--simulations", "10")
    assert status == 0, err
    assert "agent rational, 2 repetitions" in out.split(":")[0]


@pytest.mark.lengthy
def test_the_command_writes_what_the_function_returns(tmp_path, run):
    options = ["--signal", "0.4", "--seed", "3", "--out", str(tmp_path)]
    (tmp_path / "mine.txt").write_text("kept")
    status, out, err = run("power", "noisy", *SMALL, *options)
    assert status == 0
    assert "wrote power.csv and power.svg" in err
    table = coherence.power("noisy", [20, 30], 2, 0.4, n_simulations=10, rng=3)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "power.csv"), table, check_dtype=False)
    ElementTree.parse(tmp_path / "power.svg")
    assert (tmp_path / "mine.txt").exists()
    for row in table.to_dict("records"):
        decimals = 3 if round(row["low"], 2) == 0 < row["low"] else 2  # an end that is not 0
        ends = f"[{row['low']:.{decimals}f}, {row['high']:.{decimals}f}]"
        assert f"{row['n_cases']}   {row['power']:.2f}  {ends}" in out
    # The unit of the signal is said.
    said = " ".join(out.split())
    assert "signal 0.4 (weight): share, from 0 to 1, of what the exact posterior adds" in said


@pytest.mark.parametrize("policies", [[], ["--policies"]])
def test_table_is_that_of_the_python_function_and_valid(policies, tmp_path, run):
    path = tmp_path / "runs.parquet"
    words = f"simulate clairvoyant --contexts 6 --reps 2 --seed 5 --out {path}".split()
    status, _, printed = run(*words, *policies, "--set", "hidden_signal=0.1")
    assert status == 0
    agent = AGENTS["clairvoyant"].with_parameters(hidden_signal=0.1)
    expected = simulate(agent, n_contexts=6, n_reps=2, policies=bool(policies), rng=5)
    written, expected = read_runs(path), read_runs(expected)
    # A file knows one kind of missing value, a table in memory several.
    same = [frame.astype(object).where(frame.notna(), None) for frame in (written, expected)]
    pd.testing.assert_frame_equal(*same)
    assert f"{path}: {len(expected)} rows, 6 contexts x 2 repetitions" in printed


def test_the_list_has_every_agent_and_all_parameters_of_the_first(run):
    status, printed, _ = run("simulate", "--list")
    assert status == 0
    assert all(f"{agent.name}: {agent.description}" in printed for agent in AGENTS.values())
    first, *others = printed.splitlines()[1], *printed.splitlines()[2:]
    assert first.count("=") == len(next(iter(AGENTS.values())).parameters())
    assert any("hidden_signal=0.4" in line for line in others)
