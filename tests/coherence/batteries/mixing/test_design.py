"""The conditions of the battery."""

import numpy as np

from coherence.batteries.mixing.design import (
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
