import sys

import pytest

import coherence

POWER = ("power", "clairvoyant", "--cases", "20", "--scheduler")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_a_scheduler_that_does_not_answer_is_said(address, monkeypatch, run):
    monkeypatch.setattr("coherence.cli.run_options.CONNECT_SECONDS", 0.2)
    status, _, err = run(*POWER, address)
    assert status == 2
    assert f"'{address}' does not answer" in err


def test_without_dask_its_package_is_named(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, err = run(*POWER, "tcp://127.0.0.1:9")
    assert status == 2
    assert "pip install 'belief-coherence[cluster]'" in err


@pytest.fixture(scope="module")
def scheduler():
    """Address of a cluster of two processes on this machine."""
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


@pytest.mark.lengthy
@pytest.mark.filterwarnings("default")
def test_two_workers_of_a_cluster_give_the_same_results(scheduler, tmp_path, run):
    tables = [
        coherence.simulate(name, n_contexts=60, n_reps=2, rng=1, iterated=False)
        for name in ("rational", "leaky")
    ]
    paths = [str(tmp_path / f"{n}.parquet") for n in range(2)]
    for path, table in zip(paths, tables, strict=True):
        coherence.write_runs(table, path)
    commands = {
        "analyze": [paths[0], "--checks", "sufficiency,cmi,calibration"],
        "compare": [*paths, "--effects", "calibration:brier,sufficiency"],
        "power": ["clairvoyant", "--cases", "20", "--simulations", "20", "--signal", "0.3"],
    }
    for name, words in commands.items():
        command = [name, *words]
        status, here, _ = run(*command)
        assert status == 0
        status, out, _ = run(*command, "--scheduler", scheduler)
        assert status == 0
        assert out == here, name
