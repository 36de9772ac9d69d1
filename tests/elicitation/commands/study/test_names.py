"""Names from outside. Breaks if one leaves its folder, or two become one file."""

import pytest

from elicitation.commands.study.study_file import file_stem, repeated


@pytest.mark.parametrize("name", ["../../etc", "a/b", ".hidden", "..", "a\x00b", "\u202e", "-x"])
def test_names_of_files_stay_in_their_folder(name, tmp_path):
    stem = file_stem(name, "model")
    assert (tmp_path / f"{stem}.parquet").resolve().parent == tmp_path.resolve()
    assert not stem.startswith(".")


def test_names_of_one_file_or_of_one_look_are_told():
    assert repeated("models", ["a", "b", "a b", "A-b"]) == []
    assert len(repeated("models", ["a", "a"])) == 1
    assert "is too like 'a b'" in repeated("models", ["a b", "a/b"])[0]
    assert "is too like 'Ab'" in repeated("models", ["Ab", "aB"])[0]
    # A ligature and the letters that it stands for.
    assert len(repeated("models", ["\ufb01ne", "fine"])) == 1
