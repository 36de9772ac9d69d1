"""CONTRIBUTING.md as written: its examples are added to a copy of the tree, and tested there.

Breaks if a page of the guide no longer fits the code: a list that moved, a rule that changed, an
example that fails.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# A section without a block, as that on releasing, has no example.
SECTIONS = {
    part.partition("\n")[0]: part
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    if "```" in part
}
# A file is named in backticks at the end of what stands before its block.
BLOCK = re.compile(r"([^\n]*)\n\n?```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`((?:coherence|bayesnets|elicitation|tests)/[\w./]+\.(?:py|json|toml))`")
MOST_LINES = 60


def applied(diff: str, tree: Path) -> None:
    """Apply the little diffs of the page: lines to replace, or to add after one that stays."""
    for change in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
        name, _, lines = change.partition("\n")
        path = tree / name
        text = path.read_text(encoding="utf-8")
        # A hunk finds its kept and removed lines, and leaves its kept and added ones.
        for hunk in re.split(r"^@@\n", lines, flags=re.MULTILINE):
            marked = [(line[:1], line[1:]) for line in hunk.splitlines()]
            before, after = (
                "".join(f"{line}\n" for mark, line in marked if mark in marks)
                for marks in (" -", " +")
            )
            assert text.count(before) == 1, f"{name} has no single {before!r}"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


def files_of(section: str) -> dict[str, str]:
    """Return the files that a section gives whole; each is named right before its block."""
    named: dict[str, str] = {}
    position = 0
    for block in BLOCK.finditer(section):
        before = section[position : block.start(2)]
        position = block.end()
        if block[2] in ("python", "json", "toml"):
            named[FILE.findall(before)[-1]] = block[3]
    return named


@pytest.fixture
def tree(tmp_path):
    """Return a copy of what the examples change."""
    for folder in ("coherence", "bayesnets", "elicitation", "docs", "tests"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def added(section, tree):
    """Write the files of a section, and apply its diffs."""
    for name, text in files_of(section).items():
        assert not (tree / name).exists(), f"{name} is there already"
        (tree / name).write_text(text, encoding="utf-8")
    for block in BLOCK.finditer(section):
        if block[2] == "diff":
            applied(block[3], tree)


def python(words, tree):
    # Workers of a few tests take longer than the tests.
    own = {"PYTHONPATH": str(tree), "HF_HUB_OFFLINE": "1", "PYTEST_ADDOPTS": "-n 0"}
    command, caught = [sys.executable, *words], {"capture_output": True, "text": True}
    done = subprocess.run(command, cwd=tree, env={**os.environ, **own}, timeout=300, **caught)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.slow if at else pytest.mark.lengthy)
        for at, title in enumerate(SECTIONS)
    ],
)
def test_the_example_can_be_added_as_written(title, tree):
    section = SECTIONS[title]
    assert sum(bool(line.strip()) for line in section.splitlines()) < MOST_LINES
    added(section, tree)
    blocks = [block[3] for block in BLOCK.finditer(section) if block[2] == "bash"]
    commands = "".join(blocks).splitlines()
    assert any("pytest" in command for command in commands)
    for command in commands:
        program, *words = shlex.split(command)
        python(words if program == "python" else ["-m", "coherence", *words], tree)


@pytest.mark.slow
def test_the_examples_follow_the_rules_of_the_house(tree):
    """All together: types, style and the order of the house hold."""
    for section in SECTIONS.values():
        added(section, tree)
        for name, text in files_of(section).items():
            assert not name.endswith(".py") or max(map(len, text.splitlines())) <= 100, name
    python(["-m", "pytest", "-q", "tests/test_architecture.py"], tree)
