import os

import pytest

from coherence.cli.folders import prepare_folder, remove_earlier, replace_text
from coherence.errors import InputError


def test_a_folder_is_made_with_those_above_it_and_may_exist(tmp_path):
    folder = prepare_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert prepare_folder(str(folder)) == folder


def test_a_file_in_the_way_is_named_with_the_reason(tmp_path):
    (tmp_path / "taken").write_text("x")
    for name in ("taken", "taken/below"):
        with pytest.raises(InputError, match=rf"--out .* can be made; .*{name} cannot \(.+\)"):
            prepare_folder(tmp_path / name)


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    # The mode of a folder does not stop a superuser, so the refusal itself is simulated.
    monkeypatch.setattr("os.access", lambda *arguments: False)
    with pytest.raises(InputError, match="can be written to; .* cannot. Choose another."):
        prepare_folder(tmp_path)


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
