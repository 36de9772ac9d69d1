"""Stated numbers: breaks if a number of the evidence is read as the answer."""

import pytest

from coherence.decoding.numerals import RepairedText, UnreadableError
from coherence.decoding.stated_number import find_number


def number(text, *, cut=False):
    lines = [line for line in text.split("\n") if line]
    value = find_number(lines, [], RepairedText(text), cut=cut)
    return None if value is None else float(value)


@pytest.mark.parametrize(
    "text",
    [
        "0.7\nA 54-year-old with a risk of 20 in view.",
        "The prior is 0.1.\nAnswer: 0.7",
        "Estimated probability: 70%",
        "There is a 70% chance that the patient has it.",
        "I would say 0.7, since they smoke.",
        "The probability that a 54-year-old has it is 0.7.",
    ],
)
def test_the_one_number_that_answers(text):
    assert number(text) == 0.7


@pytest.mark.parametrize(
    "text",
    [
        "Of smokers 0.7 cough.",
        "There is a 70% chance in the general population.",
        "There is a 70% chance that they do not have it.",
        "There is a 70% chance that the patient is healthy.",
        "The probability of a benign tumour: 0.7",
        "My confidence in this answer: 0.7",
        "The risk is 0.7 or so.",
        "Is it 0.7?",
        "Prior: 0.7",
        "0.7 and 0.6 are both possible.",
        "A dose of $0.70.",
        "Answer: maybe 0.7",
        "If they smoke, I would say 0.7.",
    ],
)
def test_numbers_that_are_no_answer(text):
    assert number(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Answer: 0.7\nAnswer: 0.6",
        "0.7\nOn reflection, less.",
        "Answer: 0.7, or 0.6 if they smoke",
        "0.3\n0.4",
    ],
)
def test_two_numbers_or_a_hedged_one_are_an_answer_that_cannot_be_read(text):
    with pytest.raises(UnreadableError):
        number(text)


def test_of_a_cut_reply_only_what_is_conclusive_counts():
    assert number("Answer: 0.7\nThis is", cut=True) == 0.7
    assert number("Estimated probability: 0.7\nThis is", cut=True) is None
    assert number("I would say 0.7.\nThis is", cut=True) is None
