"""Interrupt an analysis at random moments, as Ctrl-C does, and look at how it ends.

    python benchmarks/faults/interrupts.py --interrupts 200 --seed 0

Every life is a process of its own, which gets SIGINT, with all its workers, at a moment drawn from
the time that an undisturbed one takes. It must end with status 130 and one line, or, where all was
written and Python is shutting down, with 0 or by the signal, which a shell shows as 130; ``--out``
must hold nothing, the files of an undisturbed life, or a list of digests that tells that they are
mixed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from kills import is_mixed, shown

RUNS = Path(__file__).resolve().parents[2] / "examples" / "runs.parquet"
STARTED = 0.2  # seconds after which Python has started: before, its own traceback is what is seen
SAID = "coherence analyze: interrupted"


def start(words: list[str], out: Path) -> "subprocess.Popen[str]":
    """Start an analysis in a session of its own, so that its workers are interrupted with it."""
    return subprocess.Popen(
        [sys.executable, "-m", "coherence", "analyze", *words, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupted(words: list[str], interrupts: int, seed: int) -> tuple[Counter[str], list[float]]:
    """Interrupt so many lives; count how they ended, and list the seconds that they took to."""
    # A shell without job control has what it starts behind ``&`` ignore SIGINT, and what that
    # starts in turn; a handler is not handed on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, counts, took = np.random.default_rng(seed), Counter[str](), []
    with tempfile.TemporaryDirectory() as name:
        whole, out = Path(name, "whole"), Path(name, "out")
        began = time.monotonic()
        life = start(words, whole)
        life.communicate()
        assert life.returncode == 0
        seconds = time.monotonic() - began
        files = shown(whole)
        while counts["interrupted"] < interrupts:
            life = start(words, out)
            time.sleep(float(rng.uniform(STARTED, seconds)))
            running = life.poll() is None
            if running:
                os.killpg(life.pid, signal.SIGSTOP)  # while its files are looked at
            written = shown(out) == files
            sent = time.monotonic()
            if running:
                os.killpg(life.pid, signal.SIGINT)
                os.killpg(life.pid, signal.SIGCONT)
            _, error = life.communicate(timeout=60)
            if not running:
                counts["finished before"] += 1
            else:
                counts["interrupted"] += 1
                took.append(time.monotonic() - sent)
                counts[f"status {life.returncode}"] += 1
                done = shown(out) == files
                if life.returncode == 0 and not written:
                    counts["FAULT: not interrupted"] += 1
                elif life.returncode not in ((0, 130, -signal.SIGINT) if done else (130,)):
                    counts["FAULT: status"] += 1
                    print(life.returncode, error[-2_000:], file=sys.stderr)
                elif "Traceback" in error or (life.returncode == 130) != (SAID in error):
                    counts["FAULT: said"] += 1
                    print(life.returncode, error[-2_000:], file=sys.stderr)
            state = shown(out)
            if not state:
                counts["nothing written"] += 1
            elif state == files:
                counts["whole"] += 1
            else:
                counts["mixed, and told" if is_mixed(out) else "FAULT: torn"] += 1
            shutil.rmtree(out, ignore_errors=True)
            if sum(counts[each] for each in ("interrupted", "finished before")) % 20 == 0:
                print(dict(counts), file=sys.stderr, flush=True)
    return counts, took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interrupts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("words", nargs="*", help="arguments of analyze, behind --")
    options = parser.parse_args()
    counts, took = interrupted(options.words or [str(RUNS)], options.interrupts, options.seed)
    print(dict(counts), f"seconds: median {np.median(took):.2f}, longest {max(took):.2f}")
