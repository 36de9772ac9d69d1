"""``coherence study``. Breaks if an interrupted study ends in other tables than a whole one."""

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from coherence.cli.main import main

ROOT = Path(__file__).parents[4]


def _command(path, out):
    words = ["study", "run", str(path), "--out", str(out)]
    return [sys.executable, "-m", "coherence.cli.main", *words]


def _sums(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        # The store knows when each answer came; everything else follows from answers alone.
        if path.is_file() and not path.name.startswith("answers.sqlite")
    }


def test_actions_and_their_faults(write, tmp_path, capsys):
    path = str(write())
    for words, told in (
        (["study"], "the following arguments are required: ACTION"),
        (["study", "run", str(tmp_path / "no.toml")], "cannot be read"),
        (["study", "report", path], "nothing of study"),
        (["study", "run", str(write(name="bare"))], "--out DIR is missing"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err


@pytest.mark.slow
def test_ten_kills_leave_no_trace(write, tmp_path):
    """Killed at random moments, of asking and of writing, a study ends in the same bytes."""
    path = write()
    subprocess.run(_command(path, tmp_path / "whole"), check=True, cwd=ROOT)
    whole = _sums(tmp_path / "whole")
    assert len(whole) > 8
    rng, kills = random.Random(0), 0
    while kills < 10:
        process = subprocess.Popen(
            _command(path, tmp_path / "killed"), cwd=ROOT, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(rng.uniform(0.8, 5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        kills += 1
    subprocess.run(_command(path, tmp_path / "killed"), check=True, cwd=ROOT)
    assert _sums(tmp_path / "killed") == whole


def test_ctrl_c_says_what_is_kept(write, monkeypatch, tmp_path, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("elicitation.commands.study.units.Unit.ask", interrupted)
    assert main(["study", "run", str(write())]) == 130
    assert f"0 answers are kept in {tmp_path}" in capsys.readouterr().err
