import json
import shlex
from xml.etree import ElementTree

import pandas as pd
import pytest

import coherence
from bayesnets import NetworkPopulation, load_network
from coherence import Costs

SMALL = ["--contexts", "20,30", "--reps", "2", "--simulations", "20", "--draws", "99"]


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
    status, out, _ = run(*words[1:], *few, "--refits", "0")
    assert status == 0
    assert out.startswith("an agent like the fitted agent")


def test_columns_belong_to_a_table(run, tmp_path):
    status, _, err = run("power", "--context", "50")
    assert status == 2
    assert "--context belongs to --like RUNS" in err
    file = pilot(tmp_path)
    status, _, err = run("power", "--like", file, "--belief", "said")
    assert status == 2
    assert "said so" in err


def test_an_older_number_of_groups_is_taken(run):
    status, _, err = run("power", "--group", "20", "--contexts", "50")
    assert status == 2
    assert "--group N is now --group-size N" in err
    assert "n_contexts must make at least 10 groups of 20" in err


@pytest.mark.lengthy
def test_the_command_writes_what_the_function_returns(tmp_path, run):
    out = tmp_path / "plan"
    options = ["--signal", "0.4", "--checks", "residual_covariance", "--seed", "3"]
    prices = ["--tokens-in", "100", "--price-in", "2", "--per-minute", "60"]
    arguments = ["power", "noisy", "--set", "taste=0.5", *SMALL, *options, *prices]
    status, said, err = run(*arguments, "--out", str(out))
    assert status == 0
    expected = coherence.power(
        coherence.AGENTS["noisy"].with_parameters(taste=0.5),
        n_contexts=[20, 30],
        n_reps=2,
        signal=0.4,
        check="residual_covariance",
        n_simulations=20,
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
    assert sorted(path.name for path in out.iterdir()) == [
        "files.sha256",
        "power.csv",
        "power.json",
        "power.parquet",
        "power.svg",
    ]
    assert said == f"{expected}\n"
    wrote = "wrote power.csv, power.json, power.parquet, power.svg to"
    assert err.splitlines()[-1].startswith(wrote)  # a slow machine says how far it is


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
    search = ["power", "--target", "0.8", "--limit", "200", "--signal", "0.4", "--reps", "2"]
    small = ["--simulations", "40", "--draws", "99", "--out", str(tmp_path)]
    status, out, _ = run(*search, *small)
    assert status == 0
    needed = pd.read_csv(tmp_path / "needed.csv")
    assert needed["sentence"][0] in " ".join(out.split())
    (tmp_path / "mine.txt").write_text("kept")
    grid = ["power", *SMALL, "--checks", "iterated_expectation", "--out", str(tmp_path)]
    assert run(*grid)[0] == 0
    assert not (tmp_path / "needed.csv").exists()
    assert (tmp_path / "mine.txt").exists()


@pytest.mark.lengthy
def test_a_table_of_answers_is_fitted(tmp_path, run):
    runs = coherence.simulate("noisy", n_contexts=60, n_reps=2, rng=1)
    coherence.write_runs(runs, tmp_path / "runs.parquet")
    arguments = ["--like", str(tmp_path / "runs.parquet"), "--model", "noisy"]
    status, out, _ = run("power", *arguments, *SMALL, "--checks", "residual_covariance")
    assert status == 0
    assert out.startswith("an agent like noisy on simulated (drawn actions), weight")
    assert "note: reports have noise around the belief" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leeky"], "agent must be the name of an agent"),
        (["--contexts", "ten"], "--contexts must be whole numbers with commas between them; "),
        (["--signal", "big"], "--signal must be numbers with commas between them; received 'big'"),
        (["--contexts", "5"], "n_contexts must be a whole number of at least 10; received 5"),
        (["--limit", "50"], "--limit belongs to --target"),
        (["--group-taste", "2"], "--group-taste belongs to --group-size N"),
        (
            ["--group-size", "20", "--contexts", "50"],
            "n_contexts must make at least 10 groups of 20",
        ),
        (["--seed", "-1"], "--seed must be at least 0; received -1"),
        (
            ["--task", "azia"],
            "task must be the name of a network or of a data set; received 'azia'",
        ),
        (["--task", "randhie"], "--task must be a network, whose exact posteriors draw the states"),
        (["--task", "asia", "--variable", "lungs"], "'lungs'"),
        (["--task", "asia", "--positive", "no"], "--positive goes with a network of your own"),
        (["--task", "asia", "--refits", "0"], "--refits belongs to --like RUNS"),
        (["--variable", "lung"], "--variable belongs to --task NAME"),
        (["--positive", "yes"], "--positive belongs to --like RUNS or --task NAME"),
        (["--like", "a.csv", "--variable", "lung"], "--variable belongs to a network as --task"),
        (["clairvoyant", "--state", "exact"], "state cannot be 'exact' where hidden_signal is"),
        (["--planted", "unstated"], "Plant 'weight', and set unstated of the agent"),
        (["rational", "--like", "runs.csv"], "--like takes the agent from a table; received"),
        (["--like", "nowhere.csv"], "nowhere.csv: no such file or folder"),
        (["--set", "tast=1"], "has no parameter 'tast'"),
        (["--price-in", "1"], "price_in needs tokens_in; received none"),
        (["--checks", "cni"], "check must be among"),
    ],
)
def test_known_errors_are_one_line(arguments, message, run):
    status, out, err = run("power", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
