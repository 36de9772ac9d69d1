"""Which single choice is right for each question of a table, or rational given a model's belief."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from coherence.batteries.bets.answers import BetAnswers
from coherence.batteries.bets.gains import BetRule, bet_gains, payouts
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    NO_CHOICE,
    VALUE_CHOICES,
    Truths,
    believed_best,
    bet_truths,
)


def right_roles(questions: pd.DataFrame, *, rule: BetRule = "side") -> list[str]:
    """Return the role of the right option of every question, for training."""
    roles = np.full(len(questions), "high", dtype=object)
    is_bet = (questions["kind"] != "value").to_numpy()
    if is_bet.any():
        best = bet_truths(bet_gains(questions[is_bet], rule=rule)).best
        roles[is_bet] = np.array(BET_CHOICES, dtype=object)[best.argmax(axis=1)]
    return [str(role) for role in roles]


def correct_choices(group: BetAnswers, rule: BetRule = "side") -> Truths:
    """Return the truth of the standard method."""
    if group.kind == "value":
        return np.tile([True, False, False], (len(group.questions), 1))
    return bet_truths(bet_gains(group.questions, rule=rule)).best


def believed_values(group: BetAnswers) -> dict[tuple[str, str], int]:
    """Return which of two things a model holds for more valuable."""
    asked = group.questions
    first = asked["first"] if "first" in asked else pd.Series("high", index=asked.index)
    answers = zip(asked["high"], asked["low"], first, group.choice, strict=True)
    return {
        (str(high), str(low)): int(choice)
        for high, low, order, choice in answers
        if order == "high"
    }


def rational_choices(
    group: BetAnswers, beliefs: Mapping[tuple[str, str], int], rule: BetRule = "side"
) -> Truths:
    """Return the choices that are rational given a model's own answers on values."""
    bets = group.questions
    pairs = zip(bets["high"].astype(str), bets["low"].astype(str), strict=True)
    belief = np.array([beliefs.get(pair, NO_CHOICE) for pair in pairs], dtype=np.int64)
    # Who holds two things for equally valuable has, in the paper's bets, nothing to gain. At other
    # odds it depends on how valuable, which was not asked: such a bet is left out.
    even = (bets["chance"] == 0.5).to_numpy() & (payouts(bets) == 0)
    belief[(belief == VALUE_CHOICES.index("same")) & ~even] = NO_CHOICE
    gains = [bet_gains(bets, rule=rule, swapped=swapped) for swapped in (False, True)]
    return believed_best(belief, *gains)
