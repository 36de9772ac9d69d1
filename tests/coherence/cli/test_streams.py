import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from coherence.cli.main import main
from coherence.cli.streams import open_streams, standard_input
from coherence.errors import InputError
from coherence.table.file_sets import mixed_files


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
ROOT = Path(__file__).parents[3]


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
    assert mixed_files(tmp_path / "out") == []
    assert json.loads((tmp_path / "out" / "results.json").read_text())["units"]


def test_a_full_device_is_said(table):
    done = run_shell(["analyze", table, "--checks", "calibration"], ">/dev/full")
    assert (done.returncode, done.stderr) == (2, b"coherence analyze: No space left on device\n")


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
