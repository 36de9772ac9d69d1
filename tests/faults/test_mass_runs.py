"""A little of each mass run in the ordinary tests; README.md here has what the large ones gave."""

import ast
import os
import subprocess
import sys
import warnings
from pathlib import Path

import attempts
import calls
import kills
import networks
import pytest
import tables
from hypothesis import strategies as st

from coherence import InputError


def without_faults(run):
    faults: list[str] = []
    counts = run(faults.append)
    assert faults == []
    assert counts["error"] > 10, "nothing was broken"
    assert counts["result"] > 0, "nothing was whole"


@pytest.mark.parametrize(
    ("drawn", "n"),
    [
        pytest.param(tables, 60, marks=pytest.mark.lengthy),
        (calls, 120),
        (networks, 60),
    ],
)
def test_what_hypothesis_draws_is_answered(drawn, n):
    without_faults(lambda report: attempts.draw(drawn, n, 1, report))


@pytest.mark.slow
@pytest.mark.parametrize(("drawn", "n"), [(tables, 5000), (calls, 5000), (networks, 500)])
def test_all_that_hypothesis_draws_is_answered(drawn, n):
    without_faults(lambda report: attempts.draw(drawn, n, 0, report))


class Answering:
    """Stands for what is drawn: every attempt is the same."""

    def __init__(self, call, folder=None):
        self.call, self.folder = call, folder

    def prepare(self):
        pass

    def attempts(self):
        attempt = attempts.Attempt(self.call, {"n_bins"}, self.folder)
        return st.integers().map(lambda _: attempt)


def raising(error):
    def call():
        raise error

    return call


def test_a_fault_is_told_from_an_answer(tmp_path):
    def kind(call, folder=None):
        (found,) = +attempts.draw(Answering(call, folder), 1, 0, lambda line: None)
        return found

    def leaves_a_file():
        (tmp_path / "half").touch()
        raise InputError("n_bins must be a whole number.")

    assert kind(lambda: None) == "result"
    assert kind(raising(InputError("n_bins must be a whole number."))) == "error"
    assert kind(raising(InputError("that must be a whole number."))) == "fault"
    assert kind(raising(InputError("n_bins"))) == "fault"
    assert kind(raising(KeyError("n_bins"))) == "fault"
    assert kind(raising(attempts.WrongAnswerError("a list in place of a table"))) == "fault"
    assert kind(lambda: warnings.warn("n_bins is odd", RuntimeWarning, stacklevel=1)) == "fault"
    assert kind(leaves_a_file, tmp_path) == "fault"


def killed(command: str, number: int) -> None:
    # In a process of its own: what pytest holds, such as threads, does not outlive a fork.
    script = Path(kills.__file__)
    words = ["--command", command, "--kills", str(number), "--seed", "1"]
    done = subprocess.run(
        [sys.executable, str(script), *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(script.parents[2])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = ast.literal_eval(done.stdout.partition(" ")[2])
    assert not [name for name in counts if "FAULT" in name], counts
    assert counts["killed"] == number
    if command == "bets-train":
        assert counts["equal weights"] == counts["trainings"]
    else:
        assert counts["equal at the end"] == 1


@pytest.mark.lengthy
def test_a_killed_command_leaves_a_whole_set_or_one_that_tells():
    killed("mix", 6)


@pytest.mark.slow
@pytest.mark.parametrize("command", kills.COMMANDS)
def test_many_kills(command):
    killed(command, 200)


def test_results_of_the_large_runs_are_written_down():
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    for script in ("kills.py", "drawn.py"):
        assert f"python tests/faults/{script}" in text
