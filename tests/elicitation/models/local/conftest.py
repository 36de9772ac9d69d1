"""Texts and continuations that every way of scoring must agree on."""

import numpy as np
import pytest

from .tiny_networks import SIZE


@pytest.fixture(scope="module")
def requests():
    """Texts of very different length, two of them with a long beginning in common.

    Their continuations share beginnings, repeat, or are empty.
    """
    rng = np.random.default_rng(0)

    def drawn(n):
        return rng.integers(3, SIZE, n).tolist()

    start = drawn(20)
    texts = [*map(drawn, (1, 9, 30, 4)), [*start, 7], [*start, 8, 9]]
    stems = [drawn(n) for n in (1, 2, 3)]
    more = [stems[2], [], [5]]
    continuations = [[stem + drawn(n) for stem in stems for n in (0, 1, 3)] + more for _ in texts]
    continuations[3] = [[4]]
    return texts, continuations
