"""Which tests run which lines: a plugin of pytest that makes the map, and its reader.

    COVERING=map.sqlite python -m pytest -p mutation.covering -n 0

Lines that a fixture of a module or a session runs, or a cached function, run once, in the first
test that needs them; all tests that need them are noted as running them.
"""

import contextlib
import difflib
import functools
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("coherence", "bayesnets", "elicitation")


class Recorder:
    """Notes lines under what runs them: a test, a shared fixture or a cached function."""

    def __init__(self, path: str) -> None:
        import coverage

        self.path = path
        self.coverage = coverage.Coverage(
            data_file=path, config_file=False, source=[str(ROOT / name) for name in SOURCES]
        )
        self.stack = ["import"]
        self.needs: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def under(self, name: str) -> Iterator[None]:
        """Note what runs under a name, and that what ran before needs it."""
        self.needs[self.stack[-1]].add(name)
        self.stack.append(name)
        self.coverage.switch_context(name)
        try:
            yield
        finally:
            self.stack.pop()
            self.coverage.switch_context(self.stack[-1])

    def remember_callers(self, cache):
        """Make a cache that notes who asks for what it holds."""

        def decorated(function, maxsize=128, typed=False):
            module = str(getattr(function, "__module__", ""))
            if not module.startswith((*SOURCES, "test", "conftest")):
                return cache(maxsize, typed)(function)

            @functools.wraps(function)
            def noted(*arguments, **named):
                with self.under(f"@{module}.{function.__qualname__}({arguments!r:.40})"):
                    return function(*arguments, **named)

            kept = cache(maxsize, typed)(noted)

            @functools.wraps(function)
            def asked(*arguments, **named):
                name = f"@{module}.{function.__qualname__}({arguments!r:.40})"
                self.needs[self.stack[-1]].add(name)
                return kept(*arguments, **named)

            asked.cache_clear, asked.cache_info = kept.cache_clear, kept.cache_info
            return asked

        return decorated

    def patch_caches(self) -> None:
        """Replace the two caches of functools, before the project is imported."""
        decorated = self.remember_callers(functools.lru_cache)

        def lru_cache(maxsize=128, typed=False):
            if callable(maxsize):
                return decorated(maxsize)
            return lambda function: decorated(function, maxsize, typed)

        functools.lru_cache = lru_cache
        functools.cache = lambda function: decorated(function, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Note what a shared fixture runs under its own name."""
        if fixturedef.scope == "function":
            return (yield)
        parameter = getattr(request, "param_index", 0)
        with self.under(f"@{fixturedef.baseid}::{fixturedef.argname}[{parameter}]"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Note what a test runs, and the shared fixtures that it needs."""
        for name, definitions in item._fixtureinfo.name2fixturedefs.items():
            call = getattr(item, "callspec", None)
            index = call.indices.get(name, 0) if call else 0
            for definition in definitions:
                if definition.scope != "function":
                    self.needs[item.nodeid].add(f"@{definition.baseid}::{name}[{index}]")
        if sys.gettrace() is None:  # a test that traces for itself leaves none
            self.coverage.stop()
            self.coverage.start()
        began = time.process_time()
        with self.under(item.nodeid):
            result = yield
        self.seconds[item.nodeid] = time.process_time() - began
        if len(self.seconds) % 100 == 0:
            self.write()  # lines are written after every test: a run that is stopped can be used
        return result

    def pytest_collection_modifyitems(self, items):
        """Keep the first, the middle and the last case of a test that has many."""
        cases = defaultdict(list)
        for item in items:
            cases[item.nodeid.partition("[")[0]].append(item)
        items[:] = [
            item
            for some in cases.values()
            for item in dict.fromkeys((some[0], some[len(some) // 2], some[-1]))
        ]

    def pytest_sessionfinish(self):
        """Write the rest."""
        self.coverage.stop()
        self.coverage.save()
        self.write()

    def write(self):
        """Write what lines alone do not say: who needs what, and how long tests take."""
        needs = {name: sorted(others) for name, others in self.needs.items() if name != "import"}
        command = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        known = {"commit": commit.stdout.strip(), "seconds": self.seconds, "needs": needs}
        text = json.dumps(known)
        Path(f"{self.path}.json").write_text(text, "utf-8")


class Cover:
    """The map, read: for each module, which tests run which of its lines.

    Parameters
    ----------
    paths : list of Path
        What the plugin wrote; the module may have changed since.
    """

    def __init__(self, paths: list[Path]) -> None:
        self._files = []
        self._lines: dict[str, dict[int, set[str]]] = {}
        self.seconds: dict[str, float] = {}
        self._sizes: Counter[str] = Counter()
        for path in paths:
            known = json.loads(Path(f"{path}.json").read_text("utf-8"))
            self.seconds |= known["seconds"]
            file, users = sqlite3.connect(path), _users(known)
            for context, bits in file.execute(
                "select context, sum(length(numbits)) from line_bits "
                "join context on context.id = context_id group by context"
            ):
                self._sizes.update(dict.fromkeys(users[context], bits))
            self._files.append((file, users, known["commit"]))

    def size(self, test: str) -> int:
        """Return about how much of the project a test runs."""
        return self._sizes[test]

    def lines(self, module: str) -> dict[int, set[str]]:
        """Return the tests by line of a module as it stands now; its path is from the root."""
        if module not in self._lines:
            self._lines[module] = self._read(module)
        return self._lines[module]

    def _read(self, module: str) -> dict[int, set[str]]:
        tests: dict[int, set[str]] = defaultdict(set)
        for file, users, commit in self._files:
            now = _moved_lines(module, commit)
            for context, bits in file.execute(
                "select context, numbits from line_bits join file on file.id = file_id "
                "join context on context.id = context_id where path like ?",
                (f"%/{module}",),
            ):
                for line in _numbers(bits):
                    if line in now:
                        tests[now[line]] |= users[context]
        return tests


def _numbers(bits: bytes) -> Iterator[int]:
    for position, byte in enumerate(bits):
        yield from (8 * position + bit for bit in range(8) if byte >> bit & 1)


def _moved_lines(module: str, commit: str) -> dict[int, int]:
    """Return where the lines of a module are today that it had when the map was made."""
    command = ["git", "show", f"{commit}:{module}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    then, today = shown.stdout.splitlines(), (ROOT / module).read_text("utf-8").splitlines()
    return {
        block.a + offset + 1: block.b + offset + 1
        for block in difflib.SequenceMatcher(a=then, b=today, autojunk=False).get_matching_blocks()
        for offset in range(block.size)
    }


def _users(known: dict) -> dict[str, set[str]]:
    """Return the tests that need a test, a shared fixture or a cached function."""
    users: dict[str, set[str]] = defaultdict(set)
    for test in known["seconds"]:
        waiting = [test]
        while waiting:
            name = waiting.pop()
            if test not in users[name]:
                users[name].add(test)
                waiting += known["needs"].get(name, [])
    return users


if "COVERING" in os.environ:
    recorder = Recorder(os.environ["COVERING"])
    recorder.patch_caches()
    recorder.coverage.start()
    recorder.coverage.switch_context("import")


def pytest_configure(config):
    """Register the recorder, which has begun already: imports are recorded as well."""
    if "COVERING" in os.environ:
        config.pluginmanager.register(recorder, "recorder")
