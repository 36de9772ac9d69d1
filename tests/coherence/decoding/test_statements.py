"""Statements: breaks if a label gets a number that is not its own."""

from fractions import Fraction

import pytest

from coherence.decoding.numerals import RepairedText
from coherence.decoding.statements import find_statements, number_at, option_at, without_bullets


def statements(*lines, labels=("No", "Yes")):
    found = find_statements(lines, labels, number_at(RepairedText("")))
    return [(one.label, float(one.value)) for one in found.statements], found.spoiled


@pytest.mark.parametrize(
    "line",
    [
        "Yes: 0.7",
        "- Yes = 0.7",
        "2. Yes - 0.7",
        "Yes 0.7",
        "Yes | 0.7 | because",
        "P(Yes) = 0.7.",
        "the probability of Yes is 0.7",
        '"Yes": 0.7,',
        "[Yes]: 0.7 (likely)",
        "Yes \u2192 0.7",
        "I would say Yes: 0.7",
    ],
)
def test_a_label_has_its_number(line):
    assert statements(line) == ([("yes", 0.7)], False)


@pytest.mark.parametrize(
    "line",
    [
        "Yes: maybe 0.7",
        "Yes: 0.7 or 0.8",
        "Yes: 0.7-0.8",
        "Yes: 0.7 if they smoke",
        "not Yes: 0.7",
        "Yes: not 0.7",
        "If they smoke, Yes: 0.7",
        "Yes: ~0.7",
        "Yes: 0.7?",
    ],
)
def test_a_label_is_spoiled(line):
    assert statements(line) == ([], True)


@pytest.mark.parametrize(
    "line", ["Yesterday: 0.7", "Yes, they do", "There is no 50% chance", "No."]
)
def test_words_are_no_labels(line):
    assert statements(line) == ([], False)


def test_labels_with_digits_commas_and_common_beginnings():
    labels = ("1 pack", "2 or more packs", "Stage 1", "a, or b", "a")
    lines = ["1 pack: 0.1", "* 2 or more packs: 0.2", "Stage 1: 0.3", "a, or b: 0.4", "a: 0.5"]
    found, spoiled = statements(*lines, labels=labels)
    assert [label for label, _ in found] == ["1 pack", "2 or more packs", "stage 1", "a, or b", "a"]
    assert [number for _, number in found] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert not spoiled


def test_numbers_below_their_labels_and_tables_with_heads():
    assert statements("No", "0.3", "Yes:", "0.7")[0] == [("no", 0.3), ("yes", 0.7)]
    assert statements("case | No | Yes", "this | 0.3 | 0.7")[0] == [("no", 0.3), ("yes", 0.7)]


def test_an_example_is_told_from_an_answer():
    lines = ["For instance:", "No: 0.5", "Yes: 0.5", "Your answer:", "No: 0.3"]
    found = find_statements(lines, ("No", "Yes"), number_at(RepairedText("")))
    assert [one.example for one in found.statements] == [True, True, False]


def test_words_as_values():
    found = find_statements(["Decision: yes."], ("Decision",), option_at(("Yes", "No")))
    assert [(one.label, one.value) for one in found.statements] == [("decision", "yes")]
    assert find_statements(["Decision: Yes/No"], ("Decision",), option_at(("Yes", "No"))).spoiled
    assert number_at(RepairedText(""))("x 1/4", 2) == (Fraction(1, 4), 5)
    assert without_bullets("- 2. No") == "No"
