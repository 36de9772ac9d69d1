"""Blocks: breaks if of two answers one is taken, or half an answer for a whole."""

import pytest

from coherence.decoding.blocks import find_block
from coherence.decoding.numerals import RepairedText, UnreadableError
from coherence.decoding.statements import number_at

LABELS = ("No", "Yes")


def block(text, labels=LABELS, *, after=False):
    reading = RepairedText(text)
    lines = [line for line in text.split("\n") if line]
    found = find_block(lines, labels, number_at(reading), reading, after=after)
    return found and {label: float(value) for label, value in found.items()}


@pytest.mark.parametrize(
    "text",
    [
        "No: 0.3\nYes: 0.7",
        "Reasons first.\nNo: 0.3\nYes: 0.7",
        "No: 0.3\nYes: 0.7\nNo: 0.3\nYes: 0.7",
        "For instance:\nNo: 0.5\nYes: 0.5\nYour answer:\nNo: 0.3\nYes: 0.7",
        "Yes: 0.7\nsome words\nNo: 0.3",
        "No: 0.3\nYes: 0.7\nConfidence: 0.9",
    ],
)
def test_one_answer_and_no_other(text):
    assert block(text) == {"no": 0.3, "yes": 0.7}


@pytest.mark.parametrize(
    "text",
    [
        "No: 0.3\nYes: 0.7\nNo: 0.4\nYes: 0.6",
        "No: 0.3\nYes: 0.7\nYes: 0.6",
        "Yes: 0.6\nNo: 0.3\nYes: 0.7",
        "No: 0.3\nYes: 0.7\nCorrected: the reverse",
        "No: 0.3\nYes: 0.7\nMaybe: 0.2",
        "If positive:\nNo: 0.3\nYes: 0.7",
        "For instance:\nNo: 0.5\nYes: 0.5",
        "No: 0.3\nYes: maybe 0.7",
        "No: 0.3\nYes",
    ],
)
def test_two_answers_half_of_one_and_examples_are_none(text):
    with pytest.raises(UnreadableError):
        block(text)


def test_some_labels_are_told_as_such():
    assert block("Yes: 0.7") == {"yes": 0.7}
    assert block("nothing here") is None


def test_lines_around_an_answer_may_take_it_back():
    assert block("As JSON.", after=True) is None
    with pytest.raises(UnreadableError):
        block("Sorry, the other way round.", after=True)
