"""What a number is of: breaks if the number of another event, or of somebody else's, is read."""

import pytest

from coherence.decoding.decode import decode_belief
from coherence.decoding.subjects import (
    concerns_another,
    introduces_answer,
    is_asked,
    is_called_answer,
    names_answer,
)


@pytest.mark.parametrize(
    "name",
    [
        "The probability is",
        "My final estimate:",
        "The risk of lung cancer is",
        "Given the symptoms, I'd put the probability at",
        "I would estimate the probability to be",
        "P(Yes) =",
        "P(disease | evidence) =",
        "The probability that the patient has heart disease is",
        "Posterior:",
        "La probabilit\u00e9 est :",
        "\u6982\u7387:",
    ],
)
def test_names_of_the_answer(name):
    assert names_answer(name)
    assert decode_belief(f"{name} 0.7", form="number").value == 0.7


@pytest.mark.parametrize(
    "name",
    [
        "The probability that the patient survives is",
        "The probability that the patient is a smoker is",
        "The probability that she does not have it is",
        "The chance of a positive test is",
        "The probability of disease is reduced by",
        "The likelihood ratio is",
        "I estimate the sum to be",
        "They claim the probability is",
        "You'd say the probability is",
        "Prior probability:",
        "Threshold probability:",
        "Test result:",
        "Final score:",
        "P(E) =",
        "P(cough | disease) =",
        "P(bronchitis | smoker) =",
        "Probability (%):",
        "Let P(D) =",
    ],
)
def test_names_of_other_numbers(name):
    assert not names_answer(name)
    assert decode_belief(f"{name} 0.7", form="number").value is None
    assert decode_belief(f"{name} 0.7").value is None


@pytest.mark.parametrize(
    ("rest", "another"),
    [
        (" in this case.", False),
        (" for this patient.", False),
        (" that he has it.", False),
        (" (moderately likely)", False),
        (", given the clear X-ray.", False),
        (" for a smoker", True),
        (" in the worst case", True),
        (" that he does not have it", True),
        (" (no disease)", True),
        (" (for the first patient)", True),
        (" given a positive X-ray; here it is negative", True),
        (" if untreated", True),
    ],
)
def test_what_follows_a_number_says_what_it_is_of(rest, another):
    assert concerns_another(rest) == another
    value = decode_belief(f"0.7{rest}", form="number").value
    assert value == (None if another else 0.7)


def test_events_and_openings():
    assert is_asked("of a patient who smokes having a cough")
    assert not is_asked("of a smoker having it")
    assert not is_asked("of recovery")
    assert is_asked("that she has it given these findings")
    assert not is_asked("that she has it given a fever")
    assert introduces_answer("I'd say there is a ")
    assert not introduces_answer("In a general ward there is a ")
    assert is_called_answer(" is my estimate.")
    assert not is_called_answer(" is the base rate.")
