"""Killed sessions lose nothing; what large runs gave: benchmarks/faults/README.md."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import kills
import pytest
import session

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="every life is a fork")


def in_a_process(*words: str) -> str:
    # What pytest holds, such as threads, does not outlive a fork.
    script = Path(kills.__file__)
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(script.parents[2])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed(command: str, number: int) -> None:
    words = ["--command", command, "--kills", str(number), "--seed", "1"]
    counts = ast.literal_eval(in_a_process(kills.__file__, *words).partition(" ")[2])
    assert not [name for name in counts if "FAULT" in name], counts
    assert counts["killed"] == number
    assert counts["killed with answers kept"] > number / 3


@needs_forks
def test_killed_sessions_lose_nothing_and_end_with_the_tables_of_an_undisturbed_one():
    killed("session-drawn", 3)


@needs_forks
@pytest.mark.lengthy
@pytest.mark.parametrize("command", ["session-forced", "session-exact"])
def test_killed_sessions_of_other_kinds(command):
    killed(command, 8)


@needs_forks
@pytest.mark.slow
@pytest.mark.parametrize("command", kills.SESSIONS)
def test_many_kills(command):
    killed(command, 200)


@needs_forks
@pytest.mark.lengthy
def test_three_processes_on_one_store(tmp_path):
    code = """
import sys
from functools import partial
from pathlib import Path
import kills, session
folder = Path(sys.argv[1])
for name in ("alone", "together"):
    (folder / name).mkdir()
session.live(folder / "alone", "drawn")
work = partial(session.live, folder / "together", "drawn", 0.002)
lives = [kills.start(work) for _ in range(3)]
assert [kills.end(life) for life in lives] == [0, 0, 0]
alone, together = folder / "alone", folder / "together"
assert kills.tables(alone) == kills.tables(together)
first, second = (
    {key: answer for key, (answer, _) in kills.held(each).items()} for each in (alone, together)
)
assert len(first) == 500 and first == second
"""
    os.environ["KILLS_LOG"] = str(tmp_path / "log")
    in_a_process("-c", code, str(tmp_path))


@pytest.mark.lengthy
def test_a_full_disk_stops_the_session_and_costs_one_batch(tmp_path):
    code = """
import resource, sys
from pathlib import Path
import kills, session
from coherence import CoherenceError
folder = Path(sys.argv[1])
# Writing on fails, as on a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    session.live(folder, "drawn")
except CoherenceError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(kills.held(folder)))
session.live(folder, "drawn")
print(len(kills.held(folder)))
print(len((folder / ".asked").read_text().splitlines()))
"""
    message, kept, at_last, asked = in_a_process("-c", code, str(tmp_path)).splitlines()
    assert str(tmp_path / "answers.sqlite") in message
    assert "the same command resumes" in message
    assert 0 < int(kept) < 500
    assert int(at_last) == 500
    assert int(asked) == 500 + session.BATCH  # what could not be stored was asked again
