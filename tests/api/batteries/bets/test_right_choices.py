"""Right and rational choices of tables of questions."""

import pandas as pd

from coherence import score_bets
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import default_items

ITEMS = default_items()


def test_at_other_odds_a_bet_between_equals_has_no_rational_choice():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    for chance, counted in ((0.5, 100), (0.4, 0)):
        bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"], chances=(chance,))
        questions = pd.concat([values, bets], ignore_index=True)
        answers = pd.DataFrame(
            {"question": questions["question"], "answer": "c"}
        )  # the same; no bet
        row = (
            score_bets(questions, answers)
            .accuracy.set_index(["template", "truth"])
            .loc["coin", "belief-conditioned"]
        )
        assert (row["n"], row["n_right"]) == (counted, counted)
