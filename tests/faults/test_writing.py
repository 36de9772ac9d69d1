"""A full disk, and a kill at any step, cost no result and leave no mixed set."""

import errno
import os
import resource
import shutil
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import pytest

from coherence import simulate, write_runs
from coherence.cli.main import main
from coherence.table.files import LIST

GRID = ("--where", "scenario=dice", "--where", "variant=single", "--where", "n=2", "--faces", "4")
REVEALED = "--only-revealed"
COMMANDS = ("analyze", "compare", "reveal", "mix", "power")


class Killed(BaseException):
    """Stands for a kill: no handler of the program may run on it."""


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Two inputs of every command, so that an old and a new set differ."""
    folder = tmp_path_factory.mktemp("material")
    for number in (1, 2):
        runs = simulate("rational", n_contexts=30 + number, n_reps=2, rng=number)
        models = [runs.assign(model=name) for name in ("one", "two")]
        write_runs(runs, folder / f"runs{number}.csv")
        write_runs(pd.concat(models), folder / f"models{number}.csv")
        questions = folder / f"reveal{number}.csv"
        assert main(["reveal", "--questions", str(questions), *GRID, REVEALED]) == 0
        asked = pd.read_csv(questions)
        asked["probability"] = [0.04 * number + 0.01 * (n % 7) for n in range(len(asked))]
        asked.to_csv(questions, index=False)
        rows = [
            {"experiment": "flip", "p": p, "answer": int(n % (number + 1) > 0)}
            for p in (0.1, 0.5, 0.9)
            for n in range(6)
        ]
        pd.DataFrame(rows).to_csv(folder / f"mix{number}.csv", index=False)
    return folder


def calls(material: Path, number: int) -> dict[str, list[str]]:
    runs, models = str(material / f"runs{number}.csv"), str(material / f"models{number}.csv")
    design = ["--contexts", str(30 + number), "--reps", "2", "--simulations", "10"]
    return {
        "analyze": ["analyze", runs, "--checks", "calibration"],
        "compare": ["compare", models, "--effects", "unreadable"],
        "reveal": ["reveal", "--answers", str(material / f"reveal{number}.csv"), *GRID, REVEALED],
        "mix": ["mix", "--answers", str(material / f"mix{number}.csv")],
        "power": ["power", "rational", "--checks", "residual_covariance", *design],
    }


@pytest.fixture
def sets(material, tmp_path_factory, request, capsys):
    """Return a folder with the old set, and what the old and the new one hold."""

    def make(command: str) -> tuple[Path, list[str], dict[str, bytes], dict[str, bytes]]:
        folders = [tmp_path_factory.mktemp(f"{command}{number}") for number in (1, 2)]
        for number, folder in enumerate(folders, start=1):
            words = calls(material, number)[command]
            assert main([*words, "--out", str(folder)]) == 0, capsys.readouterr().err
        old, new = map(contents, folders)
        assert old != new
        return folders[0], [*calls(material, 2)[command], "--out"], old, new

    return make


@contextmanager
def no_file_over(size: int):
    """Let the system refuse longer files, as a full disk does."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def no_room_for(size: int, monkeypatch):
    """Let the disk be full after so many bytes, which some file systems say only at the end."""
    left, real = [size], os.fsync

    def fsync(handle: int) -> None:
        left[0] -= os.fstat(handle).st_size
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fsync)
        yield


@pytest.mark.lengthy
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_leaves_the_old_set_as_it_was(command, sets, monkeypatch, capsys):
    folder, words, _, new = sets(command)
    (folder / "mine.txt").write_text("mine")
    old = contents(folder)
    longest = max(map(len, new.values()))
    limits = [no_file_over(size) for size in (0, 100, longest - 1)]
    total = sum(map(len, new.values()))
    for limit in (*limits, *(no_room_for(size, monkeypatch) for size in (0, 100, total - 1))):
        with limit:
            assert main([*words, str(folder)]) == 2
        err = capsys.readouterr().err
        assert "No space left on device" in err or "File too large" in err
        assert "unchanged" in err
        assert contents(folder) == old
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.lengthy
@pytest.mark.parametrize("command", ["analyze", "mix"])
def test_a_kill_at_any_rename_leaves_a_whole_set(command, sets, monkeypatch, tmp_path):
    folder, words, old, new = sets(command)
    steps = kill_at(monkeypatch, 10**6, [*words, str(tmp_path)])
    assert steps > 2
    for step in range(0, steps, 3):  # every one in tests/api/table/test_files.py
        trial = folder.with_name(f"{folder.name}-{step}")
        shutil.copytree(folder, trial)
        kill_at(monkeypatch, step, [*words, str(trial)])
        shown = {name: data for name, data in contents(trial).items() if name[0] != "."}
        check = ["sha256sum", "--check", "--status", LIST]
        whole = subprocess.run(check, cwd=trial, check=False).returncode == 0
        assert shown in (old, new) or not whole, "a mixed set that nothing tells"
        assert main([*words, str(trial)]) == 0
        shown = {name: data for name, data in contents(trial).items() if name[0] != "."}
        assert shown == new, f"step {step}"


def kill_at(monkeypatch, step: int, words: list[str]) -> int:
    """Run a command whose n-th step of moving and removing does not come back; return the steps."""
    taken = [0]
    names = ((os, "replace"), (Path, "rename"), (Path, "unlink"), (shutil, "rmtree"))
    with monkeypatch.context() as patched:
        for owner, name in names:
            real = getattr(owner, name)

            def stepping(*arguments, _real=real, **options):
                if taken[0] > step:
                    return None  # the process is dead: nothing more happens
                taken[0] += 1
                if taken[0] > step:
                    raise Killed
                return _real(*arguments, **options)

            patched.setattr(owner, name, stepping)
        with suppress(Killed):
            main(words)
    return taken[0]
