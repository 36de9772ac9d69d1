"""Breaks if a percentage becomes a probability of another size, or one is guessed."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, SchemaError, read_runs
from coherence.table.validation import validate_runs


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return a function that reads columns from a file; lines of JSON keep texts and numbers."""

    def table(percent=False, decimal=".", **columns):
        rows = pd.DataFrame({"theta": 1} | columns)
        monkeypatch.chdir(tmp_path)
        rows.to_json("mine.jsonl", orient="records", lines=True, double_precision=15)
        return read_runs("mine.jsonl", percent=percent, decimal=decimal)

    return table


def test_percentages_of_what_was_stated_and_signs_wherever_they_are(read):
    exact = {"p_true": [0.5, 0.25, 1], "truth_kind": "recorded"}
    runs = read(percent=True, p=[70, 5.5, np.nan], p_z=[50, 1, 2], **exact, theta=[1, 0, 1])
    assert runs["p"].tolist()[:2] == [0.7, 0.055]
    assert np.isnan(runs["p"][2])
    assert runs["p_z"].tolist() == [0.5, 0.01, 0.02]
    assert runs["p_true"].tolist() == [0.5, 0.25, 1]
    assert runs["theta"].tolist() == [1, 0, 1]
    signed = {"p_true": ["50%", "0.5"], "truth_kind": "recorded"}
    assert read(percent=True, p=[70, 1], **signed)["p_true"].tolist() == [0.5, 0.5]
    assert read(percent=True, p_a=[70, 1], p_b=["30", "99 %"])["p_b"].tolist() == [0.3, 0.99]


def test_signs_in_every_cell_make_percentages_and_a_note(caplog, read):
    assert read(p=["70%", "0.5 %", None])["p"].tolist()[:2] == [0.7, 0.005]
    assert "'p' has percent signs and was read as percentages: 70% as 0.7" in caplog.text


def test_some_signs_and_commas_need_the_users_word(read):
    with pytest.raises(InputError, match=r"column 'p' has both percent signs.*--percent"):
        read(p=["70%", 20.0])
    with pytest.raises(InputError, match=r"column 'p_true' has decimal commas.*--decimal"):
        read(p=[0.5], p_true=["0,5"], truth_kind="recorded")
    assert read(p=["1,5", "20"], decimal=",", percent=True)["p"].tolist() == [0.015, 0.2]
    for column in (["20%", "30", "0.5"], ["20%", "0"]):
        with pytest.raises(InputError, match="both percent signs, such as '20%'.*--percent"):
            read(p=column)
        assert read(percent=True, p=column)["p"][0] == 0.2


@pytest.mark.parametrize("column", [[0.7, 0.9], ["0.7", "0.9"]])
def test_probabilities_are_not_divided_by_a_hundred(column, read):
    with pytest.raises(
        InputError, match=r"'p' is said to hold percentages, and the largest.* is 0.9"
    ):
        read(percent=True, p=column)


@pytest.mark.parametrize("percent", [False, True])
@pytest.mark.parametrize(
    ("columns", "signed", "bare"),
    [
        ({"p": ["20%", "0.95", "30%"]}, "'20%'", "0.95"),
        ({"p": ["1", "95 %"]}, "'95 %'", "1"),
        ({"p": ["20%", "0,95", "0"]}, "'20%'", "0.95"),
        ({"p_wet": ["20%", "30%"], "p_dry": [0.8, 0.7]}, "'20%'", "0.8"),
    ],
)
def test_signs_beside_probabilities_are_one_fault_whatever_is_said(
    columns, signed, bare, percent, read
):
    """Each of two errors once sent the user to the other."""
    with pytest.raises(InputError) as refused:
        read(percent=percent, decimal=",", **columns)
    said = str(refused.value)
    assert f"percent signs, such as {signed}" in said
    assert f"numbers without one, such as {bare}." in said
    assert "Write the column in one way" in said
    assert (said.count("percent=True"), said.count("--percent"), said.count(" | ")) == (0, 0, 0)


def test_values_below_one_are_percentages_and_counted(caplog, read):
    runs = read(percent=True, p=["0,7", "70", "0,4%"], decimal=",")
    assert runs["p"].tolist() == pytest.approx([0.007, 0.7, 0.004])
    (note,) = caplog.messages
    assert "1 of 2 values of 'p' is below 1 and was taken as a percentage: 0.7 as 0.7%" in note
    caplog.clear()
    for whole in ([70.0, 1.0, 0.0, np.nan], [1.0, 100.0, 0.0], [0.0, 0.0]):
        read(percent=True, p=whole)
    assert caplog.messages == []
    with pytest.raises(InputError, match="the largest of 2 values is 1. Leave percent"):
        read(percent=True, p=[1.0, 0.0])


def test_states_are_one_distribution(caplog, read):
    """A rare state may have 0.5% throughout, if the others make up the rest."""
    read(percent=True, p_wet=[0.5, 0.2], p_dry=[99.5, 99.8])
    assert "2 of 4 values of 'p_wet, p_dry' are below 1" in caplog.messages[0]
    with pytest.raises(InputError, match="'p_wet, p_dry' is said to hold percentages"):
        read(percent=True, p_wet=[0.4], p_dry=[0.6])


def test_one_slip_makes_no_column_of_percentages(read):
    """A 95 among probabilities is the odd one; to take the others as less than 1% changes all."""
    slipped = [0.2, 0.7, 0.35, 95.0, 0.5]
    with pytest.raises(InputError, match=r"4 of 5 values lie between 0 and 1, .* is 95"):
        read(percent=True, p=slipped)
    runs = pd.DataFrame({"p": slipped, "action": list("ababa"), "theta": [0, 1, 0, 1, 0]})
    with pytest.raises(SchemaError, match="Most values are probabilities; correct the") as refused:
        validate_runs(runs)
    assert "--percent" not in str(refused.value)
