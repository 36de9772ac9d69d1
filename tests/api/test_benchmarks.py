"""The benchmark script: every line of ours runs, figures read as meant, missing peers are named."""

import importlib.util
from pathlib import Path

import pytest

path = Path(__file__).parents[2] / "benchmarks" / "run.py"
spec = importlib.util.spec_from_file_location("benchmark_run", path)
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
