"""Simulated agents: their scores are known in advance."""

import numpy as np
import pandas as pd

from coherence.batteries import score_bets
from coherence.batteries.bets.agents import simulate_answers
from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import BREAK_EVENS, highest_break_even

ITEMS = default_items()


def test_a_maximiser_is_right_at_other_odds_and_its_ladder_lies_on_the_diagonal():
    odds = {"chances": (0.3,), "stake": 50, "payout": 1.5, "amounts": True}
    bets = bet_questions(ITEMS, splits=["dev", "test"], modalities=["card"], **odds)
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(0.25)]
    values = value_questions(ITEMS, splits=["dev", "test"], templates=["choice-valuable"])
    questions = pd.concat(
        [values, bets, ladder_questions(ITEMS, payout=0.25, break_evens=rungs)], ignore_index=True
    )
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    accuracy = scores.accuracy.set_index(["template", "truth"])["accuracy"]
    assert accuracy["card", "correct"] == accuracy["card", "belief-conditioned"] == 1
    table = scores.ladders["maximiser", "coin"].table
    inside = table["status"] == "fitted"
    np.testing.assert_allclose(table["implied"][inside], table["stated"][inside], atol=1e-3)
    assert table["stated"][inside].max() == 0.7  # the ladder ends below 0.8
    assert (table["high"][~inside] == 1).all()
