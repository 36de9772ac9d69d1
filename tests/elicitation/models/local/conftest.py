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
    start = rng.integers(3, SIZE, 20).tolist()
    texts = [rng.integers(3, SIZE, n).tolist() for n in (1, 9, 30, 4)] + [
        [*start, 7],
        [*start, 8, 9],
    ]
    stems = [rng.integers(3, SIZE, n).tolist() for n in (1, 2, 3)]
    continuations = [
        [stem + rng.integers(3, SIZE, n).tolist() for stem in stems for n in (0, 1, 3)]
        + [stems[2], [], [5]]
        for _ in texts
    ]
    continuations[3] = [[4]]
    return texts, continuations
