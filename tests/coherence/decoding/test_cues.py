"""Cues: breaks if a correction passes for a remark, or evidence for a second answer."""

from fractions import Fraction

import pytest

from coherence.decoding.cues import probabilities_in, sounds_like_refusal
from coherence.decoding.remarks import contradicts

SEVEN_TENTHS = {Fraction(3, 10), Fraction(7, 10)}


@pytest.mark.parametrize(
    "remark",
    [
        "Corrected: 0.6",
        "Actually, no.",
        "Sorry, the other way round.",
        "Wait.",
        "On second thought I am less sure.",
        "I'd now say 0.6.",
        "Perhaps 0.6 is fairer.",
        "or 0.4",
        "Given the base rate, I would say 0.6.",
        "Let me recalculate.",
    ],
)
def test_what_takes_an_answer_back(remark):
    assert contradicts(f"The X-ray matters.\n{remark}", SEVEN_TENTHS)


@pytest.mark.parametrize(
    "remark",
    [
        "",
        "The X-ray matters.",
        "The base rate is 11%, which the X-ray outweighs.",
        "A 64-year-old with 20 pack-years.",
        "That is a 70% chance.",
        "The numbers sum to 1.0.",
        "I hope this helps!",
        "This is not medical advice.",
    ],
)
def test_what_does_not(remark):
    assert not contradicts(remark, SEVEN_TENTHS)


def test_ages_and_counts_are_no_probabilities():
    assert probabilities_in("67 years, 3 cigarettes, 1 of them, 2.5 weeks") == []
    assert probabilities_in("0.4 and 30% and 1/2 and 120%") == [
        Fraction(2, 5),
        Fraction(3, 10),
        Fraction(1, 2),
    ]


def test_refusals_are_known_with_either_apostrophe():
    assert sounds_like_refusal("I can\u2019t say.")
    assert not sounds_like_refusal("I can say.")
