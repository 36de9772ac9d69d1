import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coherence.cli.main import main
from coherence.cli.terminal import answer_progress, shows_styles
from coherence.statistics.resample import run_calls

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


# As from a terminal, the signal is sent to the whole group of processes.
CODE = """
import os, signal, sys, threading
from joblib import Parallel, delayed
from coherence.cli import main as command
from coherence.cli.main import main
from coherence.cli.run_options import workers

early = sys.argv[1] == "early"

def run(options):
    if early:  # while the workers start
        threading.Timer(0.01, os.killpg, (0, signal.SIGINT)).start()
    with workers(options):
        early or os.killpg(0, signal.SIGINT)
        Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(10_000))
    raise AssertionError("the signal was lost")

# Whoever was started in the background of a shell ignores the signal otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)
import coherence.cli.compare
coherence.cli.compare.run = run
sys.exit(main(["compare", "runs", "--n-jobs", "2"]))
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_an_interrupt_of_all_processes_ends_in_one_line_with_130(tmp_path, when):
    script = tmp_path / "script.py"
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(script), when],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        timeout=120,
    )
    assert done.stdout == ""
    assert done.stderr == "\ncoherence compare: interrupted\n"
    assert done.returncode == 130


def test_the_step_that_runs_is_named_before_it_ends():
    """Breaks if the label is that of the step that is over."""
    seen = []
    outcomes = list(
        run_calls(
            lambda name: seen.append(name) or name,
            [("one",), ("two",)],
            progress=lambda *of: seen.append(of),
            labels=["one", "two"],
        )
    )
    assert outcomes == ["one", "two"]
    assert seen == [(0, 2, "one"), "one", (1, 2, "two"), "two", (2, 2, "two")]


def test_elsewhere_than_on_a_terminal_a_line_comes_at_once_at_the_end_and_now_and_then(
    capsys, monkeypatch
):
    clock = iter([0.0, 0.0, 20.0, 20.0, 21.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 30.0))
    with answer_progress("m\x1b[31m") as show:
        show(1, 4)  # at once, for the next may come after minutes
        show(2, 4)
        show(4, 4)
    assert capsys.readouterr().err == (
        "m: 1 of 4 answers\nm: 2 of 4 answers, about 40 seconds left\nm: 4 of 4 answers\n"
    )
