"""Answers: letters, words, and faults of both tables."""

import pandas as pd
import pytest

from coherence.batteries.bets.answers import join_answers, read_letters
from coherence.errors import InputError
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import (
    bet_questions,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b", "b"),
        ("(A)", "a"),
        ("a, c", "ac"),
        ("a and b", "ab"),
        ("abc", None),
        ("a car", None),
        ("", ""),
        (None, ""),
        (float("nan"), ""),
        ("d", None),
    ],
)
def test_letters(text, expected):
    letters = read_letters(text, ["x", "y", "z"])
    assert letters == (None if expected is None else frozenset(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**b**", "b"),
        ('"b"', "b"),
        ("'b.'", "b"),
        ("`b`", "b"),
        ("“b”", "b"),
        ("Option b", "b"),
        ("option (b).", "b"),
        ("b)", "b"),
        ("(B)", "b"),
        ("The answer is b.", "b"),
        ("answer: b", "b"),
        ("**Answer:** b", "b"),
        ("The answer is: **(b)**", "b"),
        ("The answer is option b", "b"),
        ("b) I bet on tails.", "b"),
        ("(b) I bet on tails", "b"),
        ("b. 'I bet on tails.'", "b"),
        ("b: I bet on tails", "b"),
        ("Option b - I bet on tails.", "b"),
        ('"I bet on tails."', "b"),
        ("'I bet on tails'.", "b"),
        ("The answer is: I bet on tails.", "b"),
        ("**a** and **c**", "ac"),
        ("b) I bet on heads.", None),
        ("Option b: I do not bet.", None),
        ("The answer is b: I bet on heads", None),
        ("The answer is a or b", None),
        ("The answer is a and b", None),
        ("Option a or b", None),
        ("b) a", "ab"),
        ("b: a", None),
        ("b I bet on tails", None),
        ("option", None),
        ("The answer is", None),
        ("a. I bet on tails or b", None),
        ("**", None),
        ("The answer is a car", None),
        ("answer b", None),
        ("I bet on heads. I bet on tails.", None),
        ("b) I bet on tails. I bet on heads.", None),
        ("not b", None),
        ("option bet", None),
    ],
)
def test_letters_in_a_sentence_and_words_in_quotes(text, expected):
    letters = read_letters(text, ["I bet on heads.", "I bet on tails.", "I do not bet."])
    assert letters == (None if expected is None else frozenset(expected))


def test_words_that_two_options_share_are_no_answer():
    assert read_letters("A car", ["A car.", "'A car.'", "both cost the same."]) is None
    assert read_letters("a", ["A car.", "A car.", ""]) == {"a"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.assign(question="coin-tset-001"),
            "answers are to questions that there are not.*Closest name found",
        ),
        (lambda t: pd.concat([t, t]), "must answer a question once"),
        (
            lambda t: t.drop(columns="answer"),
            "need a column 'answer' with letters, or columns score_a",
        ),
        (lambda t: t.drop(columns="question"), "lack the column 'question'"),
        (lambda t: t.head(0), "answers have no rows"),
        (
            lambda t: t.assign(score_a=3.2, score_b=0.1, score_c=0.1),
            "must be in .0, 1.*logistic transform",
        ),
        (lambda t: t.assign(prob_a=0.5, prob_b=0.1, prob_c=0.1), "prob_a to prob_c must sum to 1"),
    ],
)
def test_faulty_answers_are_refused(questions, change, message):
    table = pd.DataFrame({"question": questions["question"].head(3), "answer": "a"})
    with pytest.raises(InputError, match=message):
        join_answers(questions, change(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="stake"), "questions lack the column 'stake'"),
        (lambda t: pd.concat([t, t]), "must have different ids"),
        (
            lambda t: t.assign(kind="wager"),
            "kind must be one of value, bet, ladder; received 'wager'",
        ),
        (lambda t: t.assign(role_a="none"), "role_a to role_c must be"),
    ],
)
def test_faulty_questions_are_refused(questions, change, message):
    with pytest.raises(InputError, match=message):
        join_answers(
            change(questions), pd.DataFrame({"question": ["coin-test-001"], "answer": "a"})
        )


ITEMS = default_items()


def test_amounts_that_are_no_numbers_are_refused():
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"])
    faulty = bets.assign(stake=bets["stake"].astype(object).where(bets.index != 3, "lots"))
    with pytest.raises(
        InputError,
        match="stake must hold numbers for bets; 1 are none, the first is that of question "
        "'coin-test-004'",
    ):
        join_answers(faulty, pd.DataFrame({"question": ["coin-test-001"], "answer": ["a"]}))
