"""The columns of the runs table as data, and the two families of columns that tables name."""

import pandas as pd

from coherence.table.schema import (
    COLUMN_NAMES,
    COLUMNS,
    KEY,
    PROBABILITIES,
    READABLE,
    REPAIRS,
    STATUSES,
    action_columns,
    feature_columns,
    has_action,
    policy_rows,
    state_columns,
)


def test_columns_are_named_once_and_the_key_is_of_them():
    assert len(set(COLUMN_NAMES)) == len(COLUMNS)
    assert set(KEY) <= set(COLUMN_NAMES)
    spread = ("p_sd", "p_q05", "p_q95")
    assert ("p", *spread, "p_true", "p_z", "p_z_true", "answer_mass") == PROBABILITIES
    assert all(column.meaning.endswith(".") for column in COLUMNS)


def test_statuses_go_from_the_mildest_to_the_gravest():
    assert STATUSES[0] == "ok"
    assert STATUSES[-1] == "refused"
    assert [*READABLE] == ["ok", *REPAIRS, "low_mass"]
    assert len(set(STATUSES)) == len(STATUSES)


def test_beliefs_per_state_are_columns_that_have_no_other_meaning():
    states = pd.DataFrame(columns=["p_b", "p_true", "p_z", "p_a", "x_1", "price"])
    assert state_columns(states) == ["p_b", "p_a"]
    assert feature_columns(states) == ["x_1"]
    # Beside p, a column p_value is somebody's note and no belief.
    assert state_columns(pd.DataFrame(columns=["p", "p_value"])) == []


def test_probabilities_of_actions_are_columns_only_where_no_action_is():
    table = pd.DataFrame({"action_b": [0.4], "action_a": [0.6], "p_sd": [0.1], "p_q05": [0.0]})
    assert action_columns(table) == ["action_b", "action_a"]
    assert action_columns(table.assign(action=None)) == ["action_b", "action_a"]
    assert action_columns(table.assign(action="a")) == []
    assert state_columns(table) == []  # a spread is no belief in a state


def test_actions_are_there_in_either_form():
    table = pd.DataFrame({"action_b": [0.4, None], "action_a": [0.6, None]})
    assert has_action(table).tolist() == [True, False]
    assert has_action(table.assign(action=[None, "a"])).tolist() == [False, True]
    assert has_action(pd.DataFrame({"p": [0.1]})).tolist() == [False]


def test_probabilities_of_actions_are_told_where_the_task_is_missing():
    runs = pd.DataFrame({"task": [None, None, "a"], "action_no": [0.4, 1.0, 0.5]})
    runs["action_yes"] = 1 - runs["action_no"]
    assert policy_rows(runs).all()
    assert policy_rows(runs.assign(action=[None, None, "no"])).tolist() == [True, True, False]
    assert not policy_rows(runs.assign(task=None, action="no")).any()
