"""Public functions have an example, which the doctests run; programs say what they write."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("coherence", "bayesnets", "elicitation", "coherence.plots")


def public_functions():
    """Return the public functions, each under the name that a user calls it by."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in sorted(module.__all__):
            if inspect.isfunction(getattr(module, name)):
                found[f"{package}.{name}"] = getattr(module, name)
    return found


FUNCTIONS = public_functions()


def examples_of(function):
    names = dict(vars(inspect.getmodule(function)))
    finder = doctest.DocTestFinder(recurse=False)
    return [one for one in finder.find(function, globs=names) if one.examples]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_there_is_an_example_under_its_heading(name):
    assert "\nExamples\n--------\n" in inspect.getdoc(FUNCTIONS[name])
    assert examples_of(FUNCTIONS[name])


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "words",
    [
        *("agent_on_asia.py --episodes 2", "bets_lesson.py", "mixing_lesson.py --draws 5"),
        "revealed_lesson.py",
    ],
)
def test_what_an_example_writes_unasked_it_names(words, tmp_path):
    """Breaks if a folder appears where one stands, and nothing on the screen says so."""
    name, *options = words.split()
    command = [sys.executable, str(ROOT / "examples" / name), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    made = {path.name for path in tmp_path.iterdir()}
    assert done.stdout
    assert made <= set(re.split(r"[/\s]", done.stdout))
