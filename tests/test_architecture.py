"""Dependencies point one way, and importing the core stays light."""

import ast
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("coherence", "bayesnets", "elicitation")
FORBIDDEN = {
    "coherence": lambda module, name: (
        name.split(".")[0] in ("bayesnets", "elicitation")
        and not module.startswith("coherence/cli/")
    ),
    "bayesnets": lambda module, name: (
        name.startswith("elicitation")
        or (name.startswith("coherence") and not name.startswith("coherence.errors"))
    ),
    "elicitation": lambda module, name: (
        name.startswith("coherence")
        and name.split(".")[1:2] not in (["schema"], ["storage"], ["errors"], ["agents"])
    ),
}
HOMES = {
    "matplotlib": ("coherence/report/*plots.py", "bayesnets/pictures/drawing.py"),
    "catboost": ("coherence/checks/predictive.py",),
    "torch": ("elicitation/*",),
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules():
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    module = path.relative_to(ROOT).as_posix()
    wrong = [name for name in imported(path) if FORBIDDEN[module.split("/")[0]](module, name)]
    assert wrong == []
    for library, home in HOMES.items():
        if any(name.split(".")[0] == library for name in imported(path)):
            assert any(fnmatch(module, pattern) for pattern in home)


def test_modules_stay_small():
    assert [
        path.name for path in modules() if len(path.read_text(encoding="utf-8").splitlines()) > 400
    ] == []


def test_importing_the_core_loads_nothing_heavy():
    code = (
        "import sys, coherence; coherence.analyze; coherence.simulate; "
        "print([m for m in ('torch', 'catboost', 'matplotlib', 'pgmpy', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists():
    import coherence

    for name in coherence.__all__:
        assert getattr(coherence, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = coherence.nothing
    assert callable(coherence.analyze)
