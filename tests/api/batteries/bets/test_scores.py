"""Scores of whole tables: sets, unread answers, what is left out, and several models."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import exact_test, score_bets
from elicitation.batteries.bets.questions import bet_questions, default_items, value_questions
from tests.api.batteries.bets.conftest import by_truth, simulate_answers


def test_accuracy_does_not_depend_on_the_order_of_rows_or_letters(questions):
    answers = simulate_answers("maximiser", questions, sharpness=3, rng=1)
    reference = score_bets(questions, answers).accuracy
    mixed, names = questions.sample(frac=1, random_state=1), ("option", "role", "score", "prob")
    turn = {f"{name}_{old}": f"{name}_{new}" for name in names for old, new in ("ab", "bc", "ca")}
    turned = answers.sample(frac=1, random_state=2).rename(columns=turn)
    scored = score_bets(mixed.rename(columns=turn), turned).accuracy
    # The letters of the best constant answer turn with the options.
    tables = (
        table.sort_values(["template", "truth"], ignore_index=True).drop(columns="constant")
        for table in (scored, reference)
    )
    pd.testing.assert_frame_equal(*tables)


def test_unread_answers_are_wrong_and_counted(questions):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    texts = ["A", "(a)", "a.", "", "As I see it, a car", "A house."] + ["a"] * 19
    answers = pd.DataFrame({"question": values["question"], "answer": texts})
    row = by_truth(score_bets(questions, answers)).loc["choice-valuable", "correct"]
    assert (row["n"], row["n_right"], row["n_unread"], row["n_tied"]) == (25, 23, 1, 2)


def answered(questions, roles):
    """Answer every question by the letter of a role."""
    rows, roles = questions.to_dict("records"), np.broadcast_to(roles, len(questions))
    letters = [
        next(letter for letter in "abc" if row[f"role_{letter}"] == role)
        for row, role in zip(rows, roles, strict=True)
    ]
    return pd.DataFrame({"question": questions["question"], "answer": letters})


ITEMS = default_items()


def test_one_question_has_no_variance_and_none_has_no_share():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    answers = pd.DataFrame({"question": values["question"].head(1), "answer": "a"})
    row = score_bets(values, answers).accuracy.iloc[0]
    assert (row["n"], row["n_right"], row["accuracy"]) == (1, 1, 1)
    assert np.isnan(row[["z", "p_z", "low", "high"]].astype(float)).all()
    assert row["p_exact"] == 1  # who always takes that letter is right as well
    # At other odds a bet between equals has no rational choice: no question is left.
    for chance, counted in ((0.5, 100), (0.4, 0)):
        bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"]).assign(chance=chance)
        both = pd.concat([values, bets], ignore_index=True)
        same = pd.DataFrame({"question": both["question"], "answer": "c"})  # the same; no bet
        rows = score_bets(both, same).accuracy.set_index(["template", "truth"])
        row = rows.loc[("coin", "belief-conditioned")]
        assert (row["n"], row["n_right"], row["n_unread"]) == (counted, counted, 0)
    results = ["accuracy", "chance", "low", "high", "p_exact", "z", "p_z"]
    assert np.isnan(row[results].astype(float)).all()


def test_what_is_missing_is_said(questions):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    answers = simulate_answers("random", bets, rng=0)
    notes = " ".join(score_bets(questions, answers).notes)
    assert "no belief-conditioned accuracy without answers to the value questions" in notes
    assert "no threshold for 'strict' without scores of development questions" in notes
    dev = questions[questions["split"] == "dev"]
    with pytest.raises(InputError, match="no answers to questions of split 'test'"):
        score_bets(questions, simulate_answers("random", dev, rng=0))


@pytest.fixture(scope="module")
def card_bets():
    return bet_questions(ITEMS, splits=["test"], modalities=["card"])


def test_who_always_declines_is_no_better_than_the_best_constant_answer(card_bets):
    """Half of the bets are rightly declined, which is far above a guess among three choices or
    eight sets."""
    scores = score_bets(card_bets, answered(card_bets, "none"))
    rows = scores.accuracy.set_index("truth")
    assert exact_test(50, np.full(100, 1 / 3)) < 0.001
    assert exact_test(50, np.full(100, 1 / 8)) < 1e-15
    for truth in ("correct", "strict"):
        row = rows.loc[truth]
        assert (row["accuracy"], row["constant"], row["constant_rate"]) == (0.5, "none", 0.5)
        assert row["p_exact"] == pytest.approx(exact_test(50, np.full(100, 0.5)))
        assert row["p_z"] == pytest.approx(0.5)
    assert any("100 of 100 answers are 'none', whatever was asked" in n for n in scores.notes)
