import os
import sys

import pytest
from hypothesis import settings

# The same examples everywhere, so that a failure can be run again.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def no_figures_left_open():
    """Close what a test has drawn: pyplot warns of many, and a warning fails the next test."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def run(capsys):
    """Run a command: its exit status, its output and what it said besides."""
    from coherence.cli.main import main

    def called(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return called


@pytest.fixture(scope="session")
def smollm2_folder():
    """Return the folder of the real public model: that of SMOLLM2, or one that is fetched once."""
    from pathlib import Path

    from coherence import CoherenceError
    from elicitation.models.fetch import fetch_model

    named = os.environ.get("SMOLLM2")
    if named:
        assert (Path(named) / "config.json").is_file(), f"SMOLLM2 names no model folder: {named}"
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "belief-coherence" / "smollm2"
    if (folder / "config.json").is_file():
        return folder
    try:
        fetch_model("smollm2", folder)
    except CoherenceError as error:
        pytest.skip(f"the public model cannot be had: {error}")
    return folder
