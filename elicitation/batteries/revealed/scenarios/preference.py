"""Preference: two options with a meaning of their own, in either order, one perhaps likelier."""

from collections.abc import Sequence
from fractions import Fraction

from elicitation.batteries.revealed.scenarios.setting import Setting, told

PAIRS = (("Heads", "Tails"), ("Left", "Right"))


def grid(pairs: Sequence[tuple[str, str]], biases: Sequence[int]) -> list[Setting]:
    """Return draws between the labels of each pair, in both orders, single and after either."""
    return [
        setting(*pair, previous, bias=bias, favoured_first=favoured_first)
        for pair in pairs
        for bias in biases
        for favoured_first in (True, False)
        for previous in ("", *pair)
    ]


def setting(
    favoured: str, other: str, previous: str = "", *, bias: int = 1, favoured_first: bool = True
) -> Setting:
    """Return the setting of one draw between two labels, perhaps after an independent one."""
    order = (favoured, other) if favoured_first else (other, favoured)
    share = Fraction(bias, 1 + bias)
    variant, end = ("independent", "end again") if previous else ("single", "end")
    chances = (
        f"{favoured} is {bias} times as likely as {other}."
        if bias > 1
        else "Both are equally likely."
    )
    likelier = f", {favoured} {bias}x" if bias > 1 else ""
    return told(
        "preference",
        variant,
        f"{order[0]} or {order[1]}{likelier}",
        f"{favoured} {bias}x over {other}, {variant}",
        wordings="preference",
        parts=("setup", "before") if previous else ("setup",),
        end=end,
        values={"first": order[0], "second": order[1], "bias": chances, "previous": previous},
        truth={label: share if label == favoured else 1 - share for label in order},
        claim="the next draw is {}",
        previous=previous,
        pair=f"{favoured} and {other}{likelier}",
        labels=f"{favoured}/{other}",
        bias=str(bias),
        first=order[0],
    )
