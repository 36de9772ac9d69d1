"""Breaks if a file is seen half written, a mixed set passes for whole, or a user's file goes."""

import json
import os
import re
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, simulate, write_runs
from coherence.runs.files import LIST, earlier_set, new_files, replace_text, require_replaceable


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


def test_sets_of_two_commands_share_a_folder_and_its_list(tmp_path):
    write(tmp_path, {"a.txt": "1"})
    write(tmp_path, {"figure.svg": "1"}, names=r"figure\.svg")
    names = [line.split("  ")[1] for line in (tmp_path / LIST).read_text().splitlines()[1:]]
    assert names == ["a.txt", "figure.svg"]
    assert texts_of(tmp_path) == {"a.txt": "1", "figure.svg": "1"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("of what is written")])
def test_what_fails_while_a_set_is_written_leaves_nothing(tmp_path, failure):
    write(tmp_path, OLD)
    with pytest.raises(type(failure)), new_files(tmp_path, NAMES) as new:
        raise failure if (new / "a.txt").write_text("half") else AssertionError
    assert texts_of(tmp_path) == OLD
    assert len(list(tmp_path.iterdir())) == 4


def test_a_name_alone_makes_no_file_ours(tmp_path):
    write(tmp_path, OLD)
    for name in ("c.txt", "sub/e.txt"):
        (tmp_path / name).write_text("mine, under a name of the set")
    (tmp_path / "b.txt").write_text("ours, and changed since")
    write(tmp_path, {"a.txt": "2"})
    mine = dict.fromkeys(("c.txt", "sub/e.txt"), "mine, under a name of the set")
    assert texts_of(tmp_path) == {"a.txt": "2", "b.txt": "ours, and changed since", **mine}
    assert (tmp_path / LIST).read_text().splitlines()[1].endswith("  a.txt")
    assert is_whole(tmp_path), "what is no longer of the set is not in its list"
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


def test_what_was_read_and_lies_among_the_files_stays_its_owners(tmp_path):
    (tmp_path / "b.txt").write_text("answers")
    write(tmp_path, {"a.txt": "1", "b.txt": "answers"}, inputs=[tmp_path / "b.txt"])
    assert earlier_set(tmp_path, NAMES) == ["a.txt"]
    write(tmp_path, {"a.txt": "2"})
    assert texts_of(tmp_path) == {"a.txt": "2", "b.txt": "answers"}


def is_whole(folder):
    check = ["sha256sum", "--check", "--status", LIST]
    return subprocess.run(check, cwd=folder, check=False).returncode == 0


@pytest.mark.parametrize("step", range(6))
def test_after_a_kill_every_file_is_whole_and_the_next_call_makes_the_set_so(
    tmp_path, monkeypatch, step
):
    write(tmp_path, OLD)
    taken = 0
    with monkeypatch.context() as patched:
        for owner, name in ((os, "replace"), (Path, "unlink")):
            real = getattr(owner, name)

            def stepping(*arguments, _real=real, **options):
                nonlocal taken
                if taken >= step:
                    raise Killed
                taken += 1
                return _real(*arguments, **options)

            patched.setattr(owner, name, stepping)
        with suppress(Killed):
            write(tmp_path, NEW)
    shown = {name: text for name, text in texts_of(tmp_path).items() if name[0] != "."}
    assert all(text in (OLD.get(name), NEW.get(name)) for name, text in shown.items())
    assert shown == OLD or not is_whole(tmp_path)
    write(tmp_path, NEW)
    assert {name: text for name, text in texts_of(tmp_path).items() if name[0] != "."} == NEW
    assert is_whole(tmp_path)


def test_somebody_elses_list_is_refused_and_stays(tmp_path):
    (tmp_path / LIST).write_text(f"{'0' * 64}  b.txt\n")
    for act in (write, require_replaceable):
        with pytest.raises(InputError, match=rf"{LIST} must be the list that an earlier call"):
            act(tmp_path, {"a.txt": "2"})
    assert (tmp_path / LIST).exists()


def test_a_file_that_may_not_be_replaced_is_kept_unless_it_is_the_same(tmp_path):
    path = tmp_path / "runs.csv"
    for seed in (1, 1):
        write_runs(simulate("rational", n_contexts=3, n_reps=1, rng=seed), path, replace=False)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"must be a new file.*Name another, or move it away"):
        write_runs(simulate("rational", n_contexts=3, n_reps=1, rng=2), path, replace=False)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["runs.csv"]


# Small files in the shapes of other programs, each by the command that its owner types first:
# breaks if the score is another than pandas gives, or what a refusal proposes is refused too.


N = 60
CASE = np.arange(N)
P = (CASE * 37 % 97 / 97).round(2)
TRUE = (CASE * 7 % 11 < 11 * P).astype(int)
GOLD, SAID = (np.array(list("ABCD"))[(CASE + odd) % 4] for odd in (0, TRUE == 0))
LONG = 9_007_199_256_442_240 + CASE  # more digits than a float holds
PERCENT = (100 * P).round().astype(int)
FEW = CASE < 4
NONE = np.where(FEW, -99, PERCENT)
FILE = {"question": [f"Q{case}" for case in CASE], "sure": P, "does": SAID, "right": TRUE}
WORDS = "--belief sure --action does --truth right --context question"
PAIR = "--belief sure --context question --prediction does --gold gold"
READ = [
    ({"gold": GOLD}, PAIR, "30 of 60 predictions right"),
    ({"gold": LONG, "does": LONG + (TRUE == 0)}, PAIR, "30 of 60 predictions right"),
    ({"sure": (2 * P - 1).round(2)}, f"{WORDS} --scale=-1..1", "-1 as 0, 0 as 0.5, 1 as 1"),
]
REFUSED = [
    ({"right": np.where(FEW, "?", np.where(TRUE, "yes", "no"))}, "", "4 of", "--where '.*?'", ""),
    ({"question": CASE // 4}, "", "varies", "--group question", "--context question"),
    ({"sure": 2 * PERCENT - 100}, "--percent", "-100", r"--scale=\S+", "--percent"),
    ({"sure": PERCENT / 10}, "", "0..10", "--scale 0..10", ""),
    ({"sure": np.where(FEW, -99, P)}, "", "is -99.0 (rows 0, 1", "--missing=-99", ""),
    ({"sure": NONE}, "--percent", "the first is -99 (rows 0, 1", "--missing=-99", ""),
    ({"sure": NONE}, "--scale 0..100", "the first is -99 (rows 0, 1", "--missing=-99", ""),
    ({"sure": [f"{each}%" for each in NONE]}, "", "is -99% (rows 0, 1", "--missing=-99%", ""),
    ({"right": GOLD}, "", "'A', 'B'", r"--prediction .*?(?= \()", "--action does --truth right"),
]


@pytest.fixture
def analyzed(run, tmp_path):
    def call(columns, words):
        path, out = tmp_path / "mine.csv", tmp_path / "out.json"
        pd.DataFrame(FILE | columns).to_csv(path, index=False)
        typed = [*shlex.split(words), "--json", out, "--checks", "calibration"]
        status, _, message = run("analyze", path, *typed)
        return (message, None) if status else ("", json.loads(out.read_text())["evaluations"][0])

    return call


def brier_of(evaluation):
    estimates = {each["check"]: each["estimate"] for each in evaluation["results"]}
    return estimates["calibration:brier"]


@pytest.mark.parametrize(("columns", "words", "said"), READ)
def test_a_file_is_read_as_its_owner_means_it(columns, words, said, analyzed):
    _, evaluation = analyzed(columns, words)
    assert said in " ".join(note["text"] for note in evaluation["notes"])
    assert brier_of(evaluation) == pytest.approx(((P - TRUE) ** 2).mean())


@pytest.mark.parametrize(("columns", "words", "said", "then", "in_place_of"), REFUSED)
def test_what_a_refusal_proposes_is_read(columns, words, said, then, in_place_of, analyzed):
    message, _ = analyzed(columns, f"{WORDS} {words}")
    assert said in message
    typed = re.search(then, message)[0]
    _, evaluation = analyzed(columns, f"{WORDS} {words} {typed}".replace(in_place_of, ""))
    left_out = FEW & typed.startswith(("--missing", "--where"))
    assert brier_of(evaluation) == pytest.approx(((P - TRUE) ** 2)[~left_out].mean())
