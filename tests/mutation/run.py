"""Change one thing of a module at a time and see whether its tests notice.

    python tests/mutation/run.py coherence/statistics --size 40 --seed 1

Our own few lines, and neither cosmic-ray nor mutmut: those run one command for all modules, whereas
a mutant here meets its own module's tests first; and each of their mutants imports scipy and pandas
anew, which takes longer than the tests, whereas a process that is forked has them.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from mutants import Mutant, sample_mutants

ROOT = Path(__file__).parents[2]
# What tests import from elsewhere; a forked child finds it in memory.
LIBRARIES = (
    "numpy",
    "pandas",
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "scipy.spatial",
    "scipy.cluster.hierarchy",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "statsmodels.stats.multitest",
    "statsmodels.stats.proportion",
    "hypothesis.strategies",
    "hypothesis.extra.numpy",
    "pyarrow.parquet",
    "pytest",
    "_pytest.doctest",
)
PACKAGES = {
    "coherence": ["tests/api", "tests/numerics", "tests/cli"],
    "bayesnets": ["tests/bayesnets"],
    "elicitation": ["tests/elicitation"],
}
"""Folders of tests by package."""
OPTIONS = [
    "-x",
    "-q",
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--hypothesis-seed=0",
    "-n0",  # workers would import everything anew, which the fork spares
]
LONGEST_SECONDS = 900
SPARE_SECONDS, TIMES_LONGER = 20, 4  # what a mutant may take beyond the module as it is
NOTHING_COLLECTED = 5  # exit status of pytest


def stages_of(module: Path) -> list[list[str]]:
    """Return the tests of a module: first its own, with the examples it holds, then its package's.

    Its own are those of its name, and those that name it.

    Parameters
    ----------
    module : Path
        Relative to the root of the project.

    Returns
    -------
    list of list of str
        Files and folders, relative to the root.
    """
    dotted = ".".join(module.with_suffix("").parts)
    own = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if file.name == f"test_{module.name}" or dotted in file.read_text(encoding="utf-8")
    ]
    return [[str(module), *own], PACKAGES[module.parts[0]]]


def copy_tree(folder: Path) -> None:
    """Copy what git tracks, and what it does not ignore, to a folder where it may be spoilt."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def _in_child(folder: Path, paths: list[str], seconds: float) -> None:
    """Run pytest in this process, which ends with its status."""
    os.setsid()
    os.chdir(folder)
    # Processor time, because a busy machine makes the clock say nothing about the mutant.
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path[:] = [str(folder), *(path for path in sys.path if Path(path) != Path(__file__).parent)]
    os.environ["PYTHONPATH"] = str(folder)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    import pytest

    status = 1
    with contextlib.suppress(BaseException):
        status = int(pytest.main([*OPTIONS, f"--rootdir={folder}", *paths]))
    os._exit(status)


def passes(folder: Path, paths: list[str], seconds: float) -> tuple[bool, float]:
    """Run tests in a copy of the tree.

    Parameters
    ----------
    folder : Path
        The copy.
    paths : list of str
        Tests, relative to it.
    seconds : float
        Processor time allowed; ten times as much by the clock.

    Returns
    -------
    passed : bool
        Whether none failed within the time.
    taken : float
        Processor time of the run.
    """
    child = os.fork()
    if child == 0:
        _in_child(folder, paths, seconds)
    deadline, used = time.monotonic() + 10 * seconds, None
    while used is None:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            used = usage
        elif time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            deadline += 3600
        else:
            time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers and the like that a test left behind
    shutil.rmtree(folder / ".hypothesis", ignore_errors=True)
    passed = os.waitstatus_to_exitcode(status) in (0, NOTHING_COLLECTED)
    return passed, used.ru_utime + used.ru_stime


def _digest(source: str, mutant: Mutant) -> str:
    """Name a mutant by what it changes in which code; comments and layout do not count."""
    code = ast.dump(ast.parse(source)) + ast.dump(ast.parse(mutant.source))
    return hashlib.sha256(code.encode()).hexdigest()[:20]


def read_ledger(path: Path) -> dict[str, str]:
    """Return what became of each mutant tried so far: a line each, so that a run resumes."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(json.loads(line) for line in lines)


def _note(path: Path, name: str, outcome: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome]) + "\n")


def _limit(folder: Path, work: Path, paths: list[str]) -> float:
    """Processor time that a mutant may take; measured once for all modules with these tests."""
    ledger, name = work / "ledger.jsonl", " ".join(paths)
    known = read_ledger(ledger)
    if name not in known:
        passed, taken = passes(folder, paths, LONGEST_SECONDS)
        if not passed:
            raise RuntimeError(f"tests fail before any change: {name}")
        _note(ledger, name, f"{taken:.1f}")
        known = read_ledger(ledger)
    return TIMES_LONGER * float(known[name]) + SPARE_SECONDS


def judge(module: Path, work: Path, size: int, seed: int, quick: bool, again: bool) -> None:
    """Put the mutants of one module that the ledger lacks to the test.

    Parameters
    ----------
    module : Path
        Relative to the root.
    work : Path
        Folder of the ledger and, for each module at work, of a copy of the tree.
    size, seed : int
        Of the sample.
    quick : bool
        Whether to leave it at the module's own tests.
    again : bool
        Whether to try survivors anew.
    """
    source = (ROOT / module).read_text(encoding="utf-8")
    known = read_ledger(work / "ledger.jsonl")
    sample = sample_mutants(source, size, f"{seed} {module}")
    settled = {name for name, outcome in known.items() if not (again and outcome == "survived")}
    waiting = [(name, m) for m in sample if (name := _digest(source, m)) not in settled]
    if not waiting:
        return
    folder = Path(tempfile.mkdtemp(dir=work))
    copy_tree(folder)
    stages = stages_of(module)[: 1 if quick else 2]
    limits = [_limit(folder, work, paths) for paths in stages]
    for name, mutant in waiting:
        (folder / module).write_text(mutant.source, encoding="utf-8")
        survives = all(passes(folder, *stage)[0] for stage in zip(stages, limits, strict=True))
        outcome = "survived" if survives else "caught"
        _note(work / "ledger.jsonl", name, outcome)
        change = f"{mutant.before}  ->  {mutant.after}"
        print(f"{outcome} {module}:{mutant.line} {change}", file=sys.stderr, flush=True)
    shutil.rmtree(folder)


def _cell(code: str) -> str:
    short = code if len(code) <= 100 else code[:97] + "..."
    return f"`{short.replace('|', '¦')}`"


def table(room: str, modules: list[Path], work: Path, size: int, seed: int, quick: bool) -> str:
    """Render what became of the mutants of a room, as far as they have been tried.

    Parameters
    ----------
    room : str
        Folder, relative to the root.
    modules : list of Path
        Its modules.
    work : Path
        Folder of the ledger.
    size, seed : int
        Of the sample.
    quick : bool
        Whether modules met only their own tests.

    Returns
    -------
    str
        A page.
    """
    known = read_ledger(work / "ledger.jsonl")
    counts, survivors = [], []
    for module in modules:
        source = (ROOT / module).read_text(encoding="utf-8")
        sample = sample_mutants(source, size, f"{seed} {module}")
        outcomes = [known.get(_digest(source, mutant)) for mutant in sample]
        tried = len(sample) - outcomes.count(None)
        counts.append((module.name, len(sample), tried, outcomes.count("caught")))
        survivors += [
            f"| {module.name}:{mutant.line} | {mutant.operator} | {_cell(mutant.before)} "
            f"| {_cell(mutant.after)} |"
            for mutant, outcome in zip(sample, outcomes, strict=True)
            if outcome == "survived"
        ]
    rows = [
        f"| {name} | {drawn} | {tried} | {caught} | {caught / tried:.0%} |"
        for name, drawn, tried, caught in counts
        if tried
    ]
    drawn, tried, caught = (sum(row[column] for row in counts) for column in (1, 2, 3))
    return "\n".join(
        [
            f"# Mutants of {room}/",
            f"`python tests/mutation/run.py {room} --size {size} --seed {seed}"
            f"{' --quick' if quick else ''}`: {drawn} drawn, {tried} tried, {caught} caught, "
            f"{caught / max(tried, 1):.0%} of those tried.",
            "",
            "| module | drawn | tried | caught | share |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Survivors",
            "| where | change | before | after |",
            "|---|---|---|---|",
            *survivors,
            "",
        ]
    )


def main() -> None:
    """Read the options, try what was not tried yet, write one page for each room."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="+", help="folders of modules, such as coherence/checks")
    parser.add_argument("--size", type=int, default=40, help="mutants of a module, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of modules")
    parser.add_argument(
        "--quick", action="store_true", help="only a module's own tests, not its whole room's"
    )
    parser.add_argument("--again", action="store_true", help="try survivors anew")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / "coherence-mutants",
        help="where copies of the tree and the ledger are kept",
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        importlib.import_module(library)
    for room in options.rooms:
        modules = [path.relative_to(ROOT) for path in sorted((ROOT / room).rglob("*.py"))]
        chosen = [path for path in modules if not options.only or path.stem in options.only]
        work = partial(
            judge,
            work=options.work,
            size=options.size,
            seed=options.seed,
            quick=options.quick,
            again=options.again,
        )
        with multiprocessing.get_context("fork").Pool(options.processes) as pool:
            pool.map(work, chosen, chunksize=1)
        page = Path(__file__).parent / f"{Path(room).name}.md"
        text = table(room, modules, options.work, options.size, options.seed, options.quick)
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
