import pandas as pd
import pytest

from coherence import AGENTS, read_runs, simulate


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
