"""Choice: one of a few equally likely letters, alone or after an earlier choice."""

import string
from collections.abc import Sequence
from fractions import Fraction

from elicitation.batteries.revealed.scenarios.setting import Setting, listed, told


def options(k: int) -> tuple[str, ...]:
    """Return the first `k` capital letters; from 2 to 26."""
    return tuple(string.ascii_uppercase[:k])


def grid(n_options: Sequence[int]) -> list[Setting]:
    """Return single choices, and repeated ones after each option."""
    return [setting(k, previous) for k in n_options for previous in ("", *options(k))]


def setting(k: int, previous: str = "") -> Setting:
    """Return the setting of one choice out of `k` options, perhaps after an independent one."""
    letters = options(k)
    variant, end = ("independent", "end again") if previous else ("single", "end")
    return told(
        "choice",
        variant,
        f"{k} options",
        f"{k} options, {variant}",
        wordings="choice",
        parts=("setup", "before") if previous else ("setup",),
        end=end,
        values={"k": k, "options": listed(letters), "previous": previous},
        truth=dict.fromkeys(letters, Fraction(1, k)),
        claim="the next option drawn is {}",
        previous=previous,
        n=str(k),
    )
