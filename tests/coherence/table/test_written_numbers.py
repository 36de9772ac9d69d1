"""Breaks if a percentage becomes a probability of another size, or one is guessed."""

import numpy as np
import pandas as pd
import pytest

from coherence.errors import InputError
from coherence.table.naming import Naming
from coherence.table.written_numbers import as_probabilities, read_probabilities


def read(percent=False, decimal=".", **columns):
    runs = pd.DataFrame(columns)
    return as_probabilities(runs, percent=percent, decimal=decimal, source="mine.csv")


def test_percentages_of_what_was_stated_and_signs_wherever_they_are():
    runs = read(
        percent=True, p=[70, 5.5, np.nan], p_z=[50, 1, 2], p_true=[0.5, 0.25, 1], theta=[1, 0, 1]
    )
    assert runs["p"].tolist()[:2] == [0.7, 0.055]
    assert np.isnan(runs["p"][2])
    assert runs["p_z"].tolist() == [0.5, 0.01, 0.02]
    assert runs["p_true"].tolist() == [0.5, 0.25, 1]
    assert runs["theta"].tolist() == [1, 0, 1]
    assert read(percent=True, p=[70, 1], p_true=["50%", "0.5"])["p_true"].tolist() == [0.5, 0.5]
    assert read(percent=True, p_a=[70, 1], p_b=["30", "99 %"])["p_b"].tolist() == [0.3, 0.99]


def test_signs_in_every_cell_make_percentages_and_a_note(caplog):
    assert read(p=["70%", "0.5 %", None])["p"].tolist()[:2] == [0.7, 0.005]
    assert "'p' has percent signs and was read as percentages: 70% as 0.7" in caplog.text


def test_some_signs_and_commas_need_the_users_word():
    with pytest.raises(InputError, match=r"column 'p' has both percent signs.*--percent"):
        read(p=["70%", 20.0])
    with pytest.raises(InputError, match=r"column 'p_true' has decimal commas.*--decimal"):
        read(p=[0.5], p_true=["0,5"])
    assert read(p=["1,5", "20"], decimal=",", percent=True)["p"].tolist() == [0.015, 0.2]


@pytest.mark.parametrize("column", [[0.7, 0.9], ["0.7", "0.9"]])
def test_probabilities_are_not_divided_by_a_hundred(column):
    with pytest.raises(
        InputError, match=r"p is said to hold percentages, and the largest.* is 0.9"
    ):
        read(percent=True, p=column)


@pytest.mark.parametrize("percent", [False, True])
@pytest.mark.parametrize(
    ("columns", "signed", "bare"),
    [
        ({"p": ["20%", "0.95", "30%"]}, "2 of 3 values have one, such as '20%'", "0.95"),
        ({"p": ["1", "95 %"]}, "1 of 2 values has one, such as '95 %'", "1"),
        ({"p": ["20%", "0,95", "0"]}, "1 of 3 values has one", "0.95"),
        ({"p_wet": ["20%", "30%"], "p_dry": [0.8, 0.7]}, "2 of 4 values have one", "0.8"),
    ],
)
def test_signs_beside_probabilities_are_one_fault_whatever_is_said(columns, signed, bare, percent):
    """Each of two errors once sent the user to the other."""
    with pytest.raises(InputError) as refused:
        read(percent=percent, decimal=",", **columns)
    said = str(refused.value)
    assert signed in said
    assert f"(such as {bare})" in said
    assert "Write the column in one way" in said
    assert "percent=True" not in said
    assert "--percent" not in said
    assert said.count(" | ") == 0


def test_signs_beside_percentages_or_nothing_need_the_word_alone():
    for column in (["20%", "30", "0.5"], ["20%", "0"]):
        with pytest.raises(InputError, match="both percent signs, such as '20%'.*--percent"):
            read(p=column)
        assert read(percent=True, p=column)["p"][0] == 0.2


def test_faults_of_several_columns_are_told_at_once():
    written = pd.DataFrame({"p": ["70%", "1,5%"], "p_z": ["0.2", "10%"], "p_true": ["1%", "2%"]})
    read, faults, notes = read_probabilities(
        written, percent=False, decimal=".", named=Naming({"p": "conf"})
    )
    assert [fault.split(" has ")[0] for fault in faults] == [
        "column 'p_z'",
        "column 'conf' (mapped to 'p')",
    ]
    assert [note.split(" has ")[0] for note in notes] == ["'conf' (mapped to 'p')", "'p_true'"]
    assert read["p"].tolist() == [0.7, 0.015], "as most likely meant, so that no rule trips on it"
    assert read["p_z"].tolist() == [0.2, 0.1]


def test_every_column_is_judged_by_itself():
    """P(z|x) left as probabilities beside percentages in p: divided, it would be lost."""
    with pytest.raises(InputError, match=r"mine.csv: p_z is said to hold percentages"):
        read(percent=True, p=[70, 20], p_z=[0.5, 0.25])
    assert read(percent=True, p=[0, 0])["p"].tolist() == [0, 0]


def test_values_below_one_are_percentages_and_counted(caplog):
    runs = read(percent=True, p=["0,7", "70", "0.4%"], decimal=",")
    assert runs["p"].tolist() == pytest.approx([0.007, 0.7, 0.004])
    assert caplog.messages == [
        "mine.csv: 1 of 2 values of 'p' is below 1 and was taken as a percentage: 0.7 as 0.7%"
    ]
    caplog.clear()
    read(percent=True, p=[70.0, 1.0, 0.0, np.nan])
    assert caplog.messages == []


def test_what_is_no_number_is_left_to_the_validator():
    runs = read(percent=True, p=["about half", "70", None], action=["50%", "b", "c"])
    assert runs["p"].tolist()[:2] == ["about half", 0.7]
    assert runs["action"].tolist() == ["50%", "b", "c"]
    assert read(p=[True, False])["p"].tolist() == [True, False]


def test_missing_values_of_pandas_among_numbers_are_missing():
    """They ended in a TypeError."""
    runs = read(p=pd.Series([0.1, pd.NA, None], dtype=object))
    assert runs["p"].isna().tolist() == [False, True, True]
    assert runs["p"].dtype == np.float64
