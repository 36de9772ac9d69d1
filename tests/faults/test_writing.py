"""A full disk costs no result and leaves no mixed set."""

import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import mutated_tables
import pandas as pd
import pytest

from coherence import simulate, write_runs
from coherence.cli.main import main

GRID = [
    "--where",
    "scenario=dice",
    "--where",
    "variant=single",
    "--where",
    "n=2",
    "--where",
    "faces=4",
]


def inputs(folder: Path) -> None:
    """Make two inputs of every command, so that an old and a new set differ."""
    for number in (1, 2):
        runs = simulate("rational", n_contexts=30 + number, n_reps=2, rng=number)
        write_runs(runs, folder / f"analyze{number}.csv")
        questions = str(folder / f"reveal{number}.csv")
        assert main(["reveal", "--write-questions", questions, *GRID, "--only-revealed"]) == 0
        asked = pd.read_csv(folder / f"reveal{number}.csv")
        asked["probability"] = [0.04 * number + 0.01 * (n % 7) for n in range(len(asked))]
        asked.to_csv(folder / f"reveal{number}.csv", index=False)
        rows = [
            {"experiment": "flip", "p": p, "answer": int(n % (number + 1) > 0)}
            for p in (0.1, 0.5, 0.9)
            for n in range(6)
        ]
        pd.DataFrame(rows).to_csv(folder / f"mix{number}.csv", index=False)


def words_of(command: str, number: int, folder: Path, out: Path) -> list[str]:
    """Return the command line of the first or second call."""
    file = str(folder / f"{command}{number}.csv")
    words = {
        "analyze": ["analyze", file, "--checks", "sufficiency,calibration"],
        "reveal": ["reveal", "--answers", file, *GRID, "--only-revealed"],
        "mix": ["mix", "--answers", file],
    }[command]
    return [*words, "--out", str(out)]


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


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


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    inputs(folder)
    return folder


@pytest.mark.lengthy
@pytest.mark.parametrize("command", ["analyze", "reveal", "mix"])
def test_a_full_disk_leaves_the_old_set_as_it_was(command, material, tmp_path, monkeypatch, capsys):
    folder, other = tmp_path / "old", tmp_path / "new"
    assert main(words_of(command, 1, material, folder)) == 0
    assert main(words_of(command, 2, material, other)) == 0
    new = contents(other)
    assert contents(folder) != new
    (folder / "mine.txt").write_text("mine")
    old = contents(folder)
    limits = [no_file_over(size) for size in (0, 100, max(map(len, new.values())) - 1)]
    total = sum(map(len, new.values()))
    for limit in (*limits, *(no_room_for(size, monkeypatch) for size in (0, 100, total - 1))):
        with limit:
            assert main(words_of(command, 2, material, folder)) == 2
        err = capsys.readouterr().err
        assert "No space left on device" in err or "File too large" in err
        assert "unchanged" in err
        assert contents(folder) == old
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


# Files as strangers have them, a few and a thousand (`benchmarks/faults/README.md`).


@pytest.mark.parametrize("n", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_mutated_tables_read_right_or_are_refused(n):
    faults: list[str] = []
    counts = mutated_tables.run(n, 0, faults.append)
    assert faults == []
    assert counts["equal: read"] > 10
    assert counts["refused: refused"] > 5
    assert counts["beliefs compared with those of pandas"] > 10
