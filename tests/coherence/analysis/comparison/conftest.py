import pandas as pd
import pytest

import coherence
from coherence.analysis.comparison.measured import Answers
from coherence.analysis.reading import complete_columns

SIZE = {"n_contexts": 100, "n_reps": 3, "rng": 3}


def _about(runs: pd.DataFrame) -> Answers:
    """Read one model's table as it is compared."""
    table, _ = complete_columns(runs)
    plain = table[table["z_state"].isna()]
    prompts = tuple(sorted(set(plain["prompt"]) - {"standard"}))
    variables = tuple(table["z"].dropna().unique()) if "z" in table.columns else ()
    return Answers(table, "standard", prompts, variables, None, (0, 1))


@pytest.fixture(scope="session")
def about():
    """Return a function from one model's table to its answers."""
    return _about


@pytest.fixture(scope="session")
def asked():
    """Three agents with different flaws, asked about the same cases."""
    return {name: coherence.simulate(name, **SIZE) for name in ("rational", "heaping", "wordbound")}


@pytest.fixture(scope="session")
def reported(asked):
    """What `analyze` says of each of them, by name of the result."""
    checks = [
        "residual_covariance",
        "rational_agent",
        "calibration",
        "iterated_expectation",
    ]
    return {
        name: coherence.analyze(runs, checks=checks, rng=1).results.set_index("check")
        for name, runs in asked.items()
    }


@pytest.fixture(scope="session")
def compared(asked):
    return coherence.compare(asked, rng=1)
