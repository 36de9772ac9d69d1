"""The benchmark script: every line of ours runs, figures read as meant, missing peers are named."""

import importlib.util
import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "benchmark_run", Path(__file__).parents[2] / "benchmarks" / "run.py"
)
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


def lines():
    return {
        (function.__name__, grid): function
        for group in run.GROUPS.values()
        for _, function, package, _, grid, _ in group
        if not package
    }


@pytest.mark.parametrize(("name", "grid"), lines())
def test_our_lines_run(name, grid):
    """Breaks when a function that is timed moves or changes its arguments."""
    lines()[name, grid](run.draw(200, grid), 5)


def test_a_missing_peer_is_named(monkeypatch, capsys):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(run, "version", missing)
    group = next(iter(run.GROUPS))
    run.measure(group, 1)
    figure = json.loads(capsys.readouterr().out)
    assert figure == {"missing": "tigramite"}
    assert (
        "| not installed | |"
        in run.table(group, [{"seconds": 0.2, "megabytes": 3.0}, figure, figure])[5]
    )


def test_extrapolation_growth_and_ratios_are_labelled():
    """Ten seconds for 99 permutations are 100.9 for 999; 100 times the rows, 150 times n log n."""
    section = run.table(
        "Permutation test of the information, n = 100,000", [{"seconds": 10.0, "megabytes": 1.0}]
    )
    assert "| the same with 999, extrapolated from 99 | 100,000 | 101 | |" in section
    group = "Bare nearest-neighbour estimate, beliefs not rounded"
    section = run.table(
        group, [{"seconds": s, "megabytes": 1.0} for s in (0.001, 0.01, 0.1, 1.0, 0.5, 5.0)]
    )
    assert (
        "- ours, k = 3: from 10,000 to 1,000,000 rows 100 times longer; n log n grows 150 times."
        in section
    )
    assert "- tigramite CMIknn, k = 3, 1,000 rows: 500 times our time." in section
