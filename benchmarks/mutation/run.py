"""Change one thing of a module at a time and see whether the tests notice.

    python benchmarks/mutation/run.py coherence bayesnets elicitation --size 4 --seed 1

A mutant meets the tests that run its line, the most special first, until one fails. Our own few
lines, and neither cosmic-ray nor mutmut: each of their mutants imports scipy, pandas and torch
anew, which takes longer than the tests, whereas a process that is forked has them.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import py_compile
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from mutation.covering import Cover  # noqa: E402
from mutation.mutants import Mutant, sample_mutants  # noqa: E402

# What tests import from elsewhere; a forked child finds it in memory.
LIBRARIES = (
    "catboost",
    "hypothesis.extra.numpy",
    "hypothesis.strategies",
    "matplotlib.pyplot",
    "pandas",
    "pgmpy.models",
    "pyarrow.parquet",
    "scipy.cluster.hierarchy",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "statsmodels.stats.multitest",
    "statsmodels.stats.proportion",
    "torch",
    "transformers",
    "_pytest.doctest",
)
OPTIONS = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-n0"]
FIRST, LONGEST_SECONDS = 25, 30.0  # the tests that come first, and what all others may take
SPARE_SECONDS, TIMES_LONGER = 20, 4  # what a mutant may take beyond the module as it is


class Watcher:
    """Writes the name of the first test that fails."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed."""
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid, "utf-8")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file of tests whose import failed."""
        if report.failed and not self.path.exists():
            self.path.write_text(f"{report.nodeid} (its import)", "utf-8")


def copy_tree(folder: Path) -> None:
    """Copy what git tracks, and what it does not ignore, to where it may be spoilt."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            if name.endswith(".py"):
                py_compile.compile(str(folder / name), quiet=1)


def _in_child(folder: Path, tests: list[str], seconds: float, said: Path) -> None:
    """Run pytest in this process, which ends with its status."""
    os.setsid()
    os.chdir(folder)
    # Processor time, because a busy machine makes the clock say nothing about the mutant.
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path[:] = [str(folder), *(path for path in sys.path if not path.startswith(str(ROOT)))]
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    status = 1
    with contextlib.suppress(BaseException):
        status = int(pytest.main([*OPTIONS, f"--rootdir={folder}", *tests], [Watcher(said)]))
    os._exit(status)


def first_failure(folder: Path, tests: list[str], seconds: float) -> str | None:
    """Run tests in a copy of the tree.

    Parameters
    ----------
    folder : Path
        The copy.
    tests : list of str
        In the order in which they are run.
    seconds : float
        Processor time allowed; ten times as much by the clock.

    Returns
    -------
    str or None
        The test that failed, "time" or "an exit"; None if all passed.
    """
    said = folder.parent / "failed.txt"
    said.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _in_child(folder, tests, seconds, said)
    deadline, late = time.monotonic() + 10 * seconds, False
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if not late and time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            late = True
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers and the like that a test left behind
    status = os.waitstatus_to_exitcode(ended[1])
    if status == 0:
        return None
    if said.exists():
        return said.read_text("utf-8")
    if status == pytest.ExitCode.USAGE_ERROR:
        raise RuntimeError(f"pytest does not find these tests: {tests}")
    return "time" if status < 0 else "an exit"


def tests_of(module: str, source: str, line: int, cover: Cover, known: set[str]) -> list[str]:
    """Return the tests that run a line, the most special first: those that run the fewest lines.

    What a module does as it is imported is seen by all tests that run something of it.

    Parameters
    ----------
    module : str
        Its path, relative to the root.
    source : str
        Its text.
    line : int
        Where the mutant is.
    cover : Cover
        Tests by line.
    known : set of str
        Tests that there are.

    Returns
    -------
    list of str
        Names as pytest writes them.
    """
    by_line = cover.lines(module)
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    functions = [
        node
        for node in around
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and line >= node.body[0].lineno
    ]
    if functions:
        begins = max(node.lineno for node in around)
        tests = set().union(*(by_line[number] for number in range(begins, line + 1)))
    else:
        tests = set().union(*by_line.values())
    return sorted(tests & known, key=lambda test: (cover.size(test), test))


def outcome(folder: Path, tests: list[str], seconds: dict[str, float]) -> str:
    """Return the test that notices a mutant, "survived", or "not run" where no test runs it."""
    if not tests:
        return "not run"
    later = sorted(tests[FIRST:], key=lambda test: (seconds[test], test))
    total, second = 0.0, []
    for test in later:
        total += seconds[test]
        if total < LONGEST_SECONDS:
            second.append(test)
    for batch in filter(None, (tests[:FIRST], second)):
        limit = TIMES_LONGER * sum(seconds[test] for test in batch) + SPARE_SECONDS
        failure = first_failure(folder, batch, limit)
        if failure:
            return failure
    return "survived"


def digest(module: str, source: str, mutant: Mutant) -> str:
    """Name a mutant by what it changes in which code; comments and layout do not count."""
    code = module + ast.dump(ast.parse(source)) + ast.dump(ast.parse(mutant.source))
    return hashlib.sha256(code.encode()).hexdigest()[:20]


def read_ledger(path: Path) -> dict[str, str]:
    """Return what became of each mutant so far: a line each, so that a run resumes."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(json.loads(line)[:2] for line in lines)


def present_tests() -> set[str]:
    """Return the names of the tests of the ordinary run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line for line in listed.splitlines() if "::" in line}


def modules_of(rooms: Iterable[str]) -> list[str]:
    """Return the paths of the modules of some folders, relative to the root."""
    return [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in sorted((ROOT / room).rglob("*.py"))
    ]


def _cell(code: str) -> str:
    short = code if len(code) <= 80 else code[:77] + "..."
    return f"`{short.replace('|', '¦')}`"


def page(words: str, modules: list[str], size: int, seed: int, ledger: dict[str, str]) -> str:
    """Render what became of the mutants, as far as they have been tried.

    Parameters
    ----------
    words : str
        The command.
    modules : list of str
        Paths.
    size, seed : int
        Of the sample.
    ledger : dict of str to str
        Outcomes.

    Returns
    -------
    str
        Tables of modules and survivors.
    """
    rows, survivors, total = [], [], Counter[str]()
    for module in modules:
        source = (ROOT / module).read_text(encoding="utf-8")
        count = Counter[str]()
        for mutant in sample_mutants(source, size, f"{seed} {module}"):
            became = ledger.get(digest(module, source, mutant))
            if became is None:
                continue
            count["tried"] += 1
            count[became if became in ("survived", "not run") else "caught"] += 1
            if became in ("survived", "not run"):
                survivors.append(
                    f"| {module}:{mutant.line} | {became} | {mutant.operator} "
                    f"| {_cell(mutant.before)} | {_cell(mutant.after)} |"
                )
        if count:
            rows.append(f"| {module} | {count['tried']} | {count['caught']} |")
            total += count
    return "\n".join(
        [
            f"`{words}`: {total['tried']} tried, {total['caught']} caught "
            f"({total['caught'] / max(total['tried'], 1):.1%}), {total['survived']} survived, "
            f"{total['not run']} on lines that no ordinary test runs.",
            "",
            "| module | tried | caught |",
            "|---|---|---|",
            *rows,
            "",
            "| survivor | why | change | before | after |",
            "|---|---|---|---|---|",
            *survivors,
            "",
        ]
    )


def main() -> None:
    """Read the options, try what was not tried yet, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="+", help="folders of modules, such as coherence/checks")
    parser.add_argument("--size", type=int, default=4, help="mutants of a module, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--map", type=Path, nargs="+", required=True, help="made by covering.py")
    parser.add_argument("--again", action="store_true", help="try survivors anew")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / "coherence-mutants",
        help="where the copy of the tree and the ledger are kept",
    )
    options = parser.parse_args()
    modules = modules_of(options.rooms)
    known, cover = present_tests(), Cover(options.map)
    options.work.mkdir(parents=True, exist_ok=True)
    path = options.work / "ledger.jsonl"
    ledger = {
        name: became
        for name, became in read_ledger(path).items()
        # A test that is gone catches nothing, and what survived may meet a new one.
        if became in known | {"time", "an exit"}
        or (became in ("survived", "not run") and not options.again)
    }
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(dir=options.work) as temporary:
        folder = Path(temporary) / "tree"
        copy_tree(folder)
        for module in modules:
            source = (ROOT / module).read_text(encoding="utf-8")
            for mutant in sample_mutants(source, options.size, f"{options.seed} {module}"):
                name = digest(module, source, mutant)
                if name in ledger:
                    continue
                (folder / module).write_text(mutant.source, encoding="utf-8")
                Path(importlib.util.cache_from_source(str(folder / module))).unlink(missing_ok=True)
                began = time.monotonic()
                tests = tests_of(module, source, mutant.line, cover, known)
                ledger[name] = outcome(folder, tests, cover.seconds)
                line = [name, ledger[name], f"{module}:{mutant.line}", len(tests)]
                line.append(round(time.monotonic() - began, 1))
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            shutil.copyfile(ROOT / module, folder / module)
            py_compile.compile(str(folder / module), quiet=1)
    words = f"python benchmarks/mutation/run.py {' '.join(options.rooms)}"
    words += f" --size {options.size} --seed {options.seed}"
    print(page(words, modules, options.size, options.seed, ledger))


if __name__ == "__main__":
    main()
