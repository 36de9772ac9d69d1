"""Simulated agents: their scores are known in advance."""

import numpy as np
import pandas as pd
import pytest

from coherence.batteries import score_bets
from coherence.batteries.bets.agents import simulate_answers
from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import BREAK_EVENS, highest_break_even
from tests.api.batteries.bets.conftest import by_truth


def test_a_guesser_is_at_chance_under_every_truth(questions):
    accuracy = by_truth(score_bets(questions, simulate_answers("random", questions, rng=5)))
    assert (accuracy["p_exact"] > 0.005).all()
    chances = {"correct": 1 / 3, "belief-conditioned": 1 / 3, "strict": 0.125}
    chances |= {"positive gain": 0.25, "non-negative gain": 0.25}
    assert accuracy["chance"].loc["coin"].to_dict() == pytest.approx(chances)
    assert accuracy["n"].loc["coin"].to_dict()["positive gain"] == 50  # questions of type 1 only


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
