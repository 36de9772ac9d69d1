"""How often an answer that is always the same is right, whatever is asked.

A model that declines every bet is right wherever the thing to be won is the lesser one, which is
half of the bets; a guess among three choices is right in a third. Only what is more than the better
of the two says that the questions were understood.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coherence.batteries.bets.answers import BetAnswers
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    MEMBERS,
    NO_CHOICE,
    VALUE_CHOICES,
    Truths,
    asked,
)

NEARLY_ALL = 0.95
"""Share of equal answers from which on a note says so."""
_LETTERS = ("a", "b", "c")


def best_constant(parts: Sequence[tuple[pd.DataFrame, Truths]]) -> tuple[str, float]:
    """Find the constant answer that is right most often.

    Constant are the roles of a bet (win, lose, none), the answer "same" to a question on values,
    and the letters of the options; of sets, those of roles. "High" and "low" are no constant
    answers: which thing that is has to be known.
    """
    counts: dict[str, int] = {}
    n = 0
    for questions, right in parts:
        kept = asked(right)
        n += int(kept.sum())
        for name, is_right in _constants(questions[kept], right[kept]).items():
            counts[name] = counts.get(name, 0) + int(is_right.sum())
    if not n or not counts:
        return "", float("nan")
    name = max(counts, key=lambda each: counts[each])  # the first of equal ones
    return name, counts[name] / n


def _constants(questions: pd.DataFrame, right: Truths) -> dict[str, Truths]:
    """Return for each constant answer whether it is right, by question."""
    of_values = bool(len(questions)) and str(questions["kind"].iloc[0]) == "value"
    roles = VALUE_CHOICES if of_values else BET_CHOICES
    if right.shape[1] == len(MEMBERS):
        # Sets that treat both things alike need no knowledge of them.
        alike = [7, 4, 3, 0] if of_values else range(len(MEMBERS) - 1, -1, -1)
        names = [" and ".join(np.array(roles)[MEMBERS[code]]) or "nothing" for code in alike]
        return {name: right[:, code] for name, code in zip(names, alike, strict=True)}
    # The last role first: of equal rates, not to bet is the one that models fall into.
    constants = {
        roles[position]: right[:, position]
        for position in (2, 1, 0)
        if not of_values or roles[position] == "same"
    }
    for letter in _LETTERS:
        if f"role_{letter}" in questions.columns:
            positions = questions[f"role_{letter}"].map(roles.index).to_numpy(dtype=np.int64)
            constants[f"letter {letter}"] = right[np.arange(len(right)), positions]
    return constants


def constant_notes(group: BetAnswers, right: Truths) -> list[str]:
    """Say where nearly all answers are alike, or one answer is right nearly everywhere."""
    where = f"{group.model}, {group.template}"
    notes = []
    read = group.choice != NO_CHOICE
    n = int(read.sum())
    if n > 1:
        chosen = np.zeros((n, 3), dtype=bool)
        chosen[np.arange(n), group.choice[read]] = True
        name, share = best_constant([(group.questions[read], chosen)])
        if share >= NEARLY_ALL:
            notes.append(
                f"{where}: {round(share * n)} of {n} answers are {name!r}, whatever was asked; "
                "how many are right is then decided by the questions."
            )
    name, rate = best_constant([(group.questions, right)])
    if len(right) > 1 and rate >= NEARLY_ALL:
        notes.append(
            f"{where}: whoever always answers {name!r} is right in {rate:.0%} of the questions, so "
            "that the share of right answers shows no knowledge; ask in both orders."
        )
    return notes
