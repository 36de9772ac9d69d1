import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from coherence import InputError
from coherence.cli.main import main
from coherence.cli.streams import (
    open_streams,
    shows_ascii_only,
    shows_styles,
    standard_input,
)


def test_standard_input_is_read_as_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"p\xff\n")))
    assert standard_input().read() == b"p\xff\n"


def test_a_process_without_standard_input_says_so(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"no standard input to read from\. Name a file"):
        standard_input()


def test_what_nobody_reads_is_discarded_without_a_complaint():
    code = (
        "import sys; from coherence.cli.streams import discard_output\n"
        "discard_output(); print('x' * 10); sys.stdout.flush()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
@pytest.mark.parametrize(
    ("redirection", "status"),
    [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), (">&- 2>&- <&-", 0), ("| head -1", 0)],
)
def test_closed_streams_are_no_fault(table, tmp_path, redirection, status):
    words = ["analyze", table, "--checks", "calibration", "--out", str(tmp_path / "out")]
    done = run_shell(words, redirection)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    # A closed stream leaves its number to the next file, and what is printed would land in that.
    check = ["sha256sum", "--check", "--status", "files.sha256"]
    assert subprocess.run(check, cwd=tmp_path / "out", check=False).returncode == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["evaluations"]


def test_a_full_device_is_said(table):
    done = run_shell(["analyze", table, "--checks", "calibration"], ">/dev/full")
    assert (done.returncode, done.stderr) == (2, b"coherence analyze: No space left on device\n")


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "words", [["analyze", "RUNS", "--checks", "calibration"], ["networks", "show", "asia"]]
)
def test_a_terminal_without_rules_gets_plain_ones(table, words):
    words = [table if word == "RUNS" else word for word in words]
    done = run_shell(words, "", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"\\u" not in done.stdout
    assert b" - " in done.stdout


def test_what_has_no_plain_sign_is_shown_by_its_code(capsys):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        open_streams()
        print("a – b \u4e00")
        stream.flush()
    assert stream.buffer.getvalue() == b"a - b \\u4e00\n"


@pytest.fixture
def environment(monkeypatch):
    """Return a function that sets what programs say of terminals, and nothing else of the kind."""

    def settings(**values):
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return settings


@pytest.fixture
def terminal():
    """Return a stream to a terminal of the system's."""
    pty = pytest.importorskip("pty", reason="terminals of this kind are for Unix")
    outer, inner = pty.openpty()
    with open(inner, "w", encoding="utf-8") as stream:
        yield stream
    os.close(outer)


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as stream:
        yield stream
    os.close(reading)


@pytest.mark.parametrize(
    ("settings", "on_terminal", "on_pipe"),
    [
        ({}, True, False),
        ({"TERM": "xterm-256color"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "Unknown"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "0"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, False),
        ({"TTY_COMPATIBLE": "1"}, True, True),
        ({"TTY_COMPATIBLE": "0"}, False, False),
        ({"TTY_COMPATIBLE": "0", "FORCE_COLOR": "1"}, False, False),
        ({"TTY_COMPATIBLE": "1", "FORCE_COLOR": ""}, True, True),
        ({"TTY_COMPATIBLE": "yes"}, True, False),
        ({"COLORTERM": "truecolor"}, True, False),
    ],
)
def test_styles_are_for_terminals_and_for_those_who_ask(
    settings, on_terminal, on_pipe, environment, terminal, pipe
):
    environment(**settings)
    assert (shows_styles(terminal), shows_styles(pipe)) == (on_terminal, on_pipe)


@pytest.mark.parametrize(
    ("encoding", "plain"),
    [("utf-8", False), ("UTF-16", False), ("ascii", True), ("latin-1", True), ("cp1252", True)],
)
def test_rules_are_plain_where_the_encoding_may_lack_them(encoding, plain):
    assert shows_ascii_only(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is plain
