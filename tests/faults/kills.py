"""Kill sessions at random moments, and look at what they leave.

    python tests/faults/kills.py --command session-drawn --kills 15 --seed 1

Everything is imported once; every life is a fork, ended by SIGKILL. Sessions with the model of
`session` are killed again and again until they are done, each life after a drawn number of its
answers was written and a moment drawn from the time of a write, or, where all is answered, from the
time that the table takes: every answer that the store had must still be there, none of these may be
written again, and answers and table must be those of an undisturbed session. Commands that ask are
killed in tests/elicitation/commands/test_kills.py, the writing of files at every step in
tests/api/table/test_files.py.
"""

import argparse
import contextlib
import os
import shutil
import signal
import sqlite3
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

LIST = "files.sha256"  # of the digests of a set
SESSIONS = {f"session-{way}": way for way in ("drawn", "forced", "exact")}
WRITE = 0.05  # seconds that a write to a store is made to take at least


def work_of(command: str, out: Path) -> Callable[[], int]:
    """Return a session in Python."""
    return partial(session.live, out, SESSIONS[command])


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
    assert end(start(work_of(command, folder / "whole"))) == 0
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
            child = start(work_of(command, out))
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
    """Kill one session so many times, and count what it left."""
    rng = np.random.default_rng([seed, [*SESSIONS].index(command)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KILLS_LOG"] = str(folder / "log")
        counts = asked(command, kills, rng, folder)
        log = folder / "log"
        counts["FAULT: traceback"] = log.read_text().count("Traceback") if log.exists() else 0
    return +counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", choices=SESSIONS, required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(options.command, dict(run(options.command, options.kills, options.seed)))
