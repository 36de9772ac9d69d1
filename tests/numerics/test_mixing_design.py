"""The conditions of the battery."""

import numpy as np
import pytest

from coherence.batteries.mixing.design import (
    EXPERIMENTS,
    PARTS,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)


def test_design():
    """98 conditions; faultless rates are probabilities; the equilibrium is the best rate in games
    and p elsewhere.
    """
    assert (
        sum(len(part.probabilities) for part in PARTS.values() if part.name != "words") + 22 == 98
    )
    for name, part in PARTS.items():
        p = np.array(part.probabilities)
        shares = literal_shares(name, p)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares >= -1e-12).all()
        np.testing.assert_allclose(
            optimal_rates(name, p), 1 - p if name in ("pennies", "positioning") else p
        )
        np.testing.assert_allclose(
            equilibrium_shares(name, p),
            shares[:, ::-1] if name in ("pennies", "positioning") else shares,
            atol=1e-12,
        )


@pytest.mark.parametrize(
    ("name", "experiment", "outcomes", "probabilities"),
    [
        ("flip", 1, 2, np.arange(21) / 20),
        ("two_flips", 2, 4, np.arange(21) / 20),
        ("three_outcomes", 3, 3, np.arange(6, -1, -1) / 10),
        ("reads", 4, 2, np.arange(1, 10) / 10),
        ("pennies", 4, 2, np.arange(1, 10) / 10),
        ("positioning", 4, 2, np.arange(1, 10) / 10),
        ("words", 5, 2, [0.5]),
    ],
)
def test_conditions_are_the_published_ones(name, experiment, outcomes, probabilities):
    part = PARTS[name]
    assert (part.name, part.number, len(part.outcomes)) == (name, experiment, outcomes)
    np.testing.assert_allclose(part.probabilities, probabilities)
    assert part.number in EXPERIMENTS


def test_rates_of_the_outcomes_by_hand():
    p = np.array([0.2, 0.6])
    # 00, 01, 10 and 11, each flip by itself.
    flips = [[0.64, 0.16, 0.16, 0.04], [0.16, 0.24, 0.24, 0.36]]
    np.testing.assert_allclose(literal_shares("two_flips", p), flips)
    three = [[0.2, 0.4, 0.4], [0.6, 0.4, 0.0]]
    np.testing.assert_allclose(literal_shares("three_outcomes", p), three, atol=1e-12)
    np.testing.assert_allclose(literal_shares("flip", p), [[0.2, 0.8], [0.6, 0.4]])
    best = optimal_rates("flip", p)
    best[0] = 1.0  # a copy: the conditions stay what they are
    assert p[0] == 0.2
