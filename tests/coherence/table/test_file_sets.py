import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from coherence.errors import InputError, WriteError
from coherence.table.file_sets import (
    LIST,
    earlier_set,
    finish_earlier,
    mixed_files,
    new_files,
    require_replaceable,
)

NAMES = r"[a-e]\.txt|sub/[a-e]\.txt"
OLD = {"a.txt": "1a", "b.txt": "1b", "sub/c.txt": "1c", "sub/d.txt": "1d"}
NEW = {"a.txt": "2a", "sub/c.txt": "2c", "e.txt": "2e"}


class Killed(BaseException):
    """Stands for a kill."""


def write(folder, texts, names=NAMES, **options):
    with new_files(folder, names, **options) as new:
        for name, text in texts.items():
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text)


def texts_of(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != LIST)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_a_set_takes_the_place_of_the_earlier_one_and_leaves_what_is_not_its_own(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    write(tmp_path, OLD)
    (tmp_path / "sub" / "mine.txt").write_text("mine")
    write(tmp_path, NEW)
    mine = {"mine.txt": "mine", "sub/mine.txt": "mine"}
    assert texts_of(tmp_path) == NEW | mine
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "e.txt", "mine.txt", "sub", LIST}
    modes = {(tmp_path / name).stat().st_mode for name in ("a.txt", LIST, "mine.txt")}
    assert len(modes) == 1, "as private as any other file"


def test_what_was_read_stays_and_an_emptied_folder_goes(tmp_path):
    write(tmp_path, OLD)
    write(tmp_path, {"a.txt": "2"}, inputs=[tmp_path / "b.txt"])
    assert texts_of(tmp_path) == {"a.txt": "2", "b.txt": "1b"}
    assert not (tmp_path / "sub").exists()


def test_the_list_tells_a_whole_set_from_a_mixed_one(tmp_path):
    write(tmp_path, OLD)
    first, *lines = (tmp_path / LIST).read_text().splitlines()
    assert lines[0] == f"{hashlib.sha256(b'1a').hexdigest()}  a.txt"
    run = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()[:16]
    assert first.startswith(f"# run {run}:")
    assert mixed_files(tmp_path) == []
    (tmp_path / "b.txt").write_text("another")
    (tmp_path / "sub" / "d.txt").unlink()
    assert mixed_files(tmp_path) == ["b.txt", "sub/d.txt"]


def test_sets_of_two_commands_share_a_folder_and_its_list(tmp_path):
    write(tmp_path, {"a.txt": "1"})
    write(tmp_path, {"figure.svg": "1"}, names=r"figure\.svg")
    names = [line.split("  ")[1] for line in (tmp_path / LIST).read_text().splitlines()[1:]]
    assert names == ["a.txt", "figure.svg"]
    assert texts_of(tmp_path) == {"a.txt": "1", "figure.svg": "1"}


def test_equal_sets_make_equal_lists(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, OLD)
    assert (tmp_path / "one" / LIST).read_bytes() == (tmp_path / "two" / LIST).read_bytes()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("of what is written")])
def test_what_fails_while_a_set_is_written_leaves_nothing(tmp_path, failure):
    write(tmp_path, OLD)
    with pytest.raises(type(failure)), new_files(tmp_path, NAMES) as new:
        raise failure if (new / "a.txt").write_text("half") else AssertionError
    assert texts_of(tmp_path) == OLD
    assert len(list(tmp_path.iterdir())) == 4


def test_a_full_disk_is_said_with_what_is_unchanged(tmp_path):
    write(tmp_path, OLD)
    with (
        pytest.raises(WriteError, match=rf"{tmp_path} cannot .*: No space left .* unchanged. Make"),
        new_files(tmp_path, NAMES),
    ):
        raise OSError(errno.ENOSPC, "of the system")
    assert texts_of(tmp_path) == OLD


def test_a_folder_in_the_way_is_refused_before_anything_moves(tmp_path):
    (tmp_path / "e.txt").mkdir()
    (tmp_path / "sub").write_text("a file")
    with pytest.raises(InputError, match=r"e\.txt must be a file to write"):
        write(tmp_path, {"a.txt": "2", "e.txt": "2"})
    with pytest.raises(InputError, match=r"sub/c\.txt must be a file to write"):
        write(tmp_path, {"a.txt": "2", "sub/c.txt": "2"})
    assert not (tmp_path / "a.txt").exists()


STEPS = ((os, "replace"), (Path, "rename"), (Path, "unlink"), (Path, "rmdir"), (shutil, "rmtree"))


def killed_at(step, monkeypatch, act):
    """Act until the n-th step that changes the folder, which does not come back; return steps."""
    taken = 0
    with monkeypatch.context() as patched:
        for owner, name in STEPS:
            real = getattr(owner, name)

            def stepping(*arguments, _real=real, **options):
                nonlocal taken
                if taken > step:
                    return None  # the process is dead: nothing more happens
                taken += 1
                if taken > step:
                    raise Killed
                return _real(*arguments, **options)

            patched.setattr(owner, name, stepping)
        with suppress(Killed):
            act()
    return taken


def test_a_kill_at_any_step_leaves_one_set_or_the_next_call_makes_it_whole(tmp_path, monkeypatch):
    (tmp_path / "all").mkdir()
    write(tmp_path / "all", OLD)
    steps = killed_at(1000, monkeypatch, lambda: write(tmp_path / "all", NEW))
    assert steps > 6
    states = []
    for step in range(steps):
        folder = tmp_path / str(step)
        folder.mkdir()
        write(folder, OLD)
        killed_at(step, monkeypatch, lambda folder=folder: write(folder, NEW))
        shown = {name: text for name, text in texts_of(folder).items() if name[0] != "."}
        states.append("old" if shown == OLD else "new" if shown == NEW else "mixed")
        if states[-1] == "mixed":
            assert mixed_files(folder), "a reader can tell"
            # What the old set alone has goes when the new one is there.
            assert OLD.keys() - NEW.keys() <= shown.keys() or NEW.items() <= shown.items()
        # Once the new set is complete it counts, though no file has moved.
        complete = finish_earlier(folder) or states[-1] == "new"
        assert texts_of(folder) == (NEW if complete else OLD), step
        assert complete or states[-1] == "old"
        assert mixed_files(folder) == []
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    assert states == sorted(states, key=["old", "mixed", "new"].index)
    assert len(set(states)) == 3


def test_a_set_that_is_being_written_is_left_alone_and_that_of_a_dead_process_goes(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from coherence.table.file_sets import new_files\n"
        "with new_files(Path(sys.argv[1]), 'a') as new:\n"
        "    (new / 'a').write_text('half'); print('there', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "there\n"
        assert not finish_earlier(tmp_path)
        write(tmp_path, NEW)
        (left,) = (path for path in tmp_path.iterdir() if path.name.startswith("."))
        assert (left / "a").read_text() == "half"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert not finish_earlier(tmp_path)
    assert texts_of(tmp_path) == NEW


def test_a_folder_from_elsewhere_removes_nothing_outside(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    evil = tmp_path / "out" / ".coherence-finished-x"
    evil.mkdir(parents=True)
    names = ["../precious.txt", str(tmp_path / "precious.txt"), "sub/../../precious.txt"]
    digest = hashlib.sha256(b"mine").hexdigest()
    (evil / ".earlier.json").write_text(json.dumps(dict.fromkeys(names, digest)))
    assert finish_earlier(tmp_path / "out")
    assert (tmp_path / "precious.txt").exists()
    assert list((tmp_path / "out").iterdir()) == []


def test_files_that_cannot_take_their_places_are_kept_and_said(tmp_path, monkeypatch):
    write(tmp_path, OLD)

    def refuse(source, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        with pytest.raises(WriteError, match=r"two sets.*Permission denied.*kept in .*finished"):
            write(tmp_path, NEW)
    assert finish_earlier(tmp_path)
    assert texts_of(tmp_path) == NEW


def test_a_set_of_no_files_removes_the_earlier_one_with_its_list(tmp_path):
    write(tmp_path, OLD)
    write(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_a_name_alone_makes_no_file_ours(tmp_path):
    write(tmp_path, OLD)
    for name in ("c.txt", "sub/e.txt"):
        (tmp_path / name).write_text("mine, under a name of the set")
    (tmp_path / "b.txt").write_text("ours, and changed since")
    write(tmp_path, {"a.txt": "2"})
    assert texts_of(tmp_path) == {
        "a.txt": "2",
        "b.txt": "ours, and changed since",
        "c.txt": "mine, under a name of the set",
        "sub/e.txt": "mine, under a name of the set",
    }
    assert (tmp_path / LIST).read_text().splitlines()[1].endswith("  a.txt")
    assert mixed_files(tmp_path) == [], "what is no longer of the set is not in its list"
    write(tmp_path, {})
    assert sorted(texts_of(tmp_path)) == ["b.txt", "c.txt", "sub/e.txt"]


@pytest.mark.parametrize(("name", "why"), [("e.txt", "not written by"), ("a.txt", "changed since")])
def test_a_file_that_is_not_ours_is_not_overwritten(tmp_path, name, why):
    write(tmp_path, OLD)
    (tmp_path / name).write_text("mine")
    before = texts_of(tmp_path)
    refused = rf"/{name} would be overwritten, and was {why} an earlier call\. Move it away"
    with pytest.raises(InputError, match=refused):
        write(tmp_path, NEW)
    with pytest.raises(InputError, match=refused):
        require_replaceable(tmp_path, NEW)
    assert texts_of(tmp_path) == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_an_equal_file_may_stand_in_the_place_of_one_to_be_written(tmp_path):
    (tmp_path / "a.txt").write_text(NEW["a.txt"])
    write(tmp_path, NEW)
    assert earlier_set(tmp_path, NAMES) == sorted(NEW)


def test_several_files_that_are_not_ours_are_counted(tmp_path):
    for name in ("a.txt", "e.txt"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=r"/a\.txt \(and 1 more\) would be overwritten"):
        write(tmp_path, NEW)


@pytest.mark.parametrize("digest", ["0" * 64, hashlib.sha256(b"2").hexdigest()])
def test_a_list_that_somebody_else_made_is_refused_and_stays(tmp_path, digest):
    (tmp_path / "b.txt").write_text("2")
    theirs = f"# run 0123456789abcdef: check with sha256sum -c {LIST}\n{digest}  b.txt\n"
    (tmp_path / LIST).write_text(theirs)
    for act in (write, require_replaceable):
        with pytest.raises(InputError, match=rf"{LIST} must be the list that an earlier call"):
            act(tmp_path, {"a.txt": "2"})
    assert mixed_files(tmp_path) == [LIST]
    write(tmp_path, {})  # nothing is written, so that nothing is in the way
    assert (tmp_path / LIST).read_text() == theirs
    assert (tmp_path / "b.txt").exists()


def test_a_list_that_was_changed_since_is_refused(tmp_path):
    write(tmp_path, OLD)
    with (tmp_path / LIST).open("a") as file:
        file.write(f"{'0' * 64}  mine.txt\n")
    with pytest.raises(InputError, match="or was changed since"):
        write(tmp_path, NEW)
    assert texts_of(tmp_path) == OLD


def test_links_that_lead_nowhere_are_in_the_way(tmp_path):
    (tmp_path / "sub").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match=r"sub/c\.txt must .*sub is a link that leads nowhere"):
        write(tmp_path, NEW)
    (tmp_path / "sub").unlink()
    (tmp_path / "e.txt").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match=r"e\.txt would be overwritten, and was not written by"):
        write(tmp_path, NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["e.txt"]


def test_what_somebody_put_there_after_a_kill_is_not_removed(tmp_path):
    write(tmp_path, OLD)
    with pytest.MonkeyPatch.context() as patched:
        assert killed_at(1, patched, lambda: write(tmp_path, NEW)) > 1
    (tmp_path / "b.txt").write_text("mine")
    assert finish_earlier(tmp_path)
    assert texts_of(tmp_path) == NEW | {"b.txt": "mine"}


def test_what_was_read_and_is_ours_may_be_replaced_later(tmp_path):
    write(tmp_path, OLD)
    write(tmp_path, {"a.txt": "2"}, inputs=[tmp_path / "b.txt"])
    assert earlier_set(tmp_path, NAMES) == ["a.txt", "b.txt"]
    write(tmp_path, {"b.txt": "3"})
    assert texts_of(tmp_path) == {"b.txt": "3"}


def test_what_was_read_and_lies_among_the_files_stays_its_owners(tmp_path):
    (tmp_path / "b.txt").write_text("answers")
    write(tmp_path, {"a.txt": "1", "b.txt": "answers"}, inputs=[tmp_path / "b.txt"])
    assert earlier_set(tmp_path, NAMES) == ["a.txt"]
    write(tmp_path, {"a.txt": "2"})
    assert texts_of(tmp_path) == {"a.txt": "2", "b.txt": "answers"}


def test_what_was_read_is_not_overwritten_by_something_else(tmp_path):
    read = tmp_path / "results.csv"
    read.write_text("mine", encoding="utf-8")
    with (
        pytest.raises(InputError, match="results.csv was read, and would be overwritten"),
        new_files(tmp_path, r"results\.csv", [read]) as new,
    ):
        (new / "results.csv").write_text("results", encoding="utf-8")
    assert read.read_text(encoding="utf-8") == "mine"
    # Written again as it is, it may stand among the results of itself.
    with new_files(tmp_path, r"results\.csv", [read]) as new:
        (new / "results.csv").write_text("mine", encoding="utf-8")
    assert read.read_text(encoding="utf-8") == "mine"


def test_what_somebody_changed_after_a_kill_is_not_replaced(tmp_path):
    write(tmp_path, OLD)
    with pytest.MonkeyPatch.context() as patched:
        assert killed_at(1, patched, lambda: write(tmp_path, NEW)) > 1
    (tmp_path / "sub" / "c.txt").write_text("my edit")
    assert not finish_earlier(tmp_path)
    with pytest.raises(InputError, match=r"sub/c\.txt would be overwritten, and was changed since"):
        write(tmp_path, NEW)
    assert (tmp_path / "sub" / "c.txt").read_text() == "my edit"
    (tmp_path / "sub" / "c.txt").rename(tmp_path / "mine.doc")
    assert finish_earlier(tmp_path)
    assert texts_of(tmp_path) == NEW | {"mine.doc": "my edit"}


def test_nothing_is_removed_behind_a_link_to_another_folder(tmp_path):
    folder, other = tmp_path / "out", tmp_path / "other"
    folder.mkdir()
    write(folder, OLD)
    (folder / "sub").rename(other)
    (folder / "sub").symlink_to(other)
    write(folder, {"a.txt": "2a"})
    assert {path.name for path in other.iterdir()} == {"c.txt", "d.txt"}
