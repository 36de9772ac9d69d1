"""Kills at random moments, processes side by side, a disk that is full.

Breaks if an answer is lost, doubled or changed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "elicitation" / "asking" / "kill_session.py"
DONE = "questions=500 answers=500 twice=0 intact=True equal=True"

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="the lives of the session are forks"
)


def _run(*arguments, code=None):
    command = [sys.executable, *(["-c", code] if code else [str(SCRIPT)]), *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=580,
    )


def test_ten_kills():
    done = _run("--kills", 10, "--seed", 1)
    assert done.returncode == 0, done.stderr
    assert DONE in done.stdout
    assert "kills=10 " in done.stdout


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("exact", "questions=100 answers=100 twice=0 intact=True equal=True"),
        # Beside 500 draws the distributions after 100 texts.
        ("forced", "questions=500 answers=600 twice=0 intact=True equal=True"),
    ],
)
def test_ten_kills_of_answers_in_a_form(answers, expected):
    done = _run("--kills", 10, "--seed", 2, "--answers", answers)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_two_hundred_kills(seed):
    done = _run("--kills", 200, "--seed", seed)
    assert done.returncode == 0, done.stderr
    assert DONE in done.stdout
    # The session may be done before the last kills come; most must have struck work.
    assert int(done.stdout.split()[0].removeprefix("kills=")) > 150


@pytest.mark.lengthy
def test_three_processes_on_one_store():
    done = _run("--processes", 3)
    assert done.returncode == 0, done.stderr
    assert DONE in done.stdout


FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, "tests/elicitation/asking")
from coherence.errors import CoherenceError
from elicitation.asking.store import AnswerStore
from kill_session import live
folder = Path(sys.argv[1])
# Writing on fails, as on a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    live(folder, 0.0)
except CoherenceError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with AnswerStore(folder / "answers.sqlite") as store:
    print(len(store))
live(folder, 0.0)
with AnswerStore(folder / "answers.sqlite") as store:
    print(len(store))
print(len((folder / "asked.txt").read_text().splitlines()))
"""


@pytest.mark.lengthy
def test_a_full_disk_stops_the_session_and_costs_one_batch(tmp_path):
    done = _run(tmp_path, code=FULL)
    assert done.returncode == 0, done.stderr
    message, kept, at_last, asked = done.stdout.splitlines()
    assert "Answers stored before are kept; the same command resumes." in message
    assert 0 < int(kept) < 500
    assert int(at_last) == 500
    assert int(asked) == 502  # the batch that could not be stored was asked again
