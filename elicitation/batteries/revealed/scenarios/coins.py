"""Coins: how many of a few coins show a face, fair or biased, alone or after earlier flips."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

from coherence.errors import InputError
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Decomposition,
    Setting,
    Wording,
    in_words,
    tell_all,
)

SIDES = ("heads", "tails")

_WORDINGS = (
    Wording(
        REFERENCE,
        {
            "setup": "There are {n} coins. {bias}",
            "flip": "All coins are flipped, and those that show {side} are counted.",
            "end": "The number of {side} is",
            "before": "All coins were flipped before, and the number of {side} was {result}.",
            "again": "Earlier flips have no influence on later ones. All coins are flipped again.",
            "end again": "The new number of {side} is",
            "added": (
                "All coins are flipped again, and the {side} of all flips are counted together."
            ),
            "end added": "The total number of {side} is",
            "one by one": "The coins are flipped one after the other.",
            "end first": "The first coin shows",
            "first": (
                "The first coin shows {first}. The other coins are flipped too, and all coins that "
                "show {side} are counted."
            ),
        },
    ),
    Wording(
        "story",
        {
            "setup": "Leo puts {n} coins into a cup. {bias}",
            "flip": "He shakes the cup, empties it on the table and looks for {side}.",
            "end": "Counting the coins with {side} up, he gets to",
            "before": "His last turn left {result} with {side} up.",
            "again": (
                "Coins have no memory. He puts all of them back, shakes again and empties the cup."
            ),
            "end again": "Counting the coins with {side} up, this time he gets to",
            "added": (
                "He puts all of them back, shakes again, and goes on counting {side} where he had "
                "stopped."
            ),
            "end added": "Over all turns he gets to",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Coins: {n}\nNote: {bias}",
            "flip": "Flips of all coins: one",
            "end": "Number of {side}:",
            "before": "Previous number of {side}: {result}",
            "again": "Flips do not influence each other",
            "end again": "Next number of {side}:",
            "added": "Flips do not influence each other",
            "end added": "Total {side} of all flips, the next one included:",
        },
        "\n",
    ),
)


def heads_of_coins(n: int, bias: int) -> dict[int, Fraction]:
    """Return the distribution of the number of coins that show a face."""
    if n < 1 or bias < 1:
        raise InputError(f"coins and bias must be at least 1; received {n} and {bias}.")
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
    if not 0 <= previous <= n:
        raise InputError(f"previous must be a count from 0 to {n}; received {previous!r}.")
    shift = previous if dependent else 0
    variant, how = ("dependent", "added") if dependent else ("independent", "again")
    parts, truth = ("setup", "before", how), in_words(heads, shift)
    earlier: dict[str, Any] = {"previous": str(previous), "result": previous, "shift": shift}
    return _told(n, side, bias, variant, parts, f"end {how}", truth, **earlier)


def decompose(n: int, side: str, bias: int) -> Decomposition:
    """Take one flip of two or more coins apart by the first coin."""
    if n < 2:
        raise InputError(f"coins must be at least 2 to be taken apart by the first; received {n}.")
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
    previous: str = "",
    shift: int = 0,
    **values: object,
) -> Setting:
    if side not in SIDES:
        raise InputError(f"side must be heads or tails; received {side!r}.")
    if n < 2:
        raise InputError(
            f"coins must be at least 2; received {n}. "
            "A single coin is a preference between Heads and Tails."
        )
    other = SIDES[1 - SIDES.index(side)]
    chances = (
        f"Each coin is {bias} times as likely to land on {side} as on {other}."
        if bias > 1
        else "Each coin is fair."
    )
    values |= {"n": n, "side": side, "bias": chances}
    details = []
    if previous:
        details = [f"after {previous}"]
    elif "first" in values:
        details = [f"given {values['first']}"]
    kind = f"{n} coins, {side}" + (f" {bias}x" if bias > 1 else "")
    claims = {
        "end": f"the number of {side} is {{}}",
        "end first": "the first coin shows {}",
        "end again": f"the new number of {side} is {{}}",
        "end added": f"the total number of {side} is {{}}",
    }
    return Setting(
        scenario="coins",
        variant=variant,
        group=f"{n} coins, bias {bias}x, {variant}",
        name="/".join(["coins", variant, kind, *details]),
        parameters={
            "n": str(n),
            "side": side,
            "bias": str(bias),
            "previous": previous,
        },
        truth=truth,
        texts=tell_all(_WORDINGS, (*parts, end), values),
        story=_WORDINGS[0].tell(parts, values),
        claim=claims[end],
        previous=previous,
        shift=shift,
        baseline=f"coins/single/{kind}" if previous else "",
    )
