import errno
import os
import subprocess
import sys

import pytest

from coherence.errors import InputError, WriteError
from coherence.table.files import replace_text, replacing


def test_a_failed_write_leaves_the_old_file_and_no_remains(tmp_path, monkeypatch):
    target = tmp_path / "results.json"
    target.write_text("old")

    def fail(source, destination):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        replace_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from coherence.table.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as new: print(new.name, flush=True); time.sleep(60)\n"
    )
    target = tmp_path / "runs.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True
    )
    try:
        left = process.stdout.readline().strip()
        assert left.startswith(".runs.")
        assert left.endswith(".part.csv")
        replace_text(target, "one")
        assert {path.name for path in tmp_path.iterdir()} == {left, "runs.csv"}
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    replace_text(target, "two")
    assert {path.name for path in tmp_path.iterdir()} == {"runs.csv"}


def test_only_what_the_disk_refuses_is_said_of_the_disk(tmp_path):
    target = tmp_path / "runs.csv"
    target.write_text("old")
    said = r"runs\.csv cannot be written: No space.*unchanged"
    with pytest.raises(WriteError, match=said), replacing(target):
        raise OSError(errno.ENOSPC, "x")
    with pytest.raises(FileNotFoundError), replacing(target):
        raise FileNotFoundError(errno.ENOENT, "an input")
    with pytest.raises(InputError, match="is a folder"), replacing(tmp_path):
        pass
    with pytest.raises(InputError, match=r"lie in a folder.*Create the folder"):
        replace_text(tmp_path / "none" / "runs.csv", "x")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
