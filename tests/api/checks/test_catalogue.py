"""The one list of checks: declarations, the command, and what they need."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from coherence import analyze, simulate
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration, declarations, interpretation_of
from coherence.runs.needs import EVIDENCE

ROOT = Path(__file__).parents[3]


def test_every_line_names_the_check_that_its_module_declares():
    assert [declaration(name).name for name in CHECKS] == list(CHECKS)
    names = [check.name for check in declarations()]
    assert len(set(names)) == len(names)
    files = (ROOT / "coherence" / "checks").glob("*.py")
    declaring = {path.stem for path in files if "\nCHECK = Check(" in path.read_text()}
    parts = {"forest_baseline"}
    assert declaring == set(CHECKS.values()) | parts, "a check that no line of the list names"


def test_every_check_needs_evidence_and_every_kind_of_evidence_has_a_check():
    """Else a table would be refused, or accepted, that a check could use, or none could."""
    assert {check.needs for check in declarations()} == set(EVIDENCE)


def test_no_name_of_a_check_decides_anything_outside_of_checks():
    """What depends on which check it is, the check declares; else a new one touches many files."""
    # Words for other things too.
    free = {"scores", "calibration", "threshold", "matching", "stakes"}
    found = []
    for path in (ROOT / "coherence").rglob("*.py"):
        if {"checks", "paper"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            parts += [*node.keys] if isinstance(node, ast.Dict) else []
            parts += [node.slice] if isinstance(node, ast.Subscript) else []
            inside = [each for part in parts if part for each in ast.walk(part)]
            words = {str(each.value) for each in inside if isinstance(each, ast.Constant)}
            found += [(path.name, w) for w in words if w.split(":")[0] in CHECKS and w not in free]
    assert found == []


def test_tests_say_both_outcomes_and_everything_says_something():
    for check in declarations():
        for sentences in check.sentences.values():
            assert bool(sentences.rejected) == bool(sentences.nominal)
            assert sentences.rejected or sentences.estimate or sentences.words


def test_the_command_lists_them_without_loading_them():
    code = (
        "import sys; from coherence.cli.main import main; main(['analyze', '--help']); "
        "sys.stderr.write(str([m for m in sys.modules if m.startswith('scipy')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert ", ".join(CHECKS) in " ".join(done.stdout.split())
    assert done.stderr.strip() == "[]"


@pytest.mark.lengthy
def test_every_result_of_an_analysis_is_declared():
    runs = simulate("noisy", n_contexts=20, n_reps=2, rng=0)
    checks = [name for name in CHECKS if name != "predictive_gain"]
    for published in (False, True):
        for name in analyze(runs, checks=checks, published=published, rng=0).results["check"]:
            assert interpretation_of(name)
