import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# As from a terminal, the signal is sent to the whole group of processes.
CODE = """
import os, signal, sys, threading
from joblib import Parallel, delayed
from coherence.cli import main as command
from coherence.cli.main import main
from coherence.cli.run_options import workers

early = sys.argv[1] == "early"

def run(options):
    if early:  # while the workers start
        threading.Timer(0.01, os.killpg, (0, signal.SIGINT)).start()
    with workers(options):
        early or os.killpg(0, signal.SIGINT)
        Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(10_000))
    raise AssertionError("the signal was lost")

# Whoever was started in the background of a shell ignores the signal otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)
import coherence.cli.compare
coherence.cli.compare.run = run
sys.exit(main(["compare", "runs", "--n-jobs", "2"]))
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_an_interrupt_of_all_processes_ends_in_one_line_with_130(tmp_path, when):
    script = tmp_path / "script.py"
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(script), when],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        timeout=120,
    )
    assert done.stdout == ""
    assert done.stderr == "\ncoherence compare: interrupted\n"
    assert done.returncode == 130
