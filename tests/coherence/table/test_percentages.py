"""Breaks if a column of probabilities passes for percentages, or a 0.7 among them in silence."""

import numpy as np
import pandas as pd
import pytest

from coherence.errors import InputError
from coherence.table.faults import find_faults
from coherence.table.percentages import (
    Tally,
    check_percentages,
    judge_percentages,
    remedy_outside,
)


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
    parts = [[], [0.0, 100.0], [0.7, 1.0], [0.2, 30.0]]
    together = sum(map(Tally.of, parts), Tally())
    assert together == Tally.of([number for part in parts for number in part])
    assert together == Tally(n=6, largest=100.0, n_below=2, first_below=0.7)
    assert check_percentages({"p": together}, "mine.csv") == (
        "2 of 6 values of 'p' are below 1 and were taken as percentages: 0.7 as 0.7%"
    )
    assert Tally.of([-3.0]).largest == 0


def test_one_slip_makes_no_column_of_percentages():
    """A 95 among probabilities is the odd one; to take the others as less than 1% changes all."""
    slipped = [0.2, 0.7, 0.35, 95.0, 0.5]
    with pytest.raises(InputError, match=r"4 of 5 values lie between 0 and 1, such as 0.2.*is 95"):
        check_percentages({"p": slipped}, "mine.csv")
    runs = pd.DataFrame({"p": slipped, "action": list("ababa"), "theta": [0, 1, 0, 1, 0]})
    (fault,) = find_faults(runs)
    assert "Most values are probabilities; correct the others" in fault
    assert "--percent" not in fault


def test_a_scale_of_ten_is_doubted():
    """Divided by 100, answers from 0 to 10 are valid probabilities, and ten times too small."""
    answers = [0.0, *np.arange(1.0, 11.0)]
    faults, (note,) = judge_percentages({"p": Tally.of(answers)})
    assert not faults
    assert note.startswith("caution: the largest of 11 values of 'p' is 10 and was taken as 10%")
    assert "divided by 10 instead" in note
    assert judge_percentages({"p": Tally.of([*answers, 11.0])}) == ([], [])
    assert judge_percentages({"p": Tally.of([2.0, 5.0])}) == ([], [])
    assert "on a scale of 0 to 10 by 10. Divide percentages" in remedy_outside(np.array(answers))
    assert "scale" not in remedy_outside(np.array([*answers, 80.0]))
