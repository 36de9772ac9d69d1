"""Change one thing of a module at a time and see whether the tests notice.

    python benchmarks/mutation/run.py coherence bayesnets elicitation --map map.sqlite --size 3

A mutant meets the tests that run its line, the most special first. Our own few lines, and neither
cosmic-ray nor mutmut: each of their mutants imports scipy, pandas and torch and collects the tests
anew, which takes longer than the tests; here a forked child has all in memory and gets the changed
functions.
"""

import argparse
import ast
import contextlib
import gc
import hashlib
import importlib
import json
import os
import resource
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from mutation.covering import Cover  # noqa: E402
from mutation.mutants import Mutant, sample_mutants  # noqa: E402

OPTIONS = ["-q", "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-n0"]
LONGEST_SECONDS = 8.0  # of all tests that a mutant meets, as long as they took for the map
SPARE_SECONDS, TIMES_LONGER = 20, 4  # what a mutant may take beyond the module as it is
NOT_CAUGHT = ("survived", "not run")


def codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of every function within a module, from the outside in."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from codes(part)


def named(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return the code of a module's functions by name, and by which of that name each is."""
    seen: Counter[str] = Counter()
    by_name = {}
    for part in codes(code):
        by_name[part.co_qualname, seen[part.co_qualname]] = part
        seen[part.co_qualname] += 1
    return by_name


class Functions:
    """Every function of the project that is in memory, by its file, name and line.

    Parameters
    ----------
    modules : iterable of str
        Paths of those that are to be in memory; many are imported where they are first needed.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        for module in modules:
            path = Path(module) if Path(module).stem != "__init__" else Path(module).parent
            importlib.import_module(".".join(path.with_suffix("").parts))
        self.known: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        for thing in gc.get_objects():
            if type(thing) is FunctionType:  # what is lazy would be loaded by isinstance
                code = thing.__code__
                if code.co_filename.startswith(str(ROOT)):
                    place = code.co_filename, code.co_qualname, code.co_firstlineno
                    self.known[place].append(thing)

    def change(self, module: str, source: str, mutant: Mutant) -> None:
        """Put the code of a mutant into the functions of its module, wherever these are held."""
        path = str(ROOT / module)
        before, after = (named(compile(text, path, "exec")) for text in (source, mutant.source))
        for key, code in before.items():
            changed = after.get(key)
            for function in self.known[path, code.co_qualname, code.co_firstlineno]:
                if changed and changed.co_freevars == code.co_freevars:
                    function.__code__ = changed.replace(co_filename=path)


@cache
def statements(source: str) -> list[tuple[ast.stmt, bool]]:
    """Return the statements of a module, and of each whether it is within a function."""
    found: list[tuple[ast.stmt, bool]] = []

    def visit(node: ast.AST, within: bool) -> None:
        for field, value in ast.iter_fields(node):
            body = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and field == "body"
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    found.append((child, within or body))
                if isinstance(child, ast.AST):
                    visit(child, within or body)

    visit(ast.parse(source), False)
    return found


def enclosing(source: str, line: int) -> tuple[ast.stmt, bool]:
    """Return the innermost statement at a line, and whether it is within a function."""
    around = [
        (node, within)
        for node, within in statements(source)
        if node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda pair: pair[0].lineno)


@cache
def drawn(module: str, size: int, seed: int) -> tuple[str, list[Mutant]]:
    """Return the text of a module and mutants within its functions: these alone can be changed."""
    source = (ROOT / module).read_text(encoding="utf-8")
    mutants = sample_mutants(source, 3 * size, f"{seed} {module}")
    within = [mutant for mutant in mutants if enclosing(source, mutant.line)[1]]
    return source, sorted(within, key=lambda mutant: digest(module, source, mutant))[:size]


def digest(module: str, source: str, mutant: Mutant) -> str:
    """Name a mutant by what it changes in which statement; the rest does not count."""
    statement, _ = enclosing(source, mutant.line)
    where = ast.dump(statement)
    what = f"{module} {where} {mutant.operator} {mutant.before} {mutant.after}"
    return hashlib.sha256(what.encode()).hexdigest()[:20]


class Trial:
    """A plugin that puts mutants to the tests which were collected.

    Parameters
    ----------
    modules : list of str
        Those of the mutants.
    mutants : iterable of (str, str, Mutant)
        Module, its text, mutant.
    cover : Cover
        Tests by line.
    note : callable
        Gets a mutant's digest and the tests that caught it, or why none did.
    most : int
        How many tests may catch a mutant until no more are asked.
    """

    def __init__(
        self,
        modules: list[str],
        mutants: Iterable[tuple[str, str, Mutant]],
        cover: Cover,
        note: Callable[[str, list[str], str], None],
        most: int,
    ) -> None:
        self.modules, self.mutants = modules, mutants
        self.cover, self.note, self.most = cover, note, most
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants, each in a fork."""
        self.items = {item.nodeid: item for item in session.items}
        self.functions = Functions(self.modules)
        gc.freeze()
        for module, source, mutant in self.mutants:
            tests = self.tests_of(module, source, mutant.line)
            caught = self.killers(module, source, mutant, tests) if tests else ["not run"]
            self.note(digest(module, source, mutant), caught, f"{module}:{mutant.line}")
        return True

    def tests_of(self, module: str, source: str, line: int) -> list[str]:
        """Return the tests that run a line, those that run the fewest lines first."""
        by_line = self.cover.lines(module)
        begins = enclosing(source, line)[0].lineno
        tests = set().union(*(by_line[number] for number in range(begins, line + 1)))
        ordered = sorted(tests & set(self.items), key=lambda test: (self.cover.size(test), test))
        total, some = 0.0, []
        for test in ordered:
            total += self.cover.seconds[test]
            if total < LONGEST_SECONDS:
                some.append(test)
        return some or ordered[:1]

    def killers(self, module: str, source: str, mutant: Mutant, tests: list[str]) -> list[str]:
        """Return the tests that fail; "time" or "an exit" where none could be asked to the end."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            seconds = TIMES_LONGER * sum(map(self.cover.seconds.get, tests)) + SPARE_SECONDS
            # Processor time, because on a busy machine the clock says nothing about the mutant.
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
            status = 1
            try:
                self.functions.change(module, source, mutant)
                self._run([self.items[test] for test in tests], write)
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as told:
            failed = told.read().split("\n")[:-1]
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # servers and the like that a test left behind
        if not failed and status:
            return ["time" if os.WIFSIGNALED(status) else "an exit"]
        return failed or ["survived"]

    def _run(self, items: list[pytest.Item], write: int) -> None:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        functions = set()
        for item, following in zip(items, [*items[1:], None], strict=True):
            # One case of a test is enough.
            if (function := item.nodeid.partition("[")[0]) in functions:
                continue
            n = len(self.failed)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if len(self.failed) > n:
                functions.add(function)
                os.write(write, f"{self.failed[-1]}\n".encode())
            if len(functions) >= self.most:
                return


def read_ledger(path: Path) -> dict[str, list[str]]:
    """Return all that became of each mutant so far, which a run goes on from."""
    ledger: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        name, became, _ = json.loads(line)
        ledger[name] += became
    return ledger


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def is_there(test: str) -> bool:
    """Tell whether a test that caught a mutant still exists."""
    file, _, name = test.partition("[")[0].partition("::")
    return test in ("time", "an exit") or f"def {name}(" in _text(ROOT / file)


def modules_of(rooms: Iterable[str]) -> list[str]:
    """Return the paths of the modules of some folders or files, relative to the root."""
    found = []
    for room in rooms:
        path = ROOT / room
        inside = (file for file in path.rglob("*.py") if file.stem != "__main__")
        found += [path] if path.is_file() else sorted(inside)
    return [str(path.relative_to(ROOT)) for path in found]


def _cell(code: str) -> str:
    short = code if len(code) <= 80 else code[:77] + "..."
    return f"`{short.replace('|', '¦')}`"


def page(modules: list[str], size: int, seed: int, ledger: dict[str, list[str]]) -> str:
    """Render what became of the mutants, as far as they have been tried.

    Parameters
    ----------
    modules : list of str
        Paths.
    size, seed : int
        Of the sample.
    ledger : dict of str to list of str
        The tests that caught each mutant, or why none did.

    Returns
    -------
    str
        Tables of modules, with what was ever caught and what tests catch that are still there, and
        of survivors.
    """
    rows, survivors, total = [], [], Counter[str]()
    for module in modules:
        source, mutants = drawn(module, size, seed)
        count = Counter[str]()
        for mutant in mutants:
            became = ledger.get(digest(module, source, mutant))
            if not became:
                continue
            count["tried"] += 1
            killers = [test for test in became if test not in NOT_CAUGHT]
            count["then"] += bool(killers)
            count["now"] += any(map(is_there, killers))
            count["not run"] += not killers and "not run" in became
            if not any(map(is_there, killers)):
                survivors.append(
                    f"| {module}:{mutant.line} | {became[-1]} | {mutant.operator} "
                    f"| {_cell(mutant.before)} | {_cell(mutant.after)} |"
                )
        if count:
            rows.append(f"| {module} | {count['tried']} | {count['then']} | {count['now']} |")
            total += count
    return "\n".join(
        [
            f"{total['tried']} tried, {total['then']} caught; {total['now']} of them by tests that "
            f"are still there; {total['not run']} on lines that no test of the map runs.",
            "",
            "| module | tried | caught | caught by tests of today |",
            "|---|---|---|---|",
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
    parser.add_argument("--size", type=int, default=3, help="mutants of a module, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--map", type=Path, nargs="+", default=[], help="made by covering.py")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="folders of tests")
    parser.add_argument("--ledger", type=Path, default=Path(__file__).with_name("ledger.jsonl"))
    parser.add_argument("--most", type=int, default=1, help="tests that may catch a mutant")
    parser.add_argument("--again", action="store_true", help="try survivors anew")
    parser.add_argument("--show", action="store_true", help="try nothing, print the tables")
    options = parser.parse_args()
    modules = modules_of(options.rooms)
    ledger = read_ledger(options.ledger)

    def waiting() -> Iterator[tuple[str, str, Mutant]]:
        for module in modules:
            source, mutants = drawn(module, options.size, options.seed)
            for mutant in mutants:
                became = ledger.get(digest(module, source, mutant), [])
                survived = became and became[-1] in NOT_CAUGHT and not options.again
                if not survived and not any(map(is_there, became)):
                    yield module, source, mutant

    def note(name: str, caught: list[str], where: str) -> None:
        ledger[name] += caught
        with options.ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, caught, where]) + "\n")

    if not options.show:
        os.environ["HF_HUB_OFFLINE"] = "1"
        trial = Trial(modules, waiting(), Cover(options.map), note, options.most)
        os.chdir(ROOT)
        pytest.main([*OPTIONS, f"--rootdir={ROOT}", *options.tests], [trial])
    print(page(modules, options.size, options.seed, ledger))


if __name__ == "__main__":
    main()
