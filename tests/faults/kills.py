"""Kill commands at random moments, and look at what they leave.

    python tests/faults/kills.py --command analyze --kills 200 --seed 0

Everything is imported once; every life is a fork, ended by SIGKILL. Commands that only write are
killed between their start and a little more than the time of an undisturbed call; the files in
``--out`` must then be those of the call before or of this one, or a list of digests must tell that
they are mixed; after a call that nobody kills they must be equal to those of an undisturbed one.

Sessions with the model of `session` are killed again and again until they are done, each life
after a drawn number of its answers was written and a moment drawn from the time of a write, or,
where all is answered, from the time that the table takes: every answer that the store had must
still be there, none of these may be written again, and answers and table must be those of an
undisturbed session. Commands that ask are killed in tests/elicitation/commands/test_kills.py.
"""

import argparse
import contextlib
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads do not outlive a fork

import numpy as np
import pandas as pd
import session

from coherence import simulate, write_runs
from coherence.cli.main import main

LIST = "files.sha256"  # of the digests of a set
GRID = ("--where", "scenario=dice", "--where", "variant=single", "--where", "n=2", "--faces", "4")
SESSIONS = {f"session-{way}": way for way in ("drawn", "forced", "exact")}
COMMANDS = ("analyze", "reveal", "mix", *SESSIONS)
WRITE = 0.05  # seconds that a write to a store is made to take at least


def material(folder: Path) -> None:
    """Make two inputs of every command, so that an old and a new set differ."""
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
    file = str(folder / f"{command}{number}.csv")
    words = {
        "analyze": ["analyze", file, "--checks", "sufficiency,calibration"],
        "reveal": ["reveal", "--answers", file, *GRID, "--only-revealed"],
        "mix": ["mix", "--answers", file],
    }[command]
    return [*words, "--out", str(out)]


def said(words: list[str]) -> tuple[int, str]:
    """Run a command here, and return its status with what it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    return status, out.getvalue() + err.getvalue()


def work_of(command: str, number: int, folder: Path, out: Path) -> Callable[[], int]:
    """Return the first or second call of a command, or a session in Python."""
    if command in SESSIONS:
        return partial(session.live, out, SESSIONS[command])
    return partial(main, words_of(command, number, folder, out))


def start(work: Callable[[], int]) -> int:
    """Start a life in a fork; return its process."""
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            null = os.open(os.devnull, os.O_RDWR)
            log = os.open(os.environ["KILLS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(null, 1)
            os.dup2(log, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            status = work()
            sys.stderr.flush()
        os._exit(status)
    return child


def end(child: int, seconds: float | None = None) -> int:
    """Wait for the end of a life, killed after so many seconds; return its status."""
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
        # A kill may leave hidden folders.
        if not any(part.startswith(".") for part in Path(name).parts)
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
        assert end(start(work_of(command, number, folder, out))) == 0
        seconds = time.monotonic() - began
        sets.append(shown(out))
    out = folder / "out"
    shutil.copytree(folder / "whole1", out)
    turn = 1  # the set of number 2 is written over that of number 1, and so on
    while counts["killed"] < kills:
        work = work_of(command, turn + 1, folder, out)
        status = end(start(work), float(rng.uniform(0, 1.1)) * seconds)
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
            assert end(start(work)) == 0
            if shown(out) != sets[turn] or is_mixed(out):
                counts["FAULT: not whole after a call that nobody killed"] += 1
            turn = 1 - turn
    assert end(start(work_of(command, 1, folder, out))) == 0
    counts["equal at the end"] += shown(out) == sets[0]
    return counts


def watch(log: Path) -> None:
    """Have every store note what it is given, and every write take a moment."""
    from elicitation import AnswerStore

    put = AnswerStore.put

    def noted(store: AnswerStore, questions: list, answers: list, **who: str) -> None:
        with log.open("a") as lines:
            lines.writelines(f"{each.key(who['fingerprint'])}\n" for each in questions)
        time.sleep(WRITE / 2)
        put(store, questions, answers, **who)
        time.sleep(WRITE / 2)

    AnswerStore.put = noted  # type: ignore[method-assign]


def held(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what the store of a folder holds: text and time of every answer by its key."""
    rows: dict[str, tuple[str, str]] = {}
    for store in folder.glob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(store)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE name = 'answers'")
            if tables.fetchone():
                listed = database.execute("SELECT key, answer, created FROM answers")
                rows |= {key: (answer, created) for key, answer, created in listed}
    return rows


def tables(folder: Path) -> dict[str, bytes]:
    """Return the files that follow from answers, whenever these came."""
    files = {name: text for name, text in shown(folder).items() if ".sqlite" not in name}
    for name in files:
        if name.endswith(".csv"):
            table = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
            files[name] = table.drop(columns="created", errors="ignore").to_csv().encode()
    return {name: text for name, text in files.items() if Path(name).name != LIST}


def struck(child: int, log: Path, n_answers: int, seconds: float) -> int:
    """Kill a life some time after it noted so many answers; return its status."""
    while not log.exists() or log.read_bytes().count(b"\n") < n_answers:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return end(child, seconds)


def asked(command: str, kills: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Kill calls that ask until all is answered; compare stores and tables."""
    counts: Counter[str] = Counter()
    log = folder / "asked"
    watch(log)
    (folder / "whole").mkdir()
    assert end(start(work_of(command, 1, folder, folder / "whole"))) == 0
    # From the last write to the end: what the tables and reports take.
    tail = time.time() - log.stat().st_mtime
    whole, all_of_it = tables(folder / "whole"), held(folder / "whole")
    while counts["killed"] < kills:
        out = folder / f"out{counts['sessions']}"
        out.mkdir()
        status = None
        while status != 0:
            before = held(out)
            log.write_text("")
            left = len(all_of_it) - len(before)
            wanted = int(rng.integers(max(len(all_of_it) // 6, 1))) + 1
            child = start(work_of(command, 1, folder, out))
            if counts["killed"] >= kills:
                status = end(child)  # the last life of all is let live
            elif wanted < left:
                status = struck(child, log, wanted, float(rng.uniform(0, WRITE)))
            else:
                status = struck(child, log, left, float(rng.uniform(0, tail)))
            now = held(out)
            counts["killed" if status == -signal.SIGKILL else "finished"] += 1
            counts["killed with answers kept"] += status != 0 and len(now) > len(before)
            counts["killed when all was answered"] += status != 0 and len(now) == len(all_of_it)
            counts["FAULT: asked again"] += len(set(log.read_text().split()) & set(before))
            counts["FAULT: lost or changed"] += sum(now.get(key) != before[key] for key in before)
            if status not in (0, -signal.SIGKILL):
                counts[f"FAULT: status {status}"] += 1
                break
        counts["sessions"] += 1
        again = tables(out)
        for name in whole | again:
            counts[f"FAULT: {name} differs"] += whole.get(name) != again.get(name)
        same = {key: answer for key, (answer, _) in held(out).items()}
        counts["FAULT: other answers"] += same != {key: one for key, (one, _) in all_of_it.items()}
        shutil.rmtree(out)
    return counts


def run(command: str, kills: int, seed: int) -> Counter[str]:
    """Kill one command so many times, and count what it left."""
    rng = np.random.default_rng([seed, COMMANDS.index(command)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KILLS_LOG"] = str(folder / "log")
        material(folder)
        if command in SESSIONS:
            counts = asked(command, kills, rng, folder)
        else:
            counts = replaced(command, kills, rng, folder)
        log = folder / "log"
        counts["FAULT: traceback"] = log.read_text().count("Traceback") if log.exists() else 0
    return +counts


def warm(command: str) -> None:
    """Import what the command needs, by calling it once."""
    if command in SESSIONS:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        material(folder)
        (folder / "out").mkdir()
        said(words_of(command, 1, folder, folder / "out"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", choices=COMMANDS, required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warm(options.command)
    print(options.command, dict(run(options.command, options.kills, options.seed)))
