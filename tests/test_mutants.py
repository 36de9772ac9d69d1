"""The changes that are made of a module, and those that never are."""

import ast
import os
import subprocess
import sys
from pathlib import Path

from mutation.mutants import sample_mutants

ROOT = Path(__file__).parents[1]


def changes(source):
    return {
        (mutant.operator, mutant.before, mutant.after)
        for mutant in sample_mutants(source, 10**6, "1")
    }


EXPECTED = {
    "a < b": {("comparison", "a < b", "a <= b")},
    "a == b": {("comparison", "a == b", "a != b")},
    "a // b": {("arithmetic", "a // b", "a / b")},
    "a & b": {("arithmetic", "a & b", "a | b")},
    "a += b": {("assignment", "a += b", "a = b"), ("arithmetic", "a += b", "a -= b")},
    "a[4]": {("off by one", "4", "5"), ("off by one", "4", "3")},
    "f(2000)": {("constant", "2000", "4000")},
    "f(1e-9)": {("constant", "1e-09", "0.0")},
    "f(0.0)": {("constant", "0.0", "1.0")},
    "f(True)": {("constant", "True", "False")},
    "a and b": {("boolean", "a and b", "a or b")},
    "not a": {("boolean", "not a", "a")},
    "f(a, b=c)": {("argument removed", "f(a, b=c)", "f(a)")},
    "a if b else c": {("condition", "a if b else c", "a if not b else c")},
    "while a:\n    b": {("condition", "while a:", "while not a:")},
    "def f():\n    return a": {("return", "return a", "return None")},
}


# What breaks no promise is not changed.
UNCHANGED = (
    '"""Text of 3 lines."""',
    "a: Tuple[3] = b",
    "def f(a: int | None) -> G[3]: ...",
    '__all__ = ["a"] + b',
    'raise InputError(f"{a + 1} of {b}")',
    'require(a, f"{b + 1} rows")',
    "@cache(maxsize=3)\ndef f(): ...",
    "zip(a, b, strict=True).f(n_jobs=c)",
    "return_nothing = lambda: None",
    "from ..a import b",
)
EXPECTED |= {source: set() for source in UNCHANGED}


def test_every_kind_of_change():
    assert {source: changes(source) for source in EXPECTED} == EXPECTED
    # Margins for rounding have no edge.
    assert not {kind for kind, *_ in changes("abs(a) < 1e-12")} & {"comparison"}


def test_equal_seeds_draw_equal_mutants_and_an_edit_elsewhere_leaves_them():
    source = "\n".join(f"a{number} = {number} + b" for number in range(50))
    drawn = [sample_mutants(source, 10, seed) for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 10
    after = sample_mutants(f"c = d * e\n{source}", 10, "1")
    changed = {mutant.before for mutant in drawn[0]} ^ {mutant.before for mutant in after}
    assert len(changed) <= 2


def test_a_mutant_differs_in_one_place_and_its_line_is_told():
    source = "a = b + c\n\n\ndef f(x):\n    return x < 2\n"
    mutants = sample_mutants(source, 10**6, "1")
    assert len({mutant.source for mutant in mutants}) == len(mutants) == 5
    for mutant in mutants:
        before, after = (ast.unparse(ast.parse(text)) for text in (source, mutant.source))
        lines = zip(before.splitlines(), after.splitlines(), strict=True)
        assert sum(first != second for first, second in lines) == 1
    assert [mutant.line for mutant in mutants] == [1, 5, 5, 5, 5]


IN_FORCE = """
from dataclasses import replace
from pathlib import Path

from mutation.mutants import sample_mutants
from mutation.run import Functions, enclosing

from coherence.statistics import multiplicity

module = "coherence/statistics/multiplicity.py"
source = Path(module).read_text(encoding="utf-8")
mutants = sample_mutants(source, 10**6, "1")
(mutant,) = (m for m in mutants if m.before == "return _adjusted(pvalues, _step_down)")
assert enclosing(source, mutant.line)[1], "within a function"
before = multiplicity.holm  # held here, as by other modules
functions = Functions([module])
functions.change(module, source, mutant)
print(before([0.01, 0.2]))
functions.change(module, source, replace(mutant, source=source))
print(before([0.01, 0.2]))
"""


def test_a_mutant_is_in_force_wherever_its_function_is_held():
    """In a Python of its own: other tests import modules anew."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])}
    command = [sys.executable, "-c", IN_FORCE]
    printed = subprocess.check_output(command, cwd=ROOT, env=env, text=True)
    assert printed.splitlines() == ["None", "[0.02 0.2 ]"]
