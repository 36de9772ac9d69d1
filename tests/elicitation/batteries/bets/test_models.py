"""Models that choose.

Breaks if a score depends on more than question and option, or a cut answer counts.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import score_bets
from coherence.batteries.bets.scores import right_roles
from elicitation import (
    Answer,
    AnswerStore,
    bet_questions,
    fine_tune,
    load_multiple_choice_model,
    score_choices,
    value_questions,
)
from elicitation.batteries.bets.items import Item, Items, default_items
from elicitation.batteries.bets.models import (
    SCRATCH,
    make_value_reader,
    training_set_from,
    with_values,
)
from elicitation.batteries.bets.words import choose_in_words, text_with_options
from elicitation.training.tiny_multiple_choice import Shape

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


@pytest.mark.lengthy
def test_multiple_choice_models_answer_bets(tmp_path):
    """A very small model taught the values of six things answers questions about them."""
    high = [Item(name, "high", "test", 100) for name in ("gold", "silver", "copper")]
    low = [Item(name, "low", "test", 1) for name in ("sand", "mud", "dust")]
    items = Items((*high, *low))
    shape = Shape(hidden=32, inner=64, layers=1, heads=2)
    record = make_value_reader(tmp_path / "values", items, shape=shape)
    assert record["history"][-1]["dev"] > 0.6
    model = load_multiple_choice_model(tmp_path / "values", device="cpu")
    questions = value_questions(items, splits=["test"])
    table = score_choices(model, questions)
    odds = (table[columns("score")] / (1 - table[columns("score")])).to_numpy()
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table[columns("prob")], expected, rtol=1e-5)
    assert not list(tmp_path.glob("*.random"))
    with pytest.raises(InputError, match="'none' is none of question boolean-expensive-test-001"):
        training_set_from(questions, ["none"] * len(questions))


@pytest.mark.slow
@pytest.mark.parametrize("modality", ["coin", "dice", "card"])
def test_a_model_from_scratch_learns_bets_and_applies_them_to_other_things(modality, tmp_path):
    make_value_reader(tmp_path / "values", ITEMS)
    lessons = {}
    for split in ("train", "dev"):
        questions = bet_questions(ITEMS, splits=[split], modalities=[modality])
        lessons[split] = training_set_from(questions, right_roles(questions))
    taught, options = with_values(lessons["train"], ITEMS), {"recipe": SCRATCH, "device": "cpu"}
    record = fine_tune(tmp_path / "values", tmp_path / "out", taught, lessons["dev"], **options)
    assert record["reached"]
    assert record["seconds"] < 300
    questions = bet_questions(ITEMS, splits=["dev", "test"], modalities=[modality])
    model = load_multiple_choice_model(tmp_path / "out", device="cpu")
    accuracy = score_bets(questions, score_choices(model, questions)).accuracy
    assert accuracy.set_index("truth").loc["correct", "accuracy"] >= 0.8


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
    said = {0: Answer("a", finish_reason="length"), 1: Answer(""), 2: Answer("c")}
    model = Talker(lambda request: said[len(request.text) % 3])
    with AnswerStore(":memory:") as store:
        answers = choose_in_words(model, bets, store, keep_going=True)
    assert set(answers["answer"]) <= {"(cut)", "(empty)", "c"}
    unread = answers["answer"] != "c"
    scored = score_bets(bets, answers)
    assert any(f"{unread.sum()} " in note for note in scored.notes), scored.notes
