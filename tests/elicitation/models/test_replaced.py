"""What of other packages is replaced: nothing that is private there, and no class of theirs."""

import ast
from pathlib import Path

import elicitation

ROOT = Path(elicitation.__file__).parent


def _foreign_stores(path):
    """Names of private attributes, classes and functions that a module sets on others' objects."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            ours = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if node.attr.startswith("_") and not ours:
                yield node.attr
    for line in path.read_text(encoding="utf-8").splitlines():
        if "ignore[method-assign]" in line:
            yield line.partition(" =")[0].rpartition(".")[2]


def test_nothing_private_of_another_package_is_replaced():
    """Breaks with what may move with any version of theirs."""
    assert [path for path in ROOT.rglob("*.py") if any(_foreign_stores(path))] == []
