"""Other packages: breaks if a missing one is not named, or if what is private there is replaced."""

import re
import subprocess
import sys
from pathlib import Path

import elicitation

ROOT = Path(elicitation.__file__).parent


def test_the_extra_is_named_where_it_is_missing():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import elicitation.models.local.causal\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent
    )
    assert done.stdout.startswith("MissingExtraError Asking a local model needs"), done.stderr
    assert "elicit" in done.stdout


def test_nothing_private_of_another_package_is_replaced():
    """It may move with any version of theirs; nor is a method of their classes."""
    replaced = re.compile(r"^\s*(?!self\.|cls\.)[\w.\[\]]+\._\w+ = |ignore\[method-assign\]", re.M)
    assert [path for path in ROOT.rglob("*.py") if replaced.search(path.read_text("utf-8"))] == []
