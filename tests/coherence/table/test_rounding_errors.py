import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.errors import SchemaError
from coherence.inputs import as_belief
from coherence.table.rounding_errors import within_bounds
from coherence.table.schema import PROBABILITY_TOLERANCE


def test_a_hair_outside_counts_as_the_end_and_is_said():
    table = pd.DataFrame(
        {"p": [0.2, 1 + 2e-10, -1e-7, None, 1.0], "action_a": 0.5, "action_b": 0.5, "p_true": 0.5}
    )
    moved, notes = within_bounds(table)
    assert moved["p"].tolist()[:3] == [0.2, 1.0, 0.0]
    assert moved["p"].isna().tolist() == [False, False, False, True, False]
    assert notes == [
        "2 values of 'p' lie outside [0, 1] by at most 1e-07, a rounding error, "
        "and count as 0 or 1."
    ]
    assert within_bounds(moved) == (moved, [])
    assert table["p"].iloc[1] > 1, "the table of the caller stays as it was"


def test_states_and_actions_are_columns_of_probabilities_too():
    table = pd.DataFrame({"p_a": [1 + 1e-9], "p_b": [-1e-9], "action_x": [1 + 1e-9]})
    moved, notes = within_bounds(table)
    assert moved.to_numpy().tolist() == [[1.0, 0.0, 1.0]]
    assert len(notes) == 3


@pytest.fixture
def runs():
    return coherence.simulate("rational", n_contexts=30, n_reps=2, rng=1)


@pytest.mark.lengthy
def test_a_report_says_it_and_is_that_of_the_ends(runs):
    runs.loc[0, "p"] = 1.0
    expected = coherence.analyze(runs, checks=["cmi", "calibration"], rng=1)
    runs.loc[0, "p"] = 1.0000000002
    report = coherence.analyze(runs, checks=["cmi", "calibration"], rng=1)
    pd.testing.assert_frame_equal(report.results, expected.results)
    (said,) = set(report.units[0].notes) - set(expected.units[0].notes)
    assert "1 value of 'p' lies outside [0, 1] by at most 2e-10" in said


def test_a_table_is_read_as_it_stands_and_what_is_farther_out_is_refused(runs, tmp_path):
    runs.loc[0, "p"] = 1.0000000002
    coherence.write_runs(runs, tmp_path / "runs.csv")
    assert coherence.read_runs(tmp_path / "runs.csv")["p"].iloc[0] == 1.0000000002
    runs.loc[0, "p"] = 1.00001
    said = r"'p' must hold .* \[0, 1\]; 1 of .* the first is 1.00001 \(row 0\)\. Up to 1e-06"
    with pytest.raises(SchemaError, match=said):
        coherence.analyze(runs)
    runs.loc[0, "p"] = 85
    with pytest.raises(
        SchemaError, match=r"the first is 85 .* Most values are probabilities; correct the others"
    ):
        coherence.analyze(runs)


def test_arrays_have_the_same_tolerance(caplog):
    out = 1 + PROBABILITY_TOLERANCE * np.array([0.9, -0.9])
    assert as_belief(out).tolist() == [1.0, out[1]]
    assert "belief holds rounding errors" in caplog.text
    with pytest.raises(ValueError, match=r"the first is 1\.0000011 at position 0"):
        as_belief([1 + 1.1 * PROBABILITY_TOLERANCE])
    with pytest.raises(ValueError, match=r"the first is -1\.1e-06 at position 1"):
        as_belief([0.5, -1.1 * PROBABILITY_TOLERANCE])
