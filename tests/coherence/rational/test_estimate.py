"""estimate: the delta method, and ends that stay within the range of the quantity."""

import numpy as np
import pytest
from scipy import stats

from coherence.rational.estimate import ends, reach, with_errors


def test_the_delta_method():
    values = np.random.default_rng(1).normal(2.0, 0.5, 200)
    influence = (values - values.mean())[:, None]
    mean, error = with_errors(np.exp, values.mean(keepdims=True), influence)
    assert mean == pytest.approx(np.exp([values.mean()]))
    assert error == pytest.approx(mean * stats.sem(values), rel=1e-6)


def test_ends_stop_where_the_quantity_does():
    low, high = ends(np.array([0.1, 0.5]), np.array([0.1, 0.1]), 2.0, least=0.0, most=0.6)
    assert low.tolist() == pytest.approx([0.0, 0.3])
    assert high.tolist() == pytest.approx([0.3, 0.6])
    assert reach(101) == pytest.approx(1.98397, abs=1e-5)
