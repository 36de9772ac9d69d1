import numpy as np
import pytest
from scipy.stats import binomtest

from bayesnets.cases.design import (
    inclusion_probabilities,
    systematic_sample,
)


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
