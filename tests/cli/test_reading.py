import dataclasses
import inspect
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import coherence
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
    assert "3 cells with -99 or -1 are missing: 'belief' (3)." in said


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
