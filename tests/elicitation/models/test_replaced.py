"""What of other packages is replaced: breaks where a version of theirs has moved it."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
import torch

import elicitation
from elicitation.models.replaced import REPLACED

ROOT = Path(elicitation.__file__).parent
# Their parameters, as the code that takes their place is called.
PARAMETERS = {
    "Linear": ["in_features", "out_features", "bias", "device", "dtype"],
}


@pytest.mark.parametrize("replaced", REPLACED, ids=lambda replaced: replaced.name)
def test_what_is_replaced_is_where_it_was(replaced):
    module, _, name = replaced.name.partition(":")
    there = import_module(module)
    for part in name.split("."):
        there = getattr(there, part)
    last = name.rpartition(".")[2]
    if last in PARAMETERS:
        assert list(inspect.signature(there).parameters) == PARAMETERS[last]
    # And still replaced by the module that the list names.
    assert last in Path(import_module(replaced.by).__file__).read_text(encoding="utf-8")


def test_the_op_behind_linear_layers_computes_them():
    op = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if op is None or not torch.backends.mkldnn.is_available():
        pytest.skip("this build of torch has no oneDNN")
    layer, values = torch.nn.Linear(5, 3), torch.randn(2, 5)
    with torch.inference_mode():
        computed = op(values, layer.weight, layer.bias, "none", [], "")
        torch.testing.assert_close(computed, layer(values))


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


def test_nothing_else_is_replaced():
    """Breaks if a private name of another package is replaced that the list does not have."""
    listed = {each.by for each in REPLACED}
    replacing = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for path in ROOT.rglob("*.py")
        if any(_foreign_stores(path))
    }
    assert replacing <= listed, "list it in elicitation/models/replaced.py"
