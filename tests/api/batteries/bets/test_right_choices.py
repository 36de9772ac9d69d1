"""Right and rational choices of tables of questions."""

import pandas as pd

from coherence import score_bets
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import default_items


def test_wrong_values_with_bets_that_fit_them_are_rational(questions, by_truth):
    # An agent that holds every low thing for the more valuable one, and bets accordingly.
    rows = []
    for row in questions[questions["kind"] != "ladder"].itertuples():
        role = "low" if row.kind == "value" else "win" if row.wins == "low" else "none"
        letter = next(name for name in "abc" if getattr(row, f"role_{name}") == role)
        rows.append({"question": row.question, "answer": letter})
    accuracy = by_truth(score_bets(questions, pd.DataFrame(rows)))["accuracy"]
    assert accuracy["choice-valuable", "correct"] == 0
    assert accuracy["coin", "correct"] == 0
    assert accuracy["coin", "belief-conditioned"] == 1


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
