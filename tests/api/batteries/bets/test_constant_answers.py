"""What always the same answer would score, and models that give nothing else."""

import numpy as np
import pandas as pd
import pytest

from coherence import exact_test, score_bets
from coherence.batteries.bets.scores import compare_models
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import default_items

ITEMS = default_items()


def answered(questions, role):
    """Answer every question by the letter of one role."""
    letters = [
        next(letter for letter in "abc" if row[f"role_{letter}"] == role)
        for row in questions.to_dict("records")
    ]
    return pd.DataFrame({"question": questions["question"], "answer": letters})


@pytest.fixture(scope="module")
def bets():
    return bet_questions(ITEMS, splits=["test"], modalities=["card"])


def test_who_always_declines_is_no_better_than_the_best_constant_answer(bets):
    """Half of the bets are rightly declined, which is far above a guess among three choices or
    eight sets."""
    scores = score_bets(bets, answered(bets, "none"))
    rows = scores.accuracy.set_index("truth")
    assert exact_test(50, np.full(100, 1 / 3)) < 0.001
    assert exact_test(50, np.full(100, 1 / 8)) < 1e-15
    for truth in ("correct", "strict"):
        row = rows.loc[truth]
        assert (row["accuracy"], row["constant"], row["constant_rate"]) == (0.5, "none", 0.5)
        assert row["p_exact"] == pytest.approx(exact_test(50, np.full(100, 0.5)))
        assert row["p_z"] == pytest.approx(0.5)
    (note,) = [note for note in scores.notes if "whatever was asked" in note]
    assert "100 of 100 answers are 'none', whatever was asked" in note
    (row,) = compare_models(scores.answers).to_dict("records")
    assert (row["constant"], row["constant_rate"]) == ("none", 0.5)
    assert row["p_exact"] > 0.5


def test_who_knows_is_better_than_any_constant_answer(bets):
    won = bets["wins"] == "high"
    answers = pd.concat([answered(bets[won], "win"), answered(bets[~won], "none")])
    scores = score_bets(bets, answers)
    row = scores.accuracy.set_index("truth").loc["correct"]
    assert row["accuracy"] == 1
    assert row["p_exact"] == pytest.approx(0.5**100)
    assert not any("whatever was asked" in note for note in scores.notes)


def test_a_letter_that_is_always_right_is_a_constant_answer():
    """The paper names the dearer thing first and calls it a; in both orders no letter is right
    more than half of the time."""
    once = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    scores = score_bets(once, answered(once, "high"))
    row = scores.accuracy.set_index("truth").loc["correct"]
    assert (row["constant"], row["constant_rate"], row["p_exact"]) == ("letter a", 1, 1)
    assert any("always answers 'letter a' is right in 100%" in note for note in scores.notes)
    both = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"], both_orders=True)
    row = score_bets(both, answered(both, "high")).accuracy.set_index("truth").loc["correct"]
    assert (row["constant_rate"], row["accuracy"]) == (0.5, 1)
    assert row["p_exact"] == pytest.approx(0.5 ** len(both))
