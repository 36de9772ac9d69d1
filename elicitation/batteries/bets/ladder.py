"""Bets of which the stated chance and the stake vary against each other: ladders.

With a chance p of the winning side, a thing of value H and a stake X, the bet on it gains p H -
(1 - p) X; it breaks even at p = X / (H + X). Whoever bets up to some stake and no further thereby
shows a probability. With a payout the other side may be worth a bet too, and the break-even chance
is the one above which the winning side gains most, see
``coherence.batteries.bets.truths.switching_chance``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coherence.errors import InputError
from elicitation.batteries.bets.items import Items, default_items, require_items
from elicitation.batteries.bets.rows import (
    MODALITIES,
    bet_row,
    check_chances,
    check_names,
    check_payout,
    in_cents,
    mark_departures,
    number_rows,
)

CHANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BREAK_EVENS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
"""Between the stated chances, so that no bet is worth neither taking nor leaving."""


def ladder_questions(
    items: Items,
    *,
    split: str = "test",
    modalities: Sequence[str] = ("coin",),
    chances: Sequence[float] = CHANCES,
    break_evens: Sequence[float] = BREAK_EVENS,
    payout: float = 0.0,
) -> pd.DataFrame:
    """Make ladders, so that the chance acted on can be read off the choices.

    The i-th high thing meets the i-th low one, so that no two pairs share a thing.

    Parameters
    ----------
    items : Items
        The things.
    split : str
        "train", "dev" or "test".
    modalities : sequence of str
        Keys of `MODALITIES`.
    chances : sequence of float
        Stated chances of the winning side, in (0, 1).
    break_evens : sequence of float
        Chances at which the stakes break even, in (0, 1); with a payout below `highest_break_even`.
    payout : float
        As of `bet_questions`.

    Returns
    -------
    DataFrame
        As from `bet_questions`, all with the high thing to be won and with the amounts stated, and
        the column ``break_even``; stakes are rounded to cents and break-even chances computed from
        what was rounded.

    Raises
    ------
    InputError
        As of `bet_questions`; or no stake breaks even at a chance.

    Examples
    --------
    >>> from elicitation.batteries.bets.items import default_items
    >>> questions = ladder_questions(default_items(), chances=[0.5])
    >>> questions["chance"].unique().tolist()
    [0.5]
    """
    require_items(items)
    check_names("modalities", modalities, MODALITIES)
    check_payout(payout)
    check_chances("chances", chances)
    check_chances("break_evens", break_evens)
    highest = highest_break_even(payout)
    beyond = [even for even in break_evens if even >= highest]
    if beyond:
        raise InputError(
            f"break_evens must be below {highest:.4g} with a payout of {payout:g}, for no stake "
            f"breaks even at more; received {beyond[0]}."
        )
    items.pairs(split)  # raises for a split without things, or with prices in the wrong order
    rows = _ladder(items, split, modalities, chances, break_evens, payout)
    plain = _ladder(default_items(), split, modalities, CHANCES, BREAK_EVENS, 0.0)
    return pd.DataFrame(mark_departures(rows, plain))


def highest_break_even(payout: float) -> float:
    """Return the limit of the break-even chances of a ladder: 1 without a payout, else less."""
    return max(1 / (1 + payout), 0.5)


def _ladder(
    items: Items,
    split: str,
    modalities: Sequence[str],
    chances: Sequence[float],
    break_evens: Sequence[float],
    payout: float,
) -> list[dict[str, object]]:
    steps = [
        (name, high, low, chance, even)
        for name in modalities
        for high, low in zip(items.of("high", split), items.of("low", split), strict=False)
        for chance in chances
        for even in break_evens
    ]
    rows = []
    for name, high, low, chance, even in steps:
        # No bet is free; what is rounded is what the question says, so the chance follows it.
        stake = max(round(_stake_at(even, high.price, low.price, payout), 2), 0.01)
        paid = in_cents(payout, stake)
        exact = {
            "kind": "ladder",
            "break_even": _break_even(high.price, low.price, stake, paid),
        }
        rows += [
            bet_row(name, split, high, low, "high", first, chance, stake, paid, True) | exact
            for first in ("win", "lose")
        ]
    return number_rows(rows)


def _break_even(prize: float, loss: float, stake: float, payout: float) -> float:
    """Return the chance above which the winning side gains most."""
    # The first is where it gains nothing, the second where the other side gains as much; without a
    # payout the second is below the first.
    returned = (1 + payout) * stake
    return max(stake / (prize + returned), (returned - loss) / (prize + 2 * returned - loss))


def _stake_at(even: float, prize: float, loss: float, payout: float) -> float:
    """Return the stake at which a chance is that of `_break_even`."""
    # Each part of `_break_even`, solved for the stake; it grows with the stake in both, so that the
    # smaller solution is where the larger part gets there.
    left = 1 - even * (1 + payout)
    against_none = even * prize / left if left > 0 else np.inf
    against_other = (
        (even * prize + (1 - even) * loss) / ((1 + payout) * (1 - 2 * even))
        if even < 0.5
        else np.inf
    )
    return float(min(against_none, against_other))
