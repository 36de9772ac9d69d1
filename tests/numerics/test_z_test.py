"""The z test of a share: the p-values that the paper prints."""

import math

import pytest

from coherence.batteries.bets.accuracy import z_test


@pytest.mark.parametrize(
    ("share", "n", "chance", "published"),
    [
        (0.52, 25, 1 / 3, 0.0336),
        (0.56, 25, 1 / 3, 0.0126),
        (0.48, 25, 1 / 3, 0.0752),
        (0.44, 25, 1 / 3, 0.1462),
        (0.36, 25, 1 / 3, 0.3927),
        (0.24, 25, 1 / 3, 0.8578),
        (0.43, 100, 1 / 3, 0.0260),
        (0.47, 100, 1 / 3, 0.0032),
        (0.44, 100, 1 / 3, 0.0163),
        (0.35, 100, 1 / 3, 0.3640),
        (0.25, 100, 1 / 3, 0.9722),
        (0.26, 50, 0.25, 0.4366),
        (0.22, 100, 0.25, 0.7644),
        (0.12, 100, 0.125, 0.5608),
    ],
)
def test_z_test_gives_the_published_pvalues(share, n, chance, published):
    assert z_test(round(share * n), n, chance)[1] == pytest.approx(published, abs=6e-5)


def test_z_test_at_the_ends_is_what_the_paper_prints():
    assert z_test(0, 25, 1 / 3) == (-math.inf, 1.0)  # "1.00" in table 9
    assert z_test(25, 25, 1 / 3) == (math.inf, 0.0)  # "<.001"
    assert math.isnan(z_test(25, 25, 1.0)[0])
