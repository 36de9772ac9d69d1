"""Equilibria: closed forms, and nobody gains by leaving one."""

import numpy as np
import pytest

from coherence import mixed_equilibrium


def test_equilibria_of_textbooks():
    assert mixed_equilibrium([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]) == (0.5, 0.5)
    # Battle of the sexes: (2, 1) and (1, 2); each plays the favourite two times in three.
    assert mixed_equilibrium([[2, 0], [0, 1]], [[1, 0], [0, 2]]) == pytest.approx((2 / 3, 1 / 3))


@pytest.mark.parametrize("seed", range(5))
def test_nobody_gains_by_leaving_an_equilibrium(seed):
    rng = np.random.default_rng(seed)
    row = rng.random((2, 2)) + 2 * np.eye(2)
    column = rng.random((2, 2)) - 2 * np.eye(2)
    x, y = mixed_equilibrium(row, column)
    np.testing.assert_allclose(*(row @ [y, 1 - y]))
    np.testing.assert_allclose(*([x, 1 - x] @ column))
