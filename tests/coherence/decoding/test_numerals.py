"""Numerals: breaks if a number is not what it says, or a long row of digits costs its square."""

import time
from fractions import Fraction

import pytest

from coherence.decoding.numerals import (
    NUMBER,
    RepairedText,
    UnreadableError,
    plain_character,
    value_of,
)


def value(text):
    match = NUMBER.fullmatch(text)
    return None if match is None else value_of(match, RepairedText(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.7", Fraction(7, 10)),
        (".7", Fraction(7, 10)),
        ("7.", Fraction(7)),
        ("0,7", Fraction(7, 10)),
        ("70 %", Fraction(7, 10)),
        ("7/10", Fraction(7, 10)),
        ("7 out of 10", Fraction(7, 10)),
        ("7e-1", Fraction(7, 10)),
        ("0.7.5", None),
        ("0.7-0.8", None),
    ],
)
def test_numbers_have_their_exact_value(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize("text", ["1,000", "7/0", "0." + "1" * 40])
def test_what_may_be_another_number_is_none(text):
    with pytest.raises(UnreadableError):
        value(text)


def test_characters_of_other_scripts():
    assert "".join(map(plain_character, "\u0667\uff05\u00a0\u2212a")) == "7% -a"


def test_a_repair_has_a_name():
    with pytest.raises(UnreadableError):
        _ = RepairedText("0.7").status


def test_rows_of_digits_are_taken_as_a_whole():
    start = time.process_time()
    assert NUMBER.search("1" * 200_000 + "x") is None
    assert time.process_time() - start < 1.0
