"""At which chance of winning a bet becomes worth taking, for any stake and odds.

The bets of Tang and Kejriwal have even chances and pay nothing beyond the thing and the stake. Here the side that is bet on may also pay `payout` per
unit of stake; then the losing side can be worth betting on too, and the choice of largest gain passes from it, or from not betting, to the winning
side at one chance.
"""

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats, require


def break_even_chance(prize: ArrayLike, stake: ArrayLike, *, payout: ArrayLike = 0.0) -> Floats:
    """Return the chance of the winning side at which a bet on it gains nothing, under the rule "side".

    Parameters
    ----------
    prize, stake, payout : array-like
        As of `expected_gains`.

    Returns
    -------
    ndarray
        ``stake / (prize + (1 + payout) stake)``; whoever maximises expected gain, and may not bet on the other side, bets if the chance is larger.

    Examples
    --------
    >>> break_even_chance([100.0, 100.0], [20.0, 100.0]).round(4).tolist()
    [0.1667, 0.5]
    """
    prize, stake, payout = (np.asarray(value, dtype=np.float64) for value in (prize, stake, payout))
    return np.asarray(stake / (prize + (1 + payout) * stake))


def switching_chance(prize: ArrayLike, loss: ArrayLike, stake: ArrayLike, *, payout: ArrayLike = 0.0) -> Floats:
    """Return the chance of the winning side above which a bet on it gains more than a bet on the losing side, and more than none.

    Parameters
    ----------
    prize, loss, stake, payout : array-like
        As of `expected_gains`, under the rule "side"; stakes must be positive.

    Returns
    -------
    ndarray
        In (0, 1). Without a payout it is the break-even chance.

    Notes
    -----
    All gains are linear in the chance p, and the gain of the winning side grows faster than the others, so it is best above the larger of two
    chances: where it equals 0, and where it equals the gain of the losing side, ``((1 + b) X - L) / (H + 2 (1 + b) X - L)`` with prize H,
    loss L, stake X and payout b.

    Examples
    --------
    >>> switching_chance(100, 1, [20, 100]).round(4).tolist()
    [0.1667, 0.5]
    >>> switching_chance(100, 1, 20, payout=4).round(4).tolist()  # bet on the losing side below, for 80 on top of the stake
    0.3311
    """
    prize, loss, stake, payout = (np.asarray(value, dtype=np.float64) for value in (prize, loss, stake, payout))
    require(bool((stake > 0).all()), "stake must be positive for a chance at which choices switch.")
    returned = (1 + payout) * stake
    sides_equal = (returned - loss) / (prize + 2 * returned - loss)
    return np.maximum(break_even_chance(prize, stake, payout=payout), sides_equal)
