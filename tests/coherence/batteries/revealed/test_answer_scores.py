"""Scores of stated answers and of bets."""

import pytest

from coherence.batteries.revealed.answer_scores import score_stated
from coherence.errors import InputError


def test_a_letter_without_a_probability_is_named_with_its_setting(stated_rows):
    rows = stated_rows(0.2)
    message = (
        "stated answers of 'm' to 's' lack the probability of letter 'C' in rotation 1 .1 are "
        "missing.. Give one to every letter"
    )
    hole = (rows["rotation"] == 1) & (rows["letter"] == "C")
    for faulty in (rows[~hole], rows.assign(mass=rows["mass"].mask(hole))):
        with pytest.raises(InputError, match=message):
            score_stated(faulty)
