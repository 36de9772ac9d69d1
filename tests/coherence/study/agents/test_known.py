"""The agents that come with the toolkit give valid tables."""

import pytest

from coherence import AGENTS, simulate, validate_runs


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_gives_a_valid_table(name):
    runs = simulate(name, n_contexts=12, n_reps=3, rng=0)
    validate_runs(runs)
    assert len(runs) == 12 * 3 * (4 + 2)
    assert runs["action"].notna().sum() == 36
    assert AGENTS[name].description.endswith(".")
