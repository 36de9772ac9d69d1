"""A runs table with its columns told apart: states, actions, prompts, needs, and what is filled."""

import itertools

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import SchemaError, read_runs, simulate, write_runs
from coherence.decoding.ranges import ROUNDING
from coherence.inputs import as_belief
from coherence.runs.read import validate_runs
from coherence.runs.runs import Runs


@pytest.mark.parametrize(
    ("prompts", "actions", "reference"),
    [
        (["mse", "standard", "mse"], ["no", None, "yes"], "standard"),
        (["mse", None, "mse"], ["no", None, "yes"], "standard"),  # an empty cell is the usual one
        (["b", "a", "b"], [None] * 3, "b"),
        (["b", "a"], [None] * 2, "a"),
        (["b", "a", "a"], ["yes", None, None], "b"),  # actions stand on its rows alone
        (["b", "a", "a"], ["yes", "no", None], "a"),
        ([2, 10, 10], [None] * 3, "10"),
    ],
)
def test_the_reference_does_not_depend_on_the_order_of_rows(prompts, actions, reference):
    rows = pd.DataFrame({"prompt": prompts, "action": actions})
    for order in itertools.permutations(rows.index):
        assert Runs(rows.loc[list(order)]).reference() == reference


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=20, n_reps=2, rng=1)


def test_equal_values_have_one_fingerprint(runs, tmp_path):
    same = Runs(runs).fingerprint
    write_runs(runs, tmp_path / "runs.parquet")
    assert Runs(read_runs(tmp_path / "runs.parquet")).fingerprint == same
    assert Runs(runs[runs.columns[::-1]]).fingerprint == same
    assert Runs(runs.set_index(runs.index + 7)).fingerprint == same
    assert Runs(runs.assign(action=runs["action"].astype("category"))).fingerprint == same


@pytest.mark.parametrize(
    "change",
    [
        lambda runs: runs.iloc[::-1],
        lambda runs: runs.iloc[:-1],
        lambda runs: runs.rename(columns={"p": "q"}),
        lambda runs: runs.assign(p=runs["p"].where(runs.index != 3, runs["p"] + 1e-12)),
        lambda runs: runs.assign(action=runs["action"].where(runs.index != 0, "other")),
        lambda runs: runs.assign(p=runs["p"].astype(str)),
    ],
)
def test_any_other_table_has_another(runs, change):
    assert Runs(change(runs)).fingerprint != Runs(runs).fingerprint


def test_a_hair_outside_counts_as_the_end_and_is_said():
    table = pd.DataFrame(
        {"p": [0.2, 1 + 2e-10, -1e-7, None, 1.0], "action_a": 0.5, "action_b": 0.5, "p_true": 0.5}
    )
    runs = validate_runs(table.assign(context=range(5), truth_kind="drawn"))
    moved, notes = runs.table, [note.text for note in runs.notes]
    assert moved["p"].tolist()[:3] == [0.2, 1.0, 0.0]
    assert moved["p"].isna().tolist() == [False, False, False, True, False]
    (note,) = notes
    assert note.startswith("2 values of 'p' outside [0, 1] by at most 1e-07, a rounding error")
    assert table["p"].iloc[1] > 1, "the table of the caller stays as it was"


def test_what_is_farther_out_is_refused():
    answers = simulate("rational", n_contexts=30, n_reps=2, rng=1)
    answers.loc[0, "p"] = 1.00001
    said = r"'p' must hold .* \[0, 1\]; 1 of .* the first is 1.00001 \(row 0\)\. Correct these"
    with pytest.raises(SchemaError, match=said):
        coherence.analyze(answers)
    answers.loc[0, "p"] = 85
    with pytest.raises(SchemaError, match=r"the first is 85 .* Correct these values"):
        coherence.analyze(answers)


def test_arrays_have_the_same_tolerance(caplog):
    out = 1 + ROUNDING * np.array([0.9, -0.9])
    assert as_belief(out).tolist() == [1.0, out[1]]
    assert "belief holds rounding errors" in caplog.text
    with pytest.raises(ValueError, match=r"the first is 1\.0000011 at position 0"):
        as_belief([1 + 1.1 * ROUNDING])
    with pytest.raises(ValueError, match=r"the first is -1\.1e-06 at position 1"):
        as_belief([0.5, -1.1 * ROUNDING])
