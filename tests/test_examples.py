"""Public functions have an example, which the doctests run; programs say what they write."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
