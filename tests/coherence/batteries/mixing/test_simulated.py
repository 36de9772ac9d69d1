"""Simulated agents: their exact scores."""

import pytest

from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import MIXING_AGENTS, expected_answers


def test_exact_rates_of_the_agents():
    """The perfect agent reaches the ceiling of exact rates, which is 99.52 for the extended ends;
    corrected, equilibria count.
    """
    totals = {
        name: score_mixing(expected_answers(name), n_resamples=100, rng=0).experiments.iloc[-1]
        for name in MIXING_AGENTS
    }
    assert totals["literal"]["published"] == pytest.approx(totals["literal"]["ceiling"], abs=1e-9)
    assert totals["literal"]["ceiling"] == pytest.approx(99.52, abs=1e-9)
    assert totals["ideal"]["corrected"] == pytest.approx(100)
    # 0.48 of the literal agent's points lie at the ends, 12 of its points in the games.
    assert totals["literal"]["corrected"] == pytest.approx(88)
    published = {name: totals[name]["published"] for name in ("argmax", "first", "uniform")}
    # argmax: 2 + 2 + 11.852 + (1.6 + 0 + 1.5 + 1.5) + 20; first: 0 + 0 + 6.032 + 4 + 10; uniform: 0
    # + 0 + 16.296 + 4 + 20.
    assert published == pytest.approx(
        {"argmax": 40.452, "first": 20.032, "uniform": 40.296}, abs=5e-4
    )
    assert all(row["low"] == row["high"] == row["corrected"] for row in totals.values())
