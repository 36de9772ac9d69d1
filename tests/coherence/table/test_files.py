import os

import pytest

from coherence.table.files import remove_earlier, replace_text


def test_only_files_that_the_command_may_write_are_removed(tmp_path):
    for name in ("rates.csv", "curves.csv", "rates.csv.bak", "mine.csv", "source.csv"):
        (tmp_path / name).write_text("x")
    (tmp_path / "parts.csv").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "source.csv")
    remove_earlier(
        tmp_path, r"(rates|curves|source|parts)\.csv", {"curves.csv"}, [tmp_path / "alias"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "alias",
        "curves.csv",
        "mine.csv",
        "parts.csv",
        "rates.csv.bak",
        "source.csv",
    ]


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
