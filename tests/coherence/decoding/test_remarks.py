"""Remarks: breaks if a courtesy spoils an answer, or words that deny it do not."""

from fractions import Fraction

import pytest

from coherence.decoding.decode import decode_belief, decode_decision
from coherence.decoding.remarks import claims_of, contradicts, takes_back

BLOCK = "No: 0.30\nYes: 0.70\n\n"
YES = Fraction(7, 10)
STATED = {YES, 1 - YES}


@pytest.mark.parametrize(
    "remark",
    [
        "Sorry I can't be more precise.",
        "I'm sorry if that is not helpful!",
        "I apologize for any uncertainty.",
        "I'm happy to revise this if you share more details.",
        "Let me know if you would like me to update the numbers.",
        "Please wait for confirmation by a radiologist.",
        "Sum: 1.00",
        "Total: 0.30 + 0.70 = 1.00",
        "These values are my best guess.",
        "The patient most likely has bronchitis.",
        "The cough makes cancer less likely than bronchitis.",
    ],
)
def test_courtesies_and_words_that_agree_take_nothing_back(remark):
    assert not contradicts(remark, STATED, YES)
    assert decode_belief(BLOCK + remark).value == 0.7


@pytest.mark.parametrize(
    "remark",
    [
        "Sorry, the other way round.",
        "I apologize for the mistake.",
        "Sorry for the confusion, I mixed the labels up.",
        "I could revise this to 40.5%.",
        "The labels got flipped.",
        "Just kidding.",
        "These are not my probabilities.",
        "These would apply only if the ECG were abnormal.",
        "So the patient most likely does not have the disease.",
        "Bronchitis is very unlikely.",
        "In other words, there is a 30% probability that she has it.",
        "The probability that she does not have it is 0.7.",
        "Patient B: the same.",
        "This was the example.",
    ],
)
def test_what_denies_an_answer_leaves_it_unread(remark):
    assert contradicts(remark, STATED, YES)
    assert decode_belief(BLOCK + remark).value is None


def test_words_decide_only_against_what_they_deny():
    assert takes_back("It is more likely that she has it.", Fraction(3, 10))
    assert not takes_back("It is more likely that she has it.", YES)
    assert not takes_back("Cancer is unlikely.", Fraction(1, 2))  # nothing there to deny
    assert not takes_back("Cancer is unlikely.")


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("She probably has it.", {True}),
        ("More likely than not.", {True}),
        ("The patient does not have the disease.", {False}),
        ("He is most likely healthy. But he probably has a cold.", {True, False}),
        ("If she smokes, she probably has it.", set()),
        ("Smoking makes it likely that one has it.", set()),
        ("The patient does not have a fever.", set()),
        ("", set()),
    ],
)
def test_what_sentences_claim(text, claims):
    assert claims_of(text) == claims


def test_a_decision_is_denied_by_its_reasons():
    lines = "Can decide: Yes\nDecision: Yes\n\n"
    assert decode_decision(lines + "The patient does not have a fever.").value == "yes"
    assert decode_decision(lines + "Overall, the patient does not have the disease.").value is None
