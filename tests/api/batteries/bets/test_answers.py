"""Answers: letters, words, and faults of both tables."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError
from coherence.batteries.bets.answers import join_answers, read_letters
from coherence.batteries.bets.truths import BET_CHOICES, NO_CHOICE


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
        ("b\n\nHeads has the worse odds.", "b"),
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
            "column 'question'.*Closest name found: 'coin-test-001'",
        ),
        (lambda t: pd.concat([t, t]), r"\(model, question\) must be unique; 6 rows"),
        (lambda t: t.drop(columns="answer"), "a column 'answer' with letters, or columns score_a"),
        (lambda t: t.drop(columns="question"), "column 'question' is missing"),
        (lambda t: t.head(0), "it has no rows"),
        (
            lambda t: t.assign(score_a=3.2, score_b=0.1, score_c=0.1),
            "'score_a' must hold probabilities.*3.2 .*logistic transform",
        ),
        (lambda t: t.assign(prob_a=0.5, prob_b=0.1, prob_c=0.1), "prob_a to prob_c must sum to 1"),
    ],
)
def test_faulty_answers_are_refused(questions, change, message):
    table = pd.DataFrame({"question": questions["question"].head(3), "answer": "a"})
    with pytest.raises(SchemaError, match=message):
        join_answers(questions, change(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="stake"), "column 'stake' is missing"),
        (lambda t: pd.concat([t, t]), r"\(question\) must be unique"),
        (lambda t: t.assign(kind="wager"), "'kind' must be one of value, bet, ladder; .* 'wager'"),
        (lambda t: t.assign(role_a="none"), "role_a to role_c must be"),
        (lambda t: t.assign(chance=50), "'chance' must hold probabilities.*Divide percentages by"),
        (lambda t: t.assign(low_value=-1), "'low_value' must hold numbers of at least 0.* -1 "),
        (lambda t: t.assign(stake=0), "column 'stake' must be above 0 for ladders"),
    ],
)
def test_faulty_questions_are_refused(questions, change, message):
    with pytest.raises(SchemaError, match=message):
        join_answers(
            change(questions), pd.DataFrame({"question": ["coin-test-001"], "answer": "a"})
        )


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


def test_probabilities_tell_scores_apart_that_round_to_one(bets):
    chances = np.tile([0.2, 0.7, 0.1], (12, 1))
    columns = by_letter(bets, "score", np.ones((12, 3))) | by_letter(bets, "prob", chances)
    group = answered(bets, **columns)
    np.testing.assert_allclose(group.probabilities, chances)
    assert set(group.choice) == {1}
    # Rounded probabilities are as good; such as sum to .97 or 1.03 are none.
    answered(bets, **columns | by_letter(bets, "prob", np.full((12, 3), 0.33)))
    for faulty in (0.97 / 3, 1.03 / 3):
        with pytest.raises(SchemaError, match="prob_a to prob_c must sum to 1"):
            answered(bets, **columns | by_letter(bets, "prob", np.full((12, 3), faulty)))
