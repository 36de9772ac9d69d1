"""Answers: letters, words, and faults of both tables."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError
from coherence.batteries.bets.scores import join_answers, read_letters
from coherence.batteries.bets.truths import BET_CHOICES, NO_CHOICE

SENTENCES = ["I bet on heads.", "I bet on tails.", "I do not bet."]


@pytest.mark.parametrize(
    ("expected", "texts"),
    [
        ("b", ["b", "(B)", "**b**", '"b"', "“b”", "Option b", "option (b).", "b)", "answer: b"]),
        ("b", ["The answer is: **(b)**", "The answer is option b", "b) I bet on tails."]),
        ("b", ["b. 'I bet on tails.'", "b: I bet on tails", "Option b - I bet on tails."]),
        ("b", ['"I bet on tails."', "'I bet on tails'.", "The answer is: I bet on tails."]),
        ("b", ["b\n\nHeads has the worse odds."]),
        ("ab", ["a and b", "b) a"]),
        ("ac", ["a, c", "**a** and **c**"]),
        ("", ["", None, float("nan")]),
        (None, ["abc", "a car", "d", "b) I bet on heads.", "Option b: I do not bet.", "not b"]),
        (None, ["The answer is b: I bet on heads", "The answer is a or b", "Option a or b"]),
        (None, ["The answer is a and b", "b: a", "b I bet on tails", "option", "The answer is"]),
        (None, ["a. I bet on tails or b", "**", "The answer is a car", "option bet"]),
        (None, ["I bet on heads. I bet on tails.", "b) I bet on tails. I bet on heads."]),
    ],
)
def test_letters_and_words_of_an_option_are_read_and_nothing_else(expected, texts):
    for text in texts:
        letters = read_letters(text, SENTENCES)
        assert letters == (None if expected is None else frozenset(expected)), text
    # Words that two options share are no answer.
    assert read_letters("A car", ["A car.", "'A car.'", "both cost the same."]) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": "coin-tset-001"}, "column 'question'.*Closest name found: 'coin-test-001'"),
        (["answer"], "a column 'answer' with letters, or columns score_a"),
        (["question"], "column 'question' is missing"),
        ({"score_a": 3.2, "score_b": 0.1, "score_c": 0.1}, "'score_a' .*3.2 .*logistic transform"),
        ({"prob_a": 0.5, "prob_b": 0.1, "prob_c": 0.1}, "prob_a to prob_c must sum to 1"),
    ],
)
def test_faulty_answers_are_refused(questions, change, message):
    table = pd.DataFrame({"question": questions["question"].head(3), "answer": "a"})
    table = table.assign(**change) if isinstance(change, dict) else table.drop(columns=change)
    with pytest.raises(SchemaError, match=message):
        join_answers(questions, table)
    doubled = pd.DataFrame({"question": questions["question"].head(1), "answer": ["a"]})
    with pytest.raises(SchemaError, match=r"\(model, question\) must be unique; 2 rows"):
        join_answers(questions, pd.concat([doubled, doubled]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": "coin-test-001"}, r"\(question\) must be unique"),
        ({"kind": "wager"}, "'kind' must be one of value, bet, ladder; .* 'wager'"),
        ({"role_a": "none"}, "role_a to role_c must be"),
        ({"chance": 50}, "'chance' must hold probabilities.*Divide percentages by"),
        ({"low_value": -1}, "'low_value' must hold numbers of at least 0.* -1 "),
        ({"stake": 0}, "column 'stake' must be above 0 for ladders"),
    ],
)
def test_faulty_questions_are_refused(questions, change, message):
    answers = pd.DataFrame({"question": ["coin-test-001"], "answer": "a"})
    with pytest.raises(SchemaError, match=message):
        join_answers(questions.assign(**change), answers)


@pytest.fixture
def bets(questions):
    """A dozen bets, whose roles stand behind different letters."""
    rows = questions[questions["kind"] == "bet"].head(12)
    assert rows["role_a"].nunique() > 1
    return rows


def answered(bets, **columns):
    table = pd.DataFrame({"question": bets["question"].to_numpy()} | columns)
    (group,) = join_answers(bets, table)
    return group


def by_letter(bets, name, rows):
    """Columns with values of win, lose and none, put behind the letters of each question."""
    roles = bets[[f"role_{letter}" for letter in "abc"]].to_numpy()
    place = [[BET_CHOICES.index(role) for role in row] for row in roles]
    values = np.take_along_axis(np.asarray(rows, dtype=float), np.array(place), axis=1)
    return {f"{name}_{letter}": column for letter, column in zip("abc", values.T, strict=True)}


def test_scores_without_probabilities_are_divided_by_their_sum(bets):
    rows = np.tile([[0.6, 0.3, 0.3], [0.0, 0.0, 0.0], [0.1, 0.1, 0.8]], (4, 1))
    group = answered(bets, **by_letter(bets, "score", rows))
    np.testing.assert_allclose(group.scores, rows)
    expected = np.tile([[0.5, 0.25, 0.25], [np.nan] * 3, [0.1, 0.1, 0.8]], (4, 1))
    np.testing.assert_allclose(group.probabilities, expected)
    assert group.choice.tolist() == [0, NO_CHOICE, 2] * 4
    assert not group.stated.any()
