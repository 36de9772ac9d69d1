"""Other packages: breaks if a missing one is not named, or if what is private there is replaced."""

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
