import pytest

from coherence import InputError
from coherence.cli.folders import in_place, new_files, prepare_folder


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
    with pytest.raises(InputError, match=r"written to; .* cannot \(Permission denied\). Choose"):
        prepare_folder(tmp_path)


def test_a_file_that_nobody_may_overwrite_is_said_before_anything_is_computed(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(InputError, match=r"report\.html would be overwritten, and was not written"):
        prepare_folder(tmp_path, writes=["report.html"])
    assert prepare_folder(tmp_path) == tmp_path


def test_an_earlier_set_is_said(tmp_path):
    names = r"a|b"
    (tmp_path / "a").write_text("mine")
    assert in_place(tmp_path, names) == ""
    with new_files(tmp_path, names) as new:
        (new / "b").write_text("ours")
    assert in_place(tmp_path, names) == ", in place of those of an earlier call"
    assert in_place(tmp_path, "a") == ""
