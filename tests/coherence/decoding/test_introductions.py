"""Introductions: breaks if another case's block passes for the answer, or the answer is lost."""

import pytest

from coherence.decoding.decode import decode_belief
from coherence.decoding.introductions import introduces_another

BLOCK = "No: 0.30\nYes: 0.70"


@pytest.mark.parametrize(
    "row",
    [
        "Prior:",
        "Base rate:",
        "Patient B:",
        "For the first patient:",
        "Last year:",
        "Before the test:",
        "Without treatment:",
        "If the test is positive:",
        "Assuming the patient is a smoker.",
        "Format:",
        "As an example:",
        "Dyspnea present:",
        "A smoker would have:",
        "My colleague's estimate:",
        "The doctor gave these numbers:",
        "In percent:",
        "Here, No means the patient has it.",
        "These are not the right values:",
        "I would not say",
    ],
)
def test_a_block_of_something_else_is_not_read(row):
    assert introduces_another([row])
    assert decode_belief(f"{row}\n{BLOCK}").value is None


@pytest.mark.parametrize(
    "row",
    [
        "Here is my estimate:",
        "**Final answer:**",
        "If I had to give numbers, I'd say:",
        "I'm not a doctor, but based on the symptoms:",
        "Considering all of this:",
        "Does the patient have bronchitis?",
        "The X-ray does not show a mass.",
        "Dyspnea: No",
    ],
)
def test_an_answer_may_be_introduced(row):
    assert not introduces_another([row])
    assert decode_belief(f"{row}\n{BLOCK}").value == 0.7


def test_nothing_before_a_block_introduces_nothing():
    assert not introduces_another([])
