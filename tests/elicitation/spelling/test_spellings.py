"""Spellings of outcomes: breaks if one counts twice, or a letter is taken for a sign."""

import pytest

from coherence import InputError
from elicitation.spelling.spellings import collisions_of, spellings_of


@pytest.mark.parametrize(
    ("outcomes", "options", "message"),
    [
        ([], {}, "distinct and at least one"),
        (["a", "a"], {}, "distinct and at least one"),
        ("yes", {}, "single string 'yes'"),
        ([""], {}, "spellings that are not empty"),
        ({"a": []}, {}, "spellings that are not empty"),
        ({"a": "ab"}, {}, "spellings that are not empty"),
        (["a"], {"boundary": "line"}, "boundary must be one of"),
        ({"one": ["1", "1."]}, {}, "'1' and '1.' of outcome 'one' overlap in part"),
    ],
)
def test_outcomes_that_make_no_sense(outcomes, options, message):
    with pytest.raises(InputError, match=message):
        spellings_of(outcomes, **options)


def test_a_spelling_within_another_of_its_outcome_is_counted_once():
    assert [
        spelling.text
        for spelling in spellings_of({"no": ["no", "no way", "not"]}, leading_space=False)
    ] == [b"no", b"not"]
    # 0.5 forbids a further digit, so 0.50 is a spelling of its own.
    assert len(spellings_of({"half": ["0.5", "0.50"]}, leading_space=False)) == 2


def test_a_word_may_be_followed_by_signs_of_any_alphabet_but_not_by_letters():
    (yes,) = spellings_of(["Yes"], leading_space=False)
    signs, letters = (
        ("\u2014of course", "\u201d", "!", " t", "\U0001f600"),
        ("\u00e9", "\u044f", "\u306f", "t", "3"),
    )
    assert not any(tail.encode().startswith(yes.forbidden) for tail in signs)
    assert all(tail.encode().startswith(yes.forbidden) for tail in letters)


def test_collisions_tell_part_from_whole():
    spellings = spellings_of(
        {"1": ["1"], "dot": ["1."], "ten": ["10"], "per cent": ["1%"]}, leading_space=False
    )
    overlaps = {
        (collision.first.outcome, collision.second.outcome): collision.overlap
        for collision in collisions_of(spellings)
    }
    assert overlaps == {("1", "dot"): "part", ("1", "ten"): "none", ("1", "per cent"): "whole"}
