import numpy as np
import pytest
from scipy.stats import binomtest

from bayesnets.cases.design import (
    even_allocation,
    inclusion_probabilities,
    systematic_sample,
)


@pytest.mark.parametrize("seed", range(20))
def test_allocation_is_as_even_as_capacity_allows(seed):
    rng = np.random.default_rng(seed)
    capacity = rng.integers(0, 15, size=20)
    n = int(rng.integers(0, capacity.sum() + 1))
    filled = even_allocation(n, capacity, rng)
    assert filled.sum() == n
    assert (filled <= capacity).all()
    below = filled[filled < capacity]
    if below.size:
        assert below.max() - below.min() <= 1
        assert filled.max() <= below.min() + 1


def test_inclusion_frequencies_are_the_stated_probabilities():
    rng = np.random.default_rng(5)
    size = np.array([40.0, 9.0, 7.0, 3.0, 2.0, 1.0, 0.5, 1e-6])
    probabilities = inclusion_probabilities(size, 4)
    assert probabilities.sum() == pytest.approx(4)
    assert probabilities[0] == 1
    open_ones = probabilities < 1
    assert np.ptp(probabilities[open_ones] / size[open_ones]) == pytest.approx(0, abs=1e-12)
    counts = np.zeros(len(size), dtype=int)
    for _ in range(4_000):
        drawn = systematic_sample(probabilities, rng)
        assert len(drawn) == len(set(drawn)) == 4
        counts[drawn] += 1
    assert all(
        binomtest(int(count), 4_000, min(p, 1)).pvalue > 1e-4
        for count, p in zip(counts, probabilities, strict=True)
    )


def test_all_units_are_drawn_when_all_are_asked_for():
    probabilities = inclusion_probabilities(np.array([1e-12, 1.0, 1e6]), 3)
    assert sorted(systematic_sample(probabilities, np.random.default_rng(0))) == [0, 1, 2]
