"""Breaks if a column of probabilities passes for percentages, or a 0.7 among them in silence."""

import pytest

from coherence.errors import InputError
from coherence.table.percentages import Tally, check_percentages


def test_states_are_one_distribution():
    """A rare state may have 0.5% throughout, if the others make up the rest."""
    note = check_percentages({"p_wet": [0.5, 0.2], "p_dry": [99.5, 99.8]}, "mine.csv")
    assert note == (
        "2 of 4 values of 'p_wet, p_dry' are below 1 and were taken as percentages: 0.5 as 0.5%"
    )
    with pytest.raises(InputError, match="p_wet, p_dry is said to hold percentages"):
        check_percentages({"p_wet": [0.4], "p_dry": [0.6]}, "mine.csv")


def test_one_and_nothing_are_no_probabilities_left_over():
    assert check_percentages({"p": [1.0, 100.0, 0.0]}, "mine.csv") == ""
    assert check_percentages({"p": [0.0], "p_z": []}, "mine.csv") == ""
    with pytest.raises(InputError, match="the largest of 2 values is 1. Leave percent"):
        check_percentages({"p": [1.0, 0.0]}, "mine.csv")


def test_parts_of_a_column_are_counted_like_the_whole():
    parts = [[], [0.0, 100.0], [0.7, 1.0], [0.2]]
    together = sum(map(Tally.of, parts), Tally())
    assert together == Tally.of([number for part in parts for number in part])
    assert together == Tally(n=5, largest=100.0, n_below=2, first_below=0.7)
    assert check_percentages({"p": together}, "mine.csv") == (
        "2 of 5 values of 'p' are below 1 and were taken as percentages: 0.7 as 0.7%"
    )
    assert Tally.of([-3.0]).largest == 0
