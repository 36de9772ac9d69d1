"""Coins: how many of a few coins show a face, fair or biased, alone or after earlier flips."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from elicitation.batteries.revealed.scenarios.setting import (
    Decomposition,
    Setting,
    after,
    in_words,
    told,
)

SIDES = ("heads", "tails")


def heads_of_coins(n: int, bias: int) -> dict[int, Fraction]:
    """Return the distribution of the number of coins that show a face."""
    # Binomial with probability bias / (1 + bias), in whole numbers.
    return {k: Fraction(comb(n, k) * bias**k, (1 + bias) ** n) for k in range(n + 1)}


def setting(
    n: int, side: str, bias: int, previous: int | None = None, *, dependent: bool = False
) -> Setting:
    """Return the setting of one flip of `n` coins, of which those with `side` up are counted.

    After an earlier flip its count is added where the two are `dependent`.
    """
    heads = heads_of_coins(n, bias)
    if previous is None:
        return _told(n, side, bias, "single", ("setup", "flip"), "end", in_words(heads))
    return _told(n, side, bias, **after(heads, previous, dependent=dependent))


def decompose(n: int, side: str, bias: int) -> Decomposition:
    """Take one flip of two or more coins apart by the first coin."""
    share = Fraction(bias, 1 + bias)
    part = _told(
        n,
        side,
        bias,
        "first",
        ("setup", "one by one"),
        "end first",
        {face: share if face == side else 1 - share for face in SIDES},
    )
    rest = heads_of_coins(n - 1, bias)
    given_face = {}
    for face in SIDES:
        # All counts of n coins, as in the whole, though one cannot come any more.
        truth = {str(k): rest.get(k - (face == side), Fraction(0)) for k in range(n + 1)}
        given_face[face] = _told(
            n, side, bias, "given first", ("setup", "one by one", "first"), "end", truth, first=face
        )
    return Decomposition(setting(n, side, bias), "first coin", part, given_face)


def grid(n_coins: Sequence[int], biases: Sequence[int]) -> list[Setting]:
    """Return all variants of coins, for both faces and with every possible previous count."""
    return [
        told
        for n in n_coins
        for side in SIDES
        for bias in biases
        for told in (
            setting(n, side, bias),
            *(
                setting(n, side, bias, k, dependent=dependent)
                for dependent in (False, True)
                for k in range(n + 1)
            ),
        )
    ]


def _told(
    n: int,
    side: str,
    bias: int,
    variant: str,
    parts: tuple[str, ...],
    end: str,
    truth: dict[str, Fraction],
    *,
    first: str = "",
    previous: str = "",
    shift: int = 0,
) -> Setting:
    other = SIDES[1 - SIDES.index(side)]
    chances = (
        f"Each coin is {bias} times as likely to land on {side} as on {other}."
        if bias > 1
        else "Each coin is fair."
    )
    claims = {
        "end": f"the number of {side} is {{}}",
        "end first": "the first coin shows {}",
        "end again": f"the new number of {side} is {{}}",
        "end added": f"the total number of {side} is {{}}",
    }
    return told(
        "coins",
        variant,
        f"{n} coins, {side}" + (f" {bias}x" if bias > 1 else ""),
        f"{n} coins, bias {bias}x, {variant}",
        wordings="coins",
        parts=parts,
        end=end,
        values={"n": n, "side": side, "bias": chances, "first": first, "result": previous},
        truth=truth,
        claim=claims[end],
        details=f"given {first}" if first else "",
        previous=previous,
        shift=shift,
        n=str(n),
        side=side,
        bias=str(bias),
    )
