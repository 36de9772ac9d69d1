"""One run at a time. Breaks if two ask the same questions, or a dead one keeps the folder."""

import subprocess
import sys

import pytest

from coherence import InputError
from elicitation.commands.study.command import alone_in

HOLD = """
import sys, time
from pathlib import Path
from elicitation.commands.study.command import alone_in
with alone_in(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_refused_until_the_first_is_gone(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another run of the study"), alone_in(tmp_path):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with alone_in(tmp_path):
        pass
    with alone_in(tmp_path):
        pass
