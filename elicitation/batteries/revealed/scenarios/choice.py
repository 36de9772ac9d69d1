"""Choice: one of a few equally likely letters, alone or after an earlier choice."""

import string
from collections.abc import Sequence
from fractions import Fraction

from coherence.errors import InputError
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Setting,
    Wording,
    listed,
    tell_all,
)

_WORDINGS = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "A person draws one of {k} options at random. The options are {options}. Each of "
                "them is equally likely."
            ),
            "end": "The person draws option",
            "before": (
                "The person drew option {previous} first. The first draw has no influence on the "
                "second, which is again from all options."
            ),
            "end again": "In the second draw the person draws option",
        },
    ),
    Wording(
        "story",
        {
            "setup": (
                "Equal slips of paper marked {options} lie in a hat. Somebody reaches in without "
                "looking."
            ),
            "before": (
                "The slip drawn before was {previous}; it was put back and the hat was shaken."
            ),
            "end": "The slip in the hand is marked",
            "end again": "The slip in the hand is now marked",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Options: {options}\nDraw: at random, all equally likely",
            "before": "Previous draw, put back: option {previous}",
            "end": "Drawn: option",
            "end again": "Next draw: option",
        },
        "\n",
    ),
)


def options(k: int) -> tuple[str, ...]:
    """Return the first `k` capital letters; from 2 to 26."""
    if not 2 <= k <= 26:
        raise InputError(f"options must be from 2 to 26; received {k}.")
    return tuple(string.ascii_uppercase[:k])


def grid(n_options: Sequence[int]) -> list[Setting]:
    """Return single choices, and repeated ones after each option."""
    return [setting(k, previous) for k in n_options for previous in ("", *options(k))]


def setting(k: int, previous: str = "") -> Setting:
    """Return the setting of one choice out of `k` options, perhaps after an independent one."""
    letters = options(k)
    if previous not in ("", *letters):
        raise InputError(f"previous must be one of {', '.join(letters)}; received {previous!r}.")
    variant = "independent" if previous else "single"
    parts, end = (("setup", "before"), "end again") if previous else (("setup",), "end")
    values = {"k": k, "options": listed(letters), "previous": previous}
    return Setting(
        scenario="choice",
        variant=variant,
        group=f"{k} options, {variant}",
        name="/".join(
            ["choice", variant, f"{k} options", *([f"after {previous}"] if previous else [])]
        ),
        parameters={"n": str(k), "previous": previous},
        truth=dict.fromkeys(letters, Fraction(1, k)),
        texts=tell_all(_WORDINGS, (*parts, end), values),
        story=_WORDINGS[0].tell(parts, values),
        claim="the next option drawn is {}",
        previous=previous,
        baseline=f"choice/single/{k} options" if previous else "",
    )
