"""Preference: two options with a meaning of their own, in either order, one perhaps likelier."""

from collections.abc import Sequence
from fractions import Fraction

from coherence.errors import InputError
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting, Wording, tell_all

PAIRS = (("Heads", "Tails"), ("Left", "Right"))

_WORDINGS = (
    Wording(
        REFERENCE,
        {
            "setup": "A person draws at random one of two options, {first} and {second}. {bias}",
            "end": "The person draws the option",
            "before": (
                "The person drew {previous} first. The first draw has no influence on the second."
            ),
            "end again": "In the second draw the person draws the option",
        },
    ),
    Wording(
        "story",
        {
            "setup": (
                "A machine has a lamp for {first} and a lamp for {second}. At each press of its "
                "button it lights one of them by chance. {bias}"
            ),
            "end": "The button is pressed, and the machine lights",
            "before": "Pressed before, it lit {previous}; the machine keeps nothing in memory.",
            "end again": "The button is pressed once more, and the machine lights",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Options: {first}, {second}\nDraw: at random\nNote: {bias}",
            "before": "Previous draw, without influence: {previous}",
            "end": "Drawn:",
            "end again": "Next draw:",
        },
        "\n",
    ),
)


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
    if previous not in ("", favoured, other):
        raise InputError(f"previous must be {favoured!r} or {other!r}; received {previous!r}.")
    words = (favoured.lower(), other.lower())
    # An answer that begins with both could not be counted for one of them.
    if (
        not (favoured.strip() and other.strip())
        or words[0].startswith(words[1])
        or words[1].startswith(words[0])
    ):
        raise InputError(
            "labels must be two words of which none begins with the other; "
            f"received {favoured!r} and {other!r}."
        )
    if bias < 1:
        raise InputError(f"bias must be at least 1; received {bias}.")
    order = (favoured, other) if favoured_first else (other, favoured)
    share = Fraction(bias, 1 + bias)
    variant = "independent" if previous else "single"
    chances = (
        f"{favoured} is {bias} times as likely as {other}."
        if bias > 1
        else "Both are equally likely."
    )
    values = {"first": order[0], "second": order[1], "bias": chances, "previous": previous}
    parts, end = (("setup", "before"), "end again") if previous else (("setup",), "end")
    after = [f"after {previous}"] if previous else []
    likelier = f", {favoured} {bias}x" if bias > 1 else ""
    kind = f"{order[0]} or {order[1]}{likelier}"
    return Setting(
        scenario="preference",
        variant=variant,
        group=f"{favoured} {bias}x over {other}, {variant}",
        name="/".join(["preference", variant, kind, *after]),
        parameters={
            "labels": f"{favoured}/{other}",
            "bias": str(bias),
            "first": order[0],
            "previous": previous,
        },
        truth={label: share if label == favoured else 1 - share for label in order},
        texts=tell_all(_WORDINGS, (*parts, end), values),
        story=_WORDINGS[0].tell(parts, values),
        claim="the next draw is {}",
        previous=previous,
        baseline=f"preference/single/{kind}" if previous else "",
        pair="/".join(["preference", variant, f"{favoured} and {other}{likelier}", *after]),
    )
