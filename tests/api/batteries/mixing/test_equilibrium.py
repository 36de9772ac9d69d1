"""Equilibria: closed forms, and nobody gains by leaving one."""

import pytest

from coherence import mixed_equilibrium


def test_equilibria_of_textbooks():
    assert mixed_equilibrium([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]) == (0.5, 0.5)
    # Battle of the sexes: (2, 1) and (1, 2); each plays the favourite two times in three.
    assert mixed_equilibrium([[2, 0], [0, 1]], [[1, 0], [0, 2]]) == pytest.approx((2 / 3, 1 / 3))
