import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coherence.cli.interrupts import held_back

ROOT = Path(__file__).parents[3]
# Workers are asked whether they would hear the signal; then it is sent to the whole group.
CODE = """
import os, signal, sys
from joblib import Parallel, delayed
from coherence.cli import main as command
from coherence.cli.main import main

def deaf():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

def run(options):
    print(Parallel(n_jobs=2)(delayed(deaf)() for _ in range(2)), flush=True)
    os.killpg(0, signal.SIGINT)
    Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(10_000))
    raise AssertionError("the signal was lost")

# Whoever was started in the background of a shell ignores the signal otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)
import coherence.cli.compare
coherence.cli.compare.run = run
sys.exit(main(["compare", "runs", "--n-jobs", "2"]))
"""


def test_workers_never_hear_of_an_interrupt_and_it_ends_with_130(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        timeout=120,
    )
    assert done.stdout == "[True, True]\n"
    assert done.stderr == "\ncoherence compare: interrupted\n"
    assert done.returncode == 130


def test_an_interrupt_that_was_held_back_comes_after():
    steps = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), held_back():
            steps += [signal.raise_signal(signal.SIGINT), "held"]
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == [None, "held"]
