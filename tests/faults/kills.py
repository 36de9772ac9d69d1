"""Kill commands at random moments, and look at what they leave.

    python tests/faults/kills.py --command analyze --kills 200 --seed 0

Everything is imported once; every life is a fork, ended by SIGKILL at a random moment between its
start and a little more than the time of an undisturbed call, so that the kill falls into the work
and its last renames, and not into the imports. After each kill the files in ``--out`` must be those
of the call before or of this one, or a list of digests must tell that they are mixed; after a call
that nobody kills they must be equal to those of an undisturbed one, and nothing else may be left.
"""

import argparse
import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from coherence import simulate, write_runs
from coherence.cli.main import main
from coherence.table.files import LIST

GRID = ("--where", "scenario=dice", "--where", "variant=single", "--where", "n=2", "--faces", "4")
TRAINING = ("--from-scratch", "--epochs", "2", "--goal", "1", "--threads", "1", "--seed", "1")
COMMANDS = ("analyze", "reveal", "mix", "bets-train")


def material(folder: Path) -> None:
    """Make two inputs of every command, so that an old and a new set differ."""
    rows = [
        f"{value} {split} {n},{value},{split}"
        for value in ("high", "low")
        for split in ("train", "dev", "test")
        for n in "ab"
    ]
    (folder / "things.csv").write_text("\n".join(["item,value,split", *rows]) + "\n")
    for number in (1, 2):
        runs = simulate("rational", n_contexts=30 + number, n_reps=2, rng=number)
        write_runs(runs, folder / f"analyze{number}.csv")
        said(
            ["reveal", "--questions", str(folder / f"reveal{number}.csv"), *GRID, "--only-revealed"]
        )
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
    file, things = str(folder / f"{command}{number}.csv"), str(folder / "things.csv")
    words = {
        "analyze": ["analyze", file, "--checks", "residual_covariance,calibration"],
        "reveal": ["reveal", "--answers", file, *GRID, "--only-revealed"],
        "mix": ["mix", "--answers", file],
        "bets-train": ["bets", "train", "--modality", "coin", "--items", things, *TRAINING],
    }[command]
    return [*words, "--out", str(out)]


def said(words: list[str]) -> tuple[int, str]:
    """Run a command here, and return its status with what it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    return status, out.getvalue() + err.getvalue()


def life(words: list[str], seconds: float | None) -> int:
    """Run a command in a fork, and kill it after a while; return its status."""
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            null = os.open(os.devnull, os.O_RDWR)
            log = os.open(os.environ["KILLS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(null, 1)
            os.dup2(log, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            status = main(words)
            sys.stderr.flush()
        os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def shown(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that a reader sees, by name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        # How long a training took is no part of its result.
        if not name.startswith(".") and Path(name).name != "training.json"
    }


def is_mixed(folder: Path) -> bool:
    """Tell whether the list of digests says that files are of two sets."""
    check = ["sha256sum", "--check", "--status", LIST]
    return subprocess.run(check, cwd=folder, check=False).returncode != 0


def replaced(command: str, kills: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Kill calls that replace a set of files."""
    sets, counts = [], Counter[str]()
    for number in (1, 2):
        out = folder / f"whole{number}"
        began = time.monotonic()
        assert life(words_of(command, number, folder, out), None) == 0
        seconds = time.monotonic() - began
        sets.append(shown(out))
    out = folder / "out"
    shutil.copytree(folder / "whole1", out)
    turn = 1  # the set of number 2 is written over that of number 1, and so on
    while counts["killed"] < kills:
        words = words_of(command, turn + 1, folder, out)
        status = life(words, float(rng.uniform(0, 1.1)) * seconds)
        counts["killed" if status == -signal.SIGKILL else "finished"] += 1
        state = shown(out)
        if state in sets:
            counts["whole"] += 1
        elif is_mixed(out):
            counts["mixed, and told"] += 1
        else:
            counts["FAULT: mixed, and not told"] += 1
        # Every tenth is let finish, so that both sets are old and new in turn.
        if rng.random() < 0.1:
            assert life(words, None) == 0
            if shown(out) != sets[turn] or is_mixed(out):
                counts["FAULT: not whole after a call that nobody killed"] += 1
            turn = 1 - turn
    assert life(words_of(command, 1, folder, out), None) == 0
    counts["equal at the end"] += shown(out) == sets[0]
    return counts


def trained(kills: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Kill a training again and again until it is done, and compare the weights."""
    counts: Counter[str] = Counter()
    began = time.monotonic()
    assert life(words_of("bets-train", 1, folder, folder / "whole"), None) == 0
    seconds, whole = time.monotonic() - began, shown(folder / "whole")
    while counts["killed"] < kills:
        out = folder / f"out{counts['trainings']}"
        # A little more than an epoch at most, so that some lives go on from a checkpoint.
        while counts["killed"] < kills:
            status = life(words_of("bets-train", 1, folder, out), float(rng.uniform(0, seconds)))
            counts["killed" if status == -signal.SIGKILL else "finished"] += 1
            if status == 0:
                break
            if status != -signal.SIGKILL:
                counts[f"FAULT: status {status}"] += 1
                break
        if life(words_of("bets-train", 1, folder, out), None) != 0:
            counts["FAULT: does not go on"] += 1
        counts["trainings"] += 1
        counts["equal weights"] += shown(out) == whole
        shutil.rmtree(out, ignore_errors=True)
    return counts


def run(command: str, kills: int, seed: int) -> Counter[str]:
    """Kill one command so many times, and count what it left."""
    rng = np.random.default_rng([seed, COMMANDS.index(command)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KILLS_LOG"] = str(folder / "log")
        material(folder)
        way: Callable[[], Counter[str]] = (
            (lambda: trained(kills, rng, folder))
            if command == "bets-train"
            else (lambda: replaced(command, kills, rng, folder))
        )
        counts = way()
        log = folder / "log"
        counts["FAULT: traceback"] = log.read_text().count("Traceback") if log.exists() else 0
    return +counts


def warm(command: str) -> None:
    """Import what the command needs, by calling it once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        material(folder)
        if command != "bets-train":
            said(words_of(command, 1, folder, folder / "out"))
        else:  # threads of torch do not outlive a fork
            import transformers  # noqa: F401

            import elicitation.batteries.bets.models
            import elicitation.commands.bets_training
            import elicitation.training.finetuning  # noqa: F401


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", choices=COMMANDS, required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warm(options.command)
    print(options.command, dict(run(options.command, options.kills, options.seed)))
