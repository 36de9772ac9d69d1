import pandas as pd
import pytest

from coherence import AGENTS, read_runs, simulate


def test_table_is_that_of_the_python_function_and_valid(tmp_path, run):
    path = tmp_path / "runs.parquet"
    words = f"simulate clairvoyant --contexts 6 --reps 2 --seed 5 --out {path}".split()
    status, _, printed = run(*words, "--set", "hidden_signal=0.1")
    assert status == 0
    expected = simulate(
        AGENTS["clairvoyant"].with_parameters(hidden_signal=0.1), n_contexts=6, n_reps=2, rng=5
    )
    written = read_runs(path)
    # A file knows one kind of missing value, a table in memory several.
    same = [frame.astype(object).where(frame.notna(), None) for frame in (written, expected)]
    pd.testing.assert_frame_equal(*same)
    assert (
        f"{path}: {len(expected)} rows, 6 contexts x 2 repetitions of agent clairvoyant, "
        "hidden_signal=0.1, seed 5" in printed
    )


def test_list_describes_every_agent(run):
    status, out, _ = run("simulate", "--list")
    assert status == 0
    for agent in AGENTS.values():
        assert f"{agent.name}: {agent.description}" in out
    assert "hidden_signal=0.4" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the name of an agent is missing. The agents are rational"),
        (["leeky", "--out", "x.csv"], "Closest name found: 'leaky'"),
        (["leaky"], "--out FILE is missing"),
        (["leaky", "--out", "runs.xlsx"], "must be .parquet, .csv or .jsonl"),
        (["leaky", "--out", "nowhere/runs.csv"], "does not exist"),
        (["leaky", "--out", "x.csv", "--set", "hidden=1"], "Its parameters are slope=20"),
        (["leaky", "--out", "x.csv", "--set", "name=1"], "has no parameter 'name'"),
        (
            ["leaky", "--out", "x.csv", "--set", "slope"],
            "--set needs NAME=VALUE; received 'slope'.",
        ),
        (
            ["leaky", "--out", "x.csv", "--set", "slope=steep"],
            "--set slope must be a number; received 'steep'.",
        ),
        (["leaky", "--out", "x.csv", "--set", "slope=nan"], "--set slope must be a finite number"),
        (["leaky", "--out", "x.csv", "--set", "peak=2"], "peak must be at most 1"),
        (["leaky", "--out", "x.csv", "--contexts", "0"], "n_contexts"),
        (["leaky", "--out", "x.csv", "--seed", "-1"], "--seed must be at least 0"),
    ],
)
def test_wrong_options_end_with_2_one_line_and_no_file(
    arguments, message, tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    status, _, err = run("simulate", *arguments)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_probabilities_of_actions_come_where_they_are_asked_for(tmp_path, run):
    path = tmp_path / "runs.csv"
    asked = ["simulate", "rational", "--contexts", "6", "--reps", "1", "--policies"]
    assert run(*asked, "--out", str(path))[0] == 0
    runs = read_runs(path)
    rows = runs[runs["action_yes"].notna()]
    assert "action" not in runs
    assert len(rows) == 6
    assert rows[["action_yes", "action_no", "action_defer"]].sum(axis=1).tolist() == pytest.approx(
        [1.0] * 6
    )


def test_a_file_of_others_is_kept(tmp_path, run):
    path = tmp_path / "mine.csv"
    path.write_text("mine\n")
    status, _, err = run("simulate", "leaky", "--contexts", "6", "--out", path)
    assert status == 2
    assert "move it away" in err
    assert path.read_text() == "mine\n"
