"""The options of a computation, shared by the commands that run one: names, seed and workers."""

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coherence.errors import InputError
from coherence.printable import table_entries

CONNECT_SECONDS = 10
ROUNDS = 500  # of tasks of 10 ms, in which all workers should have started


SEED = "--seed N:int=0  seed; equal seeds give equal numbers (default: 0)"
JOBS = """
--n-jobs N:int=1  processes; -1 for one per processor (default: 1)
--scheduler ADDRESS  Dask scheduler whose workers take the place of these processes, such as
    tcp://10.0.0.5:8786; see docs/pipelines.md#how-large-can-it-get
"""
FAIL_ON = """
--fail-on CONDITION*  exit with 1 where any result meets it, such as 'holm<.05', 'unreadable>.1' or
    'sufficiency.estimate>.02', and with 2 where there is nothing to compare; may be given several
    times
"""
_OPTION = re.compile(r"(\S+)(?: ([A-Z,]+(?:=[A-Z]+)?)(?::(int|float))?(?:=(\S+?))?([+?*])?)?  (.+)")


def declare(parser: argparse.ArgumentParser, table: str) -> None:
    """Declare options as the help reads: ``--name METAVAR:type=default  what it does``.

    Without a metavar an option is a flag; one with a star may be given several times. What has no
    hyphens is an argument, one or more (+), any number (*), or none (?). A title in brackets
    begins a group, with what it says of it.
    """
    to: argparse._ActionsContainer = parser
    for entry in table_entries(table):
        if entry.startswith("["):
            title, _, said = entry[1:].partition("] ")
            to = parser.add_argument_group(title, said)
            continue
        option = _OPTION.fullmatch(entry)
        assert option is not None, entry
        name, metavar, kind, default, many, said = option.groups()
        how: dict[str, Any] = {"help": said.replace("%", "%%")}
        if metavar is None:
            to.add_argument(name, action="store_true", **how)
            continue
        made = {"int": int, "float": float, None: str}[kind]
        how |= {"metavar": metavar, "type": made, "default": default and made(default)}
        if many == "*" and name.startswith("-"):
            how |= {"action": "append", "default": []}
        elif many:
            how["nargs"] = many
        to.add_argument(name, **how)


def comma_separated(text: str, sign: str = ",") -> list[str]:
    """Read names with commas, or another sign, between them."""
    return [name.strip() for name in text.split(sign) if name.strip()]


def require_seed(args: argparse.Namespace) -> None:
    """Refuse a negative seed, for which numpy has words about entropy."""
    if args.seed < 0:
        raise InputError(f"--seed must be at least 0; received {args.seed}.")


@contextmanager
def workers(args: argparse.Namespace) -> Iterator[None]:
    """Let all parallel work inside run where ``--scheduler`` says; without it on this machine."""
    import joblib

    if args.scheduler is None:
        with joblib.parallel_config(backend="loky", initializer=leave_interrupts):
            if args.n_jobs not in (0, 1):  # analyses refuse 0 in words of their own
                _start_workers(args.n_jobs)
            yield
        return

    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--scheduler needs Dask, which is not installed. "
            "Run: pip install 'belief-coherence[cluster]'"
        ) from None
    try:
        client = Client(args.scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:  # a TimeoutError is an OSError
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"--scheduler must be the address of a Dask scheduler; {args.scheduler!r} does not "
            f"answer ({told}). Start one with 'dask scheduler', and workers with 'dask worker'."
        ) from error
    with client, joblib.parallel_config(backend="dask"):
        yield


def _start_workers(n_jobs: int) -> None:
    """Start the processes with Ctrl-C held back, which they inherit: imports print no traceback.

    One that comes meanwhile is answered when they stand. Windows has no signals to hold.
    """
    from multiprocessing import resource_tracker

    import joblib
    from joblib.externals.loky.backend import resource_tracker as of_loky

    from coherence.statistics.trees import interrupts_held

    for tracker in (resource_tracker, of_loky):  # which let go of signals at their start
        tracker.ensure_running()

    def start() -> None:
        run, standing = joblib.Parallel(n_jobs=n_jobs), set[int]()
        n_workers = joblib.effective_n_jobs(n_jobs)
        for _ in range(ROUNDS):  # until each has had a task: one that stands takes those of others
            standing.update(run([joblib.delayed(leave_interrupts)()] * n_workers))
            if len(standing) >= n_workers:
                return

    if sys.platform == "win32":
        start()
        return
    with interrupts_held():  # where another thread than this gets the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_interrupts() -> int:
    """Let a worker ignore Ctrl-C, which its parent answers: the terminal sends it to all.

    Returns the number of the process, which rests so that others get a task too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(0.01)
    return os.getpid()
