"""At which chance of winning a bet becomes worth taking, for any stake and odds.

The bets of Tang and Kejriwal have even chances and pay nothing beyond the thing and the stake. Here
the side that is bet on may also pay `payout` per unit of stake; then the losing side can be worth
betting on too, and the choice of largest gain passes from it, or from not betting, to the winning
side at one chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats, require


def break_even_chance(prize: ArrayLike, stake: ArrayLike, *, payout: ArrayLike = 0.0) -> Floats:
    """Return the chance of the winning side at which a bet on it gains nothing."""
    # p (H + b X) - (1 - p) X = 0, solved for p.
    prize, stake, payout = (np.asarray(value, dtype=np.float64) for value in (prize, stake, payout))
    return np.asarray(stake / (prize + (1 + payout) * stake))


def switching_chance(
    prize: ArrayLike, loss: ArrayLike, stake: ArrayLike, *, payout: ArrayLike = 0.0
) -> Floats:
    """Return the chance of the winning side above which a bet on it is the best choice.

    All gains are linear in the chance p, and at p = 1 the winning side gains the most. So it is
    best above the larger of two chances: where its gain is 0, and where it equals that of the
    losing side, ``((1 + b) X - L) / (H + 2 (1 + b) X - L)`` with prize H, loss L, stake X and
    payout b. The second exists only where the losing side returns more than it loses, (1 + b) X >
    L; elsewhere the winning side is ahead of it at every chance.
    """
    prize, loss, stake, payout = (
        np.asarray(value, dtype=np.float64) for value in (prize, loss, stake, payout)
    )
    require(bool((stake > 0).all()), "stake must be positive for a chance at which choices switch.")
    returned = (1 + payout) * stake
    # No chance makes the sides equal where the losing one returns less than it loses: then 0.
    ahead = np.maximum(returned - loss, 0)
    sides_equal = ahead / (prize + returned + ahead)
    return np.maximum(break_even_chance(prize, stake, payout=payout), sides_equal)
