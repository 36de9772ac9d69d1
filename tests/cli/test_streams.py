import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from coherence.cli.main import main
from coherence.cli.streams import shows_styles

COMMAND = "import sys; from coherence.cli.main import main; sys.exit(main())"
ROOT = Path(__file__).parents[2]


def run_shell(words, redirection, **environment):
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(COMMAND)} {shlex.join(words)}"
    return subprocess.run(
        ["sh", "-c", f"{line} {redirection}"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "runs.csv"
    assert main(["simulate", "rational", "--contexts", "30", "--out", str(path)]) == 0
    return str(path)


@pytest.mark.lengthy
@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&- <&-", "| head -1"])
def test_closed_streams_are_no_fault(table, tmp_path, redirection):
    words = ["analyze", table, "--checks", "calibration", "--out", str(tmp_path / "out")]
    done = run_shell(words, redirection)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    # A closed stream leaves its number to the next file, and what is printed would land in that.
    check = ["sha256sum", "--check", "--status", "files.sha256"]
    assert subprocess.run(check, cwd=tmp_path / "out", check=False).returncode == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["evaluations"]


def test_a_full_device_is_said(table):
    done = run_shell(["analyze", table, "--checks", "calibration"], ">/dev/full")
    assert (done.returncode, done.stderr) == (2, b"coherence analyze: No space left on device\n")


@pytest.mark.parametrize(
    ("settings", "on_terminal", "on_pipe"),
    [
        ("", True, False),
        ("TERM=dumb", False, False),
        ("NO_COLOR=1", False, False),
        ("FORCE_COLOR=1", True, True),
        ("FORCE_COLOR=1 NO_COLOR=1", False, False),
        ("TTY_COMPATIBLE=1", True, True),
        ("TTY_COMPATIBLE=0 FORCE_COLOR=1", False, False),
    ],
)
def test_styles_are_for_terminals_and_for_those_who_ask(
    settings, on_terminal, on_pipe, monkeypatch
):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for word in settings.split():
        monkeypatch.setenv(*word.split("="))
    outer, inner = pytest.importorskip("pty").openpty()
    reading, writing = os.pipe()
    with open(inner, "w", encoding="utf-8") as terminal, open(writing, "w") as pipe:
        assert (shows_styles(terminal), shows_styles(pipe)) == (on_terminal, on_pipe)
    os.close(outer)
    os.close(reading)
