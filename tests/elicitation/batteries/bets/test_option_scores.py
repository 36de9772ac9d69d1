"""Models that choose.

Breaks if a score depends on more than question and option, or a cut answer counts.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import score_bets
from elicitation import Answer, AnswerStore
from elicitation.batteries.bets.option_scores import score_choices, training_set_from
from elicitation.batteries.bets.questions import (
    BREAK_EVENS,
    CHANCES,
    MODALITIES,
    SPLITS,
    VALUE_TEMPLATES,
    bet_questions,
    default_items,
    ladder_questions,
    value_questions,
)
from elicitation.batteries.bets.words import choose_in_words, text_with_options
from elicitation.models.local.multiple_choice import load_multiple_choice_model

from ...tiny_choosers import make_multiple_choice

ITEMS = default_items()


LETTERS = "abc"


def columns(kind):
    return [f"{kind}_{letter}" for letter in LETTERS]


@pytest.mark.lengthy
def test_causal_scores_are_the_likelihoods_of_the_options(model):
    bets, values = (ask(ITEMS, splits=["test"]) for ask in (bet_questions, value_questions))
    questions = pd.concat([bets.iloc[[0, 150]], values.iloc[[3]]], ignore_index=True)
    scores = score_choices(model, questions)
    assert (scores["model"] == model.name).all()
    for row, question in questions.iterrows():
        by_hand, n_tokens = [], []
        before = model.encode([question["text"]])[0]
        for option in question[columns("option")]:
            whole = model.encode([question["text"]], answer=f" {option}")[0]
            pairs = enumerate(zip([*before, -1], whole, strict=False))
            shared = next(k for k, (one, other) in pairs if one != other)
            [found] = model.log_probabilities([whole[:shared]], [[whole[shared:]]])
            by_hand.append(found[0])
            n_tokens.append(len(whole) - shared)
        weights = np.exp(np.array(by_hand) - max(by_hand))
        share = scores.loc[row, columns("prob")].astype(float)
        np.testing.assert_allclose(share, weights / weights.sum(), rtol=1e-4)
        score = scores.loc[row, columns("score")].astype(float)
        per_token = np.exp(np.array(by_hand) / n_tokens)
        np.testing.assert_allclose(score, per_token, rtol=1e-4)


def test_multiple_choice_models_answer_bets(tmp_path):
    questions = value_questions(ITEMS, splits=["test"])
    make_multiple_choice(tmp_path / "chooser", questions["text"])
    model = load_multiple_choice_model(tmp_path / "chooser", device="cpu")
    table = score_choices(model, questions)
    odds = (table[columns("score")] / (1 - table[columns("score")])).to_numpy()
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table[columns("prob")], expected, rtol=1e-5)
    right = training_set_from(questions).right
    roles = questions[columns("role")].to_numpy()[np.arange(len(right)), right]
    assert (roles == "high").all()


class Talker:
    name = fingerprint = "talker"

    def __init__(self, says):
        self.says, self.asked = says, []

    def generate(self, requests):
        self.asked += requests
        return [self.says(request) for request in requests]


def test_whoever_knows_the_right_letter_is_right():
    """Options in words, so that the letter of one question is not taken for another's."""
    values, right = value_questions(ITEMS, splits=["test"]), {}
    for _, row in values.iterrows():
        text = text_with_options(row["text"], row[columns("option")].tolist())
        right[text] = next(k for k in LETTERS if row[f"role_{k}"] in ("high", "win"))
    model = Talker(lambda request: Answer(f"The answer is **({right[request.text]})**."))
    with AnswerStore(":memory:") as store:
        answers = choose_in_words(model, values, store)
        assert len(choose_in_words(model, values, store)) == len(values)
    assert len(model.asked) <= len(values)
    assert {request.temperature for request in model.asked} == {0.0}
    assert score_bets(values, answers).accuracy["accuracy"].eq(1.0).all()


def test_what_is_cut_or_empty_is_unread_and_no_refusal_to_bet():
    bets = bet_questions(ITEMS, splits=["test"]).head(60)
    said = [Answer("a", finish_reason="length"), Answer(""), Answer("c"), Answer("hm")]
    model = Talker(lambda request: said[len(request.text) % 4])
    with AnswerStore(":memory:") as store:
        answers = choose_in_words(model, bets, store, keep_going=True)
    assert set(answers["answer"]) == {"(cut)", "(empty)", "c", "hm"}
    unread = answers["answer"] != "c"
    scored = score_bets(bets, answers)
    assert any(f"{unread.sum()} " in note for note in scored.notes), scored.notes


# Questions of the bets: breaks if counts, wordings or ids change, or a stake is wrong.


def test_counts_are_those_of_the_paper():
    counts = [(len(ITEMS.of("high", split)), len(ITEMS.of("low", split))) for split in SPLITS]
    assert counts == [(14, 15), (5, 5), (5, 5)]
    for questions, expected in (
        (value_questions(ITEMS), (210, 25, 25)),
        (bet_questions(ITEMS), (840, 100, 100)),
    ):
        for _, part in questions.groupby("template"):
            assert tuple(part["split"].value_counts()[list(SPLITS)]) == expected
    assert (len(VALUE_TEMPLATES), len(MODALITIES)) == (4, 3)


def test_wordings_are_kept():
    bets = bet_questions(ITEMS, splits=["test"]).set_index("question")
    assert bets.loc["coin-test-001", "text"] == (
        "A coin is tossed. If it lands on heads, I win a car; if it lands on tails, I lose a pen. "
        "What gives me the best expected gain?"
    )
    options, roles = ([f"{kind}_{letter}" for letter in "abc"] for kind in ("option", "role"))
    expected = ["I bet on red.", "I bet on black.", "I do not bet."]
    assert bets.loc["card-test-003", options].tolist() == expected
    assert bets.loc["dice-test-002", roles].tolist() == ["lose", "win", "none"]
    values = value_questions(ITEMS, splits=["test"]).set_index("question")
    option = values.loc["boolean-valuable-test-001", "option_a"]
    assert option == "A car is worth more than a pen."
    costs = values.loc["choice-expensive-test-001", "text"]
    assert costs == "Which of the two costs more, a car or a pen?"


def test_ladder_stakes_break_even_where_they_say():
    steps = ladder_questions(ITEMS)
    assert len(steps) == len(CHANCES) * len(BREAK_EVENS) * 5 * 2
    gain = steps["break_even"] * steps["high_value"] - (1 - steps["break_even"]) * steps["stake"]
    np.testing.assert_allclose(gain, 0, atol=1e-9)
    np.testing.assert_allclose(sorted(steps["break_even"].unique()), BREAK_EVENS, atol=1e-4)
    # No two pairs share a thing.
    for thing, other in (("high", "low"), ("low", "high")):
        assert steps.groupby(thing)[other].nunique().tolist() == [1] * 5
    assert steps[steps["chance"] == 0.2].iloc[0]["text"] == (
        "A coin is tossed. It lands on heads in 20% of all tosses. If it lands on heads, I win a "
        "car worth 100 dollars; if it lands on tails, I lose a pen worth 1 dollar. A bet costs a "
        "stake of 5.26 dollars; it comes back if I bet on the right side. "
        "What gives me the best expected gain?"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bet_questions(ITEMS, splits=["t"]), "split must be one of .*; received 't'"),
        (lambda: score_choices("m", bet_questions(ITEMS)), "causal model; received a str"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
