"""Which module may import which: breaks if elicitation reaches into the analysis core, or if torch spreads."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = (
    "coherence.table.schema",
    "coherence.table.storage",
    "coherence.errors",
    "coherence.agents",
)
HEAVY = {"torch", "transformers", "tokenizers", "safetensors"}


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def test_directions():
    files = sorted((ROOT / "elicitation").rglob("*.py"))
    assert len(files) > 8
    for path in files:
        for name in _imports(path):
            assert not name.startswith("coherence") or name in ALLOWED, f"{path} imports {name}"
            if name.split(".")[0] in HEAVY:
                folder = path.relative_to(ROOT / "elicitation").parts[0]
                assert folder in ("models", "organisms", "finetuning.py"), f"{path} imports {name}"


def test_the_command_line_and_the_session_load_no_torch():
    code = "import sys, elicitation.commands.elicit, elicitation, elicitation.session.session; print(sorted({'torch', 'transformers', 'pgmpy'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_public_names_resolve():
    import elicitation

    for name in elicitation.__all__:
        assert getattr(elicitation, name) is not None
    assert set(elicitation.__all__) <= set(dir(elicitation))
