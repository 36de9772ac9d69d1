import json
import shlex
from xml.etree import ElementTree

import pandas as pd
import pytest

import coherence
from bayesnets import NetworkPopulation, load_network
from coherence import Costs

SMALL = ["--contexts", "20,30", "--reps", "2", "--simulations", "10", "--draws", "99"]


OWN = {"p": "said so", "action": "did", "theta": "truth", "context": "id"}


def pilot(tmp_path, agent="shaded"):
    runs = coherence.simulate(agent, n_contexts=40, n_reps=2, prompts=["standard"], rng=1)
    runs = runs[runs["action"].notna()].drop(columns=["p_true", "model", "task", "prompt"])
    runs.rename(columns=OWN).to_csv(tmp_path / "pilot.csv", index=False)
    return tmp_path / "pilot.csv"


def test_what_analyze_advises_runs_as_pasted(tmp_path, run, monkeypatch):
    """Breaks if a command lacks the options by which the file was read, or their quotes."""
    file = pilot(tmp_path).rename(tmp_path / "my pilot.csv")
    options = ["--belief", "said so", "--action", "did", "--truth=truth", "--context", "id"]
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run("analyze", file, *options, "--ignore", "rep", "--checks", "cmi")
    assert status == 0
    shown = out[out.index("coherence power") :].split("\n\n")[0]
    assert max(map(len, shown.splitlines())) <= max(80, len(str(file)) + 25)
    words = shlex.split(shown.replace("\\\n", ""))
    assert words[:4] == ["coherence", "power", "--like", str(file)]
    assert "--belief=said so" in words
    few = ["--contexts", "20", "--simulations", "10", "--draws", "99", "--signal", "0.4"]
    status, out, _ = run(*words[1:], *few)
    assert status == 0
    assert out.startswith("an agent like the table")


def test_an_older_number_of_groups_is_taken(run):
    status, _, err = run("power", "--group", "20", "--contexts", "50")
    assert status == 2
    assert "--group N is now --group-size N" in err
    assert "n_contexts must make at least 10 groups of 20" in err


@pytest.mark.lengthy
def test_the_command_writes_what_the_function_returns(tmp_path, run):
    out = tmp_path / "plan"
    options = ["--signal", "0.4", "--checks", "sufficiency", "--seed", "3"]
    prices = ["--tokens-in", "100", "--price-in", "2", "--per-minute", "60"]
    arguments = ["power", "noisy", "--set", "taste=0.5", *SMALL, *options, *prices]
    status, said, _ = run(*arguments, "--out", str(out))
    assert status == 0
    expected = coherence.power(
        coherence.AGENTS["noisy"].with_parameters(taste=0.5),
        n_contexts=[20, 30],
        n_reps=2,
        signal=0.4,
        check="sufficiency",
        n_simulations=10,
        n_draws=99,
        costs=Costs(tokens_in=100, price_in=2, per_minute=60),
        name="agent noisy, taste=0.5",
        rng=3,
    )
    pd.testing.assert_frame_equal(pd.read_parquet(out / "power.parquet"), expected.table)
    assert pd.read_csv(out / "power.csv")["power"].tolist() == expected.table["power"].tolist()
    assert json.loads((out / "power.json").read_text()) == json.loads(expected.to_json())
    assert (out / "power.svg").read_text() == expected.to_svg()
    ElementTree.parse(out / "power.svg")
    assert said == f"{expected}\n"


@pytest.mark.lengthy
def test_the_cases_of_a_task_are_planned(run):
    few = ["--contexts", "24", "--reps", "1", "--simulations", "10", "--draws", "99"]
    status, out, _ = run("power", "--task", "asia", "--variable", "bronc", *few, "--seed", "3")
    assert status == 0
    expected = coherence.power(
        NetworkPopulation(load_network("asia"), "bronc"),
        n_contexts=24,
        n_reps=1,
        n_simulations=10,
        n_draws=99,
        name="agent rational on cases of asia:bronc",
        rng=3,
    )
    assert out == f"{expected}\n"
    assert "sufficiency with theta" in out


@pytest.mark.lengthy
def test_a_search_writes_its_answer_and_a_grid_removes_it(tmp_path, run):
    search = ["power", "--target", "0.8", "--limit", "40", "--signal", "0.4", "--reps", "2"]
    small = ["--simulations", "20", "--draws", "99", "--out", str(tmp_path)]
    status, out, _ = run(*search, *small)
    assert status == 0
    needed = pd.read_csv(tmp_path / "needed.csv")
    assert needed["sentence"][0] in " ".join(out.split())
    (tmp_path / "mine.txt").write_text("kept")
    grid = ["power", *SMALL, "--checks", "iterated_expectation", "--out", str(tmp_path)]
    assert run(*grid)[0] == 0
    assert not (tmp_path / "needed.csv").exists()
    assert (tmp_path / "mine.txt").exists()
