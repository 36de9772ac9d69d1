"""Bets in words: breaks if a choice is another option's, or what was cut counts as a choice."""

import pandas as pd
import pytest

from coherence import score_bets
from elicitation import Answer, AnswerStore, bet_questions, value_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.words import choose_in_words, text_with_options


class Talker:
    name = fingerprint = "talker"

    def __init__(self, says):
        self.says, self.asked = says, []

    def generate(self, requests):
        self.asked += requests
        return [self.says(request) for request in requests]


@pytest.fixture
def questions():
    items = default_items()
    return pd.concat(
        [value_questions(items, splits=["test"]), bet_questions(items, splits=["test"])]
    )


def test_whoever_knows_the_right_letter_is_right(questions):
    """Options in words, so that the letter of one question is not taken for another's."""
    right = {
        text_with_options(row["text"], [row["option_a"], row["option_b"], row["option_c"]]): next(
            letter for letter in "abc" if row[f"role_{letter}"] in ("high", "win")
        )
        for _, row in questions[questions["kind"] == "value"].iterrows()
    }
    values = questions[questions["kind"] == "value"]
    model = Talker(lambda request: Answer(f"The answer is **({right[request.text]})**."))
    with AnswerStore(":memory:") as store:
        answers = choose_in_words(model, values, store)
        assert len(choose_in_words(model, values, store)) == len(values)
    assert len(model.asked) == values["text"].nunique() or len(model.asked) <= len(values)
    assert {request.temperature for request in model.asked} == {0.0}
    accuracy = score_bets(values, answers).accuracy
    assert accuracy["accuracy"].eq(1.0).all()


def test_what_is_cut_or_empty_is_unread_and_no_refusal_to_bet(questions):
    bets = questions[questions["kind"] == "bet"].head(60)
    said = {0: Answer("a", finish_reason="length"), 1: Answer(""), 2: Answer("c")}
    model = Talker(lambda request: said[len(request.text) % 3])
    with AnswerStore(":memory:") as store:
        answers = choose_in_words(model, bets, store, keep_going=True)
    assert set(answers["answer"]) <= {"(cut)", "(empty)", "c"}
    unread = answers["answer"] != "c"
    scored = score_bets(bets, answers)
    assert any(f"{unread.sum()} " in note for note in scored.notes), scored.notes
