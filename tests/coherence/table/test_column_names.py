"""Columns that nothing reads: a slip of the pen is a fault, the others are listed."""

import pandas as pd
import pytest

from coherence import InputError, analyze, read_runs, simulate
from coherence.table.column_names import (
    column_faults,
    column_meant,
    one_slip_apart,
)
from coherence.table.runs import Runs


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acton", "action"),
        ("actions", "action"),
        ("Action", "action"),
        ("acitno", None),  # two slips
        ("thtea", "theta"),
        (" theta", "theta"),
        ("contexts", "context"),
        ("reps", "rep"),
        ("P", "p"),
        ("p_ture", "p_true"),
        ("z-state", "z_state"),
        ("X_age", "x_..."),
        ("Action_yes", "action_..."),
        ("content", None),
        ("section", None),
        ("confidence", None),
        ("ref", None),
        ("beta", None),
    ],
)
def test_one_slip_is_seen_and_other_words_are_not(name, meant):
    assert column_meant(name, [name]) == meant


def test_what_is_there_already_is_not_meant():
    assert column_meant("actions", ["action", "actions"]) is None
    assert column_meant("P_value", ["p", "P_value"]) is None
    assert one_slip_apart("action", "action")


def test_columns_that_are_read_are_no_strangers():
    table = pd.DataFrame({"p": [0.5], "x_age": [1], "raw_z": [""], "p_value": [1], "note": [""]})
    assert Runs(table).unread == ["p_value", "note"]
    states = pd.DataFrame({"p_a": [0.5], "p_b": [0.5], "action_go": [1.0], "action_stay": [0.0]})
    assert Runs(states).unread == []
    assert Runs(simulate("rational", n_contexts=5, n_reps=1, rng=0)).unread == []


@pytest.fixture
def runs():
    table = simulate("rational", n_contexts=30, n_reps=1, prompts=("standard",), rng=1)
    return table[table["z_state"].isna()][["context", "p", "action", "theta"]]


def test_a_misspelt_action_is_a_fault_with_its_remedies(runs, tmp_path):
    wrong = runs.rename(columns={"action": "acton"})
    assert column_faults(Runs(wrong)) == [
        "column 'acton' is not read, and its name is close to 'action', which is missing. Rename "
        "it if that is meant; else drop it (--ignore acton)."
    ]
    path = tmp_path / "runs.csv"
    wrong.to_csv(path, index=False)
    with pytest.raises(ValueError, match="'acton' is not read"):
        read_runs(path)
    assert "acton" not in read_runs(path, ignore=["acton"])
    assert "action" in read_runs(path, columns={"action": "acton"})
    with pytest.raises(InputError, match="there is no column 'action' to ignore. Closest name"):
        read_runs(path, ignore="action")


def test_columns_that_are_nearly_features_are_told_in_one_sentence(runs):
    wide = pd.concat(
        [runs, pd.DataFrame(0.0, runs.index, [f"X_{i}" for i in range(20_000)])], axis=1
    )
    (fault,) = column_faults(Runs(wide))
    assert fault.startswith("20000 columns are not read, and their names are close to 'x_...'")
    assert len(fault) < 300


def test_other_columns_are_listed(runs):
    report = analyze(runs.assign(truth=1, note="x"), checks=["calibration"], rng=1)
    assert "columns that nothing reads: truth, note." in report.units[0].notes
    silent = analyze(runs, checks=["calibration"], rng=1)
    assert not any("nothing reads" in note for note in silent.units[0].notes)
