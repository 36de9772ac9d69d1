"""validate_runs lists every fault at once, with rows and remedies."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, simulate, validate_runs
from coherence.schema import find_faults


def table(**columns):
    base = {"context": [1, 1, 2], "rep": [0, 1, 0], "p": [0.1, 0.2, 0.3], "action": ["a", "b", "a"], "theta": [0, 0, 1]}
    return pd.DataFrame({**base, **columns})


def test_valid_tables_pass():
    validate_runs(table())
    validate_runs(table(status=["ok", "repaired:percent", "repaired:words"]))
    validate_runs(table(status=["ok", "sum_not_one", "refused"], p=[0.1, None, 0.3], action=["a", "b", None]))
    validate_runs(simulate("noisy", n_contexts=5, n_reps=2, rng=0))
    validate_runs(pd.DataFrame({"p": [0.5], "action": ["a"], "theta": [1]}))
    validate_runs(pd.DataFrame({"p_a": [0.33], "p_b": [0.33], "p_c": [0.33], "action": ["a"], "theta": ["c"]}))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"p": [10, 85, 0.3]},
            "column 'p' must hold probabilities in [0, 1]; 2 of 3 values do not, the first is 10 (rows 0, 1). Divide percentages by 100.",
        ),
        ({"p": [-0.1, 0.2, 0.3]}, "1 of 3 values do not, the first is -0.1 (row 0)."),
        ({"p": ["0.1", "high", "0.3"]}, "column 'p' must hold numbers; 1 of 3 values do not, the first is 'high' (row 1)."),
        ({"p": [True, False, True]}, "column 'p' must hold numbers"),
        ({"theta": [0, 1, 1]}, "it varies within 1 context, the first is '1' (rows 0, 1)."),
        ({"rep": [0, 0, 0]}, "(context, rep) must be unique; 2 rows share theirs with another (rows 0, 1)."),
        ({"context": [1, None, 2]}, "column 'context' is empty in row 1."),
        ({"status": ["ok", "fine", "ok"]}, "the first other value is 'fine' (row 1)."),
        ({"status": ["ok"] * 3, "p": [0.1, np.nan, 0.3]}, "status is 'ok' but 'p' is empty in row 1."),
        ({"status": ["ok", "repaired:odd", "ok"]}, "the first other value is 'repaired:odd' (row 1)."),
        ({"status": ["ok", "repaired:percent", "ok"], "p": [0.1, np.nan, 0.3]}, "status is 'repaired:percent' but 'p' is empty in row 1."),
        ({"status": ["ok", "refused", "ok"]}, "status is 'refused' but both 'p' and 'action' are filled in row 1."),
        ({"z": ["s", None, None]}, "column 'z' needs the columns 'z_state' and 'p_z' beside it."),
        ({"p_true": [0.1, 1.2, 0.3]}, "column 'p_true' must hold probabilities in [0, 1]; 1 of 3 values do not, the first is 1.2 (row 1)."),
    ],
)
def test_each_fault_is_named_with_its_rows(columns, message):
    assert any(message in fault for fault in find_faults(table(**columns)))


def test_all_faults_come_at_once():
    with pytest.raises(SchemaError) as caught:
        validate_runs(table(p=[0.1, 85, 0.3], theta=[0, 1, 1], status=["ok", "ok", "?"]))
    assert len(caught.value.faults) == 3
    assert str(caught.value).startswith("runs table has 3 faults: ")


def test_missing_columns_name_the_closest():
    faults = find_faults(pd.DataFrame({"Belief": [0.1], "acton": ["a"], "y": [1]}))
    assert "column 'p' (the stated belief) is missing. Closest name found: 'Belief'. Map it, for example --belief NAME." in faults
    assert any("column 'action' is missing. Closest name found: 'acton'." in fault for fault in faults)
    assert any("column 'theta' is missing. Found: 'Belief', 'acton', 'y'." in fault for fault in faults)


def test_tables_of_beliefs_alone_need_no_action():
    validate_runs(pd.DataFrame({"context": [1, 1], "prompt": ["standard", "mse"], "p": [0.1, 0.2]}))


def test_beliefs_over_states_must_sum_to_one():
    faults = find_faults(pd.DataFrame({"p_a": [0.5, 0.5], "p_b": [0.5, 0.2], "action": ["x", "y"], "theta": ["a", "b"]}))
    assert faults == ["the columns p_a, p_b must sum to 1 (within 0.02); 1 rows do not, the first sums to 0.7 (row 1)."]


def test_empty_and_doubled():
    assert find_faults(pd.DataFrame({"p": []})) == ["it has no rows."]
    doubled = pd.DataFrame([[0.1, 0.2]], columns=["p", "p"])
    assert find_faults(doubled) == ["column names must be unique; p occur more than once."]
