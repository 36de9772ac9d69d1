import io
import subprocess
import sys

import pytest

from coherence.cli.streams import standard_input
from coherence.errors import InputError


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
