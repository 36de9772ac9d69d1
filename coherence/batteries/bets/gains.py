"""Expected gains of bets with two sides.

After Tang and Kejriwal, "Can Language Representation Models Think in Bets?", section 4.3.3 and the
appendix. One side of a bet wins a thing (the prize), the other loses one; a choice is to stake
money on the winning side, on the losing side, or not at all.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.batteries.bets.break_even import switching_chance
from coherence.errors import InputError
from coherence.inputs import Floats, as_numbers, require

BetRule = Literal["side", "outcome"]


def expected_gains(
    prize: ArrayLike,
    loss: ArrayLike,
    stake: ArrayLike,
    *,
    chance: ArrayLike = 0.5,
    payout: ArrayLike = 0.0,
    rule: BetRule = "side",
) -> Floats:
    """Return the expected gains of each choice in a bet with two sides.

    Parameters
    ----------
    prize : array-like, shape (n,) or ()
        Value of the thing that is won if the winning side comes up.
    loss : array-like
        Value of the thing that is lost if the other side comes up.
    stake : array-like
        Money put down; it comes back if the side bet on comes up.
    chance : array-like
        Probability of the winning side, in [0, 1].
    payout : array-like
        What is paid on top of a stake that comes back, per unit of it, at least 0; the paper's bets
        have 0.
    rule : {"side", "outcome"}
        "side": a thing changes hands only if the side bet on comes up, as in the tables of the
        paper's appendix. "outcome": whoever bets gets whatever comes up, as its section 4.3.3 says
        at one place.

    Returns
    -------
    ndarray, shape (n, 4)
        Of betting on the winning side, on the losing side, on both with half the stake each, and
        of not betting; in the unit of the values.

    Raises
    ------
    InputError
        A value, stake or payout that is negative or not finite, a chance outside [0, 1], or an
        unknown rule.

    References
    ----------
    Tang and Kejriwal, tables 7 and 8, with H = 100, L = 1 and a stake of 20.

    Examples
    --------
    >>> expected_gains(100, 1, 20).tolist()
    [[40.0, -10.5, 14.75, 0.0]]
    >>> expected_gains(1, 100, 20).tolist()
    [[-9.5, -60.0, -34.75, 0.0]]
    >>> expected_gains(100, 1, 20, rule="outcome").tolist()
    [[39.5, 39.5, 39.5, 0.0]]
    """
    amounts = {"prize": prize, "loss": loss, "stake": stake, "payout": payout}
    values = {name: np.atleast_1d(as_numbers(value, name)) for name, value in amounts.items()}
    for name, array in values.items():
        wrong = ~(np.isfinite(array) & (array >= 0))
        require(
            not wrong.any(),
            f"{name} must hold finite numbers of at least 0; the first other value is "
            f"{array[wrong][:1]}.",
        )
    p = np.atleast_1d(as_numbers(chance, "chance"))
    outside = ~((p >= 0) & (p <= 1))
    require(
        not outside.any(),
        f"chance must hold probabilities in [0, 1]; the first other value is {p[outside][:1]}. "
        "Divide percentages by 100.",
    )
    require(rule in ("side", "outcome"), f"rule must be 'side' or 'outcome'; received {rule!r}.")
    try:
        prize, loss, stake, payout, p = np.broadcast_arrays(*values.values(), p)
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in (*values.values(), p))
        raise InputError(
            "prize, loss, stake, payout and chance must be of one length or single numbers; "
            f"received shapes {shapes}."
        ) from None
    # Tables 7 and 8: a stake is lost on the side that does not come up, and the thing changes hands
    # with the side that does.
    on_winning = stake * (p * payout - (1 - p))
    on_losing = stake * ((1 - p) * payout - p)
    if rule == "side":
        win, lose = p * prize + on_winning, on_losing - (1 - p) * loss
    else:
        thing = p * prize - (1 - p) * loss
        win, lose = thing + on_winning, thing + on_losing
    # Half the stake on each side: gains are linear in the stake, so that "both" lies half-way.
    return np.column_stack([win, lose, (win + lose) / 2, np.zeros_like(win)])


def bet_gains(bets: pd.DataFrame, *, rule: BetRule = "side", swapped: bool = False) -> Floats:
    """Return the expected gains of a table of bets."""
    prize, loss = _amounts(bets, swapped=swapped)
    return expected_gains(
        prize, loss, bets["stake"], chance=bets["chance"], payout=payouts(bets), rule=rule
    )


def break_evens(bets: pd.DataFrame) -> Floats:
    """Return the chances above which the winning side is best, see `switching_chance`."""
    prize, loss = _amounts(bets)
    return switching_chance(prize, loss, bets["stake"], payout=payouts(bets))


def payouts(bets: pd.DataFrame) -> Floats:
    """Return what is paid on top of a stake, per unit of it; 0 where the table does not say."""
    if "payout" not in bets.columns:
        return np.zeros(len(bets))
    return bets["payout"].fillna(0.0).to_numpy(dtype=np.float64)


def _amounts(bets: pd.DataFrame, *, swapped: bool = False) -> tuple[Floats, Floats]:
    """Return what is won and what is lost."""
    high_is_won = (bets["wins"] == "high").to_numpy() != swapped
    high, low = bets[["high_value", "low_value"]].to_numpy(dtype=np.float64).T
    return np.where(high_is_won, high, low), np.where(high_is_won, low, high)
