"""What tests of checks share: the plan that a check makes of a table."""

import pytest

from coherence.analysis.unit import UnitRows


@pytest.fixture(scope="session")
def planned():
    """Notes and calls of a check for the one unit of a runs table."""

    def plan(check, runs, *, published=False):
        steps = list(check.plan(UnitRows(runs).facts(check.needs, published)))
        notes = [step for step in steps if isinstance(step, str)]
        return notes, [step for step in steps if not isinstance(step, str)]

    return plan
