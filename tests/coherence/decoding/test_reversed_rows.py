"""Numbers before labels: breaks if a label gets a number that is not its own."""

import pytest

from coherence.decoding.decode import decode_belief, decode_distribution
from coherence.decoding.reversed_rows import with_labels_first

LABELS = ("No", "Yes")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("70% Yes, 30% No", 0.7),
        ("30% No\n70% Yes", 0.7),
        ("I'd put this at 35% Yes and 65% No.", 0.35),
        ("There is a 70% chance of Yes and a 30% chance of No.", 0.7),
        ("0.25 No; 0.75 Yes, because of the cough", 0.75),
        ("30.5% no / 69.5% yes", 0.695),
    ],
)
def test_numbers_before_their_labels_are_read(text, value):
    assert decode_belief(text).value == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "70% Yes",  # half of it, and "70% No" would be as near
        "70% chance of No",
        "70% Yes, 40% No",
        "70% Yes or 30% No",
        "Not 70% Yes, 30% No",
        "About 70% Yes, 30% No",
        "They say 70% Yes, 30% No",
        "If untreated 70% Yes, 30% No",
        "70% Yes, 20% Maybe, 30% No",
        "70% Yes: 30% No",
        "70% Yes\nSo much for that.\n30% No",
    ],
)
def test_half_answers_hedges_and_others_are_not(text):
    assert decode_belief(text).value is None


def test_rows_are_written_only_where_every_label_has_a_number():
    assert with_labels_first(["So:", "70% Yes, 30% No!"], LABELS) == ["So:", "Yes: 70%; No: 30%!"]
    rows = ["70% Yes", "a line", "30% No"]
    assert with_labels_first(rows, LABELS) == rows
    text = "20% low, 50% medium and 30% high"
    assert decode_distribution(text, ("low", "medium", "high")).value == (0.2, 0.5, 0.3)
