"""Directions: the covariance of choice vectors, every order of actions, and the best candidate."""

import numpy as np
import pytest

from coherence.statistics.directions import best_fit, choice_vectors, orders


def test_covariance_of_choice_vectors_is_multinomial_for_single_rows():
    rng = np.random.default_rng(2)
    bins, action = np.repeat([0, 1], 5000), rng.choice(3, p=[0.2, 0.3, 0.5], size=10_000)
    scan, rows = choice_vectors(bins, action, np.arange(10_000), 99, rng)
    share = scan.share[0]
    assert scan.covariance[0, :, 0, :] == pytest.approx(
        (np.diag(share) - np.outer(share, share)) / rows[0], rel=1e-3, abs=1e-12
    )
    assert np.abs(scan.covariance[0, :, 1, :]).max() < 1e-12


def test_every_order_has_a_chain_of_sets():
    sets, ranks, steps = orders(3)
    assert len(ranks) == 6
    for rank, step in zip(ranks, steps, strict=True):
        assert [sets[position].tolist() for position in step] == [
            (rank >= 1).tolist(),
            (rank >= 2).tolist(),
        ]


@pytest.mark.parametrize("rule", ["dominance", "direction"])
def test_the_direction_in_which_shares_rise_is_found(rule):
    """From a to b to c as the bin rises: b lies between them, and no share falls along a, b, c."""
    bins = np.repeat([0, 1, 2], 60)
    action = np.concatenate(
        [np.repeat([0, 1], [50, 10]), np.repeat([0, 1, 2], 20), np.repeat([1, 2], [10, 50])]
    )
    scan, _ = choice_vectors(bins, action, np.arange(180), 199, np.random.default_rng(0))
    best, direction, n_candidates = best_fit(scan, rule)
    assert direction[0] < direction[1] < direction[2]
    assert np.ptp(direction) == pytest.approx(1)
    assert best.largest < 0
    assert best.low <= best.largest <= best.high
    assert n_candidates == 6 if rule == "dominance" else n_candidates > 100
