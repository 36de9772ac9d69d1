"""Models that choose.

Breaks if a score depends on more than question and option, or a cut answer counts.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, score_bets
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
from elicitation.training.organisms.tiny_multiple_choice import Shape

ITEMS = default_items()


@pytest.mark.lengthy
def test_causal_scores_are_the_likelihoods_of_the_options(model):
    from elicitation import score_choices

    questions = pd.concat(
        [
            bet_questions(ITEMS, splits=["test"]).iloc[[0, 150]],
            value_questions(ITEMS, splits=["test"]).iloc[[3]],
        ],
        ignore_index=True,
    )
    total, mean = (score_choices(model, questions, likelihood=way) for way in ("total", "token"))
    assert (total["model"] == model.name).all()
    for row in range(3):
        by_hand, per_token = [], []
        for letter in "abc":
            before = model.encode([questions["text"][row]])[0]
            whole = model.encode(
                [questions["text"][row]], answer=" " + questions[f"option_{letter}"][row]
            )[0]
            shared = next(
                k
                for k, (one, other) in enumerate(zip([*before, -1], whole, strict=False))
                if one != other
            )
            [found] = model.log_probabilities([whole[:shared]], [[whole[shared:]]])
            by_hand.append(found[0])
            per_token.append(found[0] / (len(whole) - shared))
        weights = np.exp(np.array(by_hand) - max(by_hand))
        np.testing.assert_allclose(
            total.loc[row, ["prob_a", "prob_b", "prob_c"]].astype(float),
            weights / weights.sum(),
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            mean.loc[row, ["score_a", "score_b", "score_c"]].astype(float),
            np.exp(per_token),
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            mean.loc[row, ["prob_a", "prob_b", "prob_c"]].astype(float),
            np.exp(per_token) / np.exp(per_token).sum(),
            rtol=1e-4,
        )


@pytest.mark.lengthy
def test_multiple_choice_models_answer_bets(tmp_path):
    """A very small model taught the values of six things answers questions about them."""
    high = [Item(name, "high", "test", 100) for name in ("gold", "silver", "copper")]
    low = [Item(name, "low", "test", 1) for name in ("sand", "mud", "dust")]
    items = Items((*high, *low))
    record = make_value_reader(
        tmp_path / "values", items, shape=Shape(hidden=32, inner=64, layers=1, heads=2)
    )
    assert record["history"][-1]["dev"] > 0.6
    model = load_multiple_choice_model(tmp_path / "values", device="cpu")
    questions = value_questions(items, splits=["test"])
    table = score_choices(model, questions)
    logits = np.log(
        table[["score_a", "score_b", "score_c"]] / (1 - table[["score_a", "score_b", "score_c"]])
    ).to_numpy()
    weights_of = np.exp(logits)
    np.testing.assert_allclose(
        table[["prob_a", "prob_b", "prob_c"]],
        weights_of / weights_of.sum(axis=1, keepdims=True),
        rtol=1e-5,
    )
    assert not list(tmp_path.glob("*.random"))
    with pytest.raises(InputError, match="'none' is none of question boolean-expensive-test-001"):
        training_set_from(questions, ["none"] * len(questions))


@pytest.mark.slow
@pytest.mark.parametrize("modality", ["coin", "dice", "card"])
def test_a_model_from_scratch_learns_bets_and_applies_them_to_other_things(modality, tmp_path):
    items = default_items()
    make_value_reader(tmp_path / "values", items)
    lessons = {}
    for split in ("train", "dev"):
        questions = bet_questions(items, splits=[split], modalities=[modality])
        lessons[split] = training_set_from(questions, right_roles(questions))
    record = fine_tune(
        tmp_path / "values",
        tmp_path / "out",
        with_values(lessons["train"], items),
        lessons["dev"],
        recipe=SCRATCH,
        device="cpu",
    )
    assert record["reached"]
    assert record["seconds"] < 300
    questions = bet_questions(items, splits=["dev", "test"], modalities=[modality])
    accuracy = score_bets(
        questions,
        score_choices(load_multiple_choice_model(tmp_path / "out", device="cpu"), questions),
    ).accuracy
    assert accuracy.set_index("truth").loc["correct", "accuracy"] >= 0.8


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
