"""A Python that has imported the libraries already, and runs each command in a copy of itself.

Each command has a process, a folder and an error stream of its own, as if Python had been started
for it; only the seconds of imports are spared, a hundred times over. Run as a script this is the
server: a line of JSON on standard input starts a command, and its exit status is the answer.
"""

import importlib
import json
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARIES = (
    "coherence.analysis.analyze",
    "coherence.cli.main",
    "elicitation.models.local.multiple_choice",
    "elicitation.questions.plan",
    "matplotlib.pyplot",
    "pgmpy.models",
    "pyarrow.parquet",
    "transformers",
)


class WarmPython:
    """The server, started at the first command."""

    def __init__(self):
        self._process = None

    def run(self, words, *, cwd):
        """Run ``coherence ...`` or ``python ...``; return the exit status and standard error."""
        if self._process is None:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        said = Path(cwd) / "stderr.txt"
        task = {"words": words, "cwd": str(cwd), "said": str(said)}
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        text = said.read_text(encoding="utf-8", errors="replace")
        said.unlink()
        return status, text

    def close(self):
        if self._process is not None:
            self._process.communicate(timeout=30)  # ends its input, and closes both pipes


def _become(task):
    """Do in this process what ``python WORDS`` does in one of its own."""
    os.chdir(task["cwd"])
    for descriptor, (path, flags) in enumerate(
        [
            (os.devnull, os.O_RDONLY),
            (os.devnull, os.O_WRONLY),
            (task["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ]
    ):
        os.dup2(os.open(path, flags), descriptor)
    program, *words = task["words"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    if program == "coherence":
        sys.argv = ["coherence", *words]
        sys.exit(importlib.import_module("coherence.cli.main").main())
    sys.argv, sys.path[0] = words, str(Path(words[0]).parent.resolve())
    runpy.run_path(words[0], run_name="__main__")
    sys.exit(0)


def _serve():
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            _become(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
