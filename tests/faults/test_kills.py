"""Sessions killed at random moments, side by side and on a full disk lose nothing.

Commands that ask are killed in tests/elicitation/commands/test_kills.py, the writing of files at
every step in tests/api/table/test_files.py.
"""

import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import session

from coherence import CoherenceError

SCRIPT = Path(session.__file__)


def start(folder: Path, answers: str, seconds: float = 0.0) -> subprocess.Popen[bytes]:
    """Start a session in a process of its own; its model takes so long for a question."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), answers, str(seconds)],
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parents[2])},
    )


def held(folder: Path) -> dict[str, str]:
    """Return every answer of the store of a folder by its key."""
    if not (folder / "answers.sqlite").exists():
        return {}
    with contextlib.closing(sqlite3.connect(folder / "answers.sqlite")) as database:
        made = database.execute("SELECT name FROM sqlite_master WHERE name = 'answers'").fetchone()
        return dict(database.execute("SELECT key, answer FROM answers")) if made else {}


def n_asked(folder: Path) -> int:
    log = folder / ".asked"
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.parametrize(
    "answers", ["drawn", *(pytest.param(x, marks=pytest.mark.lengthy) for x in ("forced", "exact"))]
)
def test_a_killed_session_asks_for_the_rest_alone_and_ends_as_one_undisturbed(answers, tmp_path):
    """Breaks if a kill costs an answer that was stored, or more than the batches under way."""
    rng, whole, killed = np.random.default_rng(1), tmp_path / "whole", tmp_path / "killed"
    assert start(whole, answers).wait() == 0
    n = n_asked(whole)
    for _ in range(3):
        before, wanted = held(killed), n_asked(killed) + int(rng.integers(1, n // 4))
        process = start(killed, answers, 0.002)
        while n_asked(killed) < wanted:
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        process.kill()
        process.wait()
        assert before.items() <= held(killed).items()
    kept, asked = len(held(killed)), n_asked(killed)
    assert kept > 0
    assert start(killed, answers).wait() == 0
    assert n_asked(killed) - asked == n - kept
    assert held(killed) == held(whole)
    assert (killed / "runs.csv").read_bytes() == (whole / "runs.csv").read_bytes()


@pytest.mark.lengthy
def test_three_processes_on_one_store(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    assert start(alone, "drawn").wait() == 0
    sessions = [start(together, "drawn", 0.002) for _ in range(3)]
    assert [each.wait() for each in sessions] == [0, 0, 0]
    assert len(held(alone)) == 500
    assert held(together) == held(alone)
    assert (together / "runs.csv").read_bytes() == (alone / "runs.csv").read_bytes()


@pytest.mark.lengthy
def test_a_full_disk_stops_the_session_and_costs_one_batch(tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Writing on fails, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(CoherenceError, match="the same command resumes") as full:
            session.live(tmp_path, "drawn")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert str(tmp_path / "answers.sqlite") in str(full.value)
    assert 0 < len(held(tmp_path)) < 500
    session.live(tmp_path, "drawn")
    assert len(held(tmp_path)) == 500
    assert n_asked(tmp_path) == 500 + session.BATCH  # what could not be stored was asked again
