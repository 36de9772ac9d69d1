"""validate_runs lists every error at once, with the column, its rows and a remedy."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, simulate, validate_runs


def errors_of(runs):
    try:
        validate_runs(runs)
    except SchemaError as error:
        return list(error.errors)
    return []


def says(errors, *parts):
    """Whether one error has all of these: the column, its rows, a remedy."""
    return any(all(part in error for part in parts) for error in errors)


def table(**columns):
    base = {
        "context": [1, 1, 2],
        "rep": [0, 1, 0],
        "p": [0.1, 0.2, 0.3],
        "action": ["a", "b", "a"],
        "theta": [0, 0, 1],
    }
    return pd.DataFrame({**base, **columns})


def test_valid_tables_pass():
    validate_runs(table())
    validate_runs(table(status=["ok", "repaired:percent", "repaired:words"]))
    validate_runs(
        table(status=["ok", "sum_not_one", "refused"], p=[0.1, None, 0.3], action=["a", "b", None])
    )
    validate_runs(simulate("noisy", n_contexts=5, n_reps=2, rng=0))
    validate_runs(pd.DataFrame({"p": [0.5], "action": ["a"], "theta": [1]}))
    validate_runs(
        pd.DataFrame({"p_a": [0.33], "p_b": [0.33], "p_c": [0.33], "action": ["a"], "theta": ["c"]})
    )


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        (
            {"p": [10, 85, 0.3]},
            ("'p' must hold probabilities", "2 of 3", "10 (rows 0, 1)", "Divide percentages by"),
        ),
        ({"p": [7, 8, 0.3]}, ("'p'", "(rows 0, 1)", "--scale 0..10 (scale='0..10')")),
        ({"p": [-0.1, 0.2, 0.3]}, ("1 of 3", "-0.1 (row 0)")),
        ({"p": ["0.1", "high", "0.3"]}, ("'p' must hold numbers", "'high' (row 1)", "empty")),
        ({"p": [True, False, True]}, ("'p' must hold numbers",)),
        ({"theta": [0, 1, 1]}, ("theta", "1 context", "'1' (rows 0, 1)", "its own context id")),
        ({"rep": [0, 0, 0]}, ("(context, rep) must be unique", "(rows 0, 1)", "drop copies")),
        ({"context": [1, None, 2]}, ("'context' is empty in row 1", "leave the column out")),
        ({"status": ["ok", "fine", "ok"]}, ("'status'", "'fine' (row 1)", "repaired:percent")),
        ({"status": ["ok", "repaired:odd", "ok"]}, ("'status'", "'repaired:odd' (row 1)")),
        (
            {"status": ["ok"] * 3, "p": [0.1, np.nan, 0.3]},
            ("status is 'ok' but 'p' is empty in row 1", "the status that says why"),
        ),
        (
            {"status": ["ok", "repaired:percent", "ok"], "p": [0.1, np.nan, 0.3]},
            ("status is 'repaired:percent' but 'p' is empty in row 1",),
        ),
        (
            {"status": ["ok", "refused", "ok"]},
            ("status is 'refused'", "'p' and 'action' are filled in row 1", "unparsed one empty"),
        ),
        (
            {"z": ["s", None, None], "z_state": [0, None, None]},
            ("'z' needs", "'z_state' and 'p_z'"),
        ),
        (
            {"p_true": [0.1, 1.2, 0.3], "truth_kind": "drawn"},
            ("'p_true' must hold probabilities", "1.2 (row 1)"),
        ),
        ({"group": ["g", None, "g"], "truth_kind": "drawn"}, ("'group' is empty in row 1",)),
        (
            {"group": ["g", "h", "g"], "truth_kind": "drawn"},
            ("group must be the same", "(rows 0, 1)", "one group each"),
        ),
    ],
)
def test_each_error_names_its_column_rows_and_remedy(columns, parts):
    assert says(errors_of(table(**columns)), *parts)


def test_all_errors_come_at_once():
    with pytest.raises(SchemaError) as caught:
        validate_runs(table(p=[0.1, 85, 0.3], theta=[0, 1, 1], status=["ok", "ok", "?"]))
    assert len(caught.value.errors) == 3
    assert str(caught.value).startswith("runs table has 3 errors: ")


def test_missing_columns_name_the_closest():
    missing, nothing, slip = errors_of(pd.DataFrame({"Belief": [0.1], "acton": ["a"], "y": [1]}))
    assert says([slip], "'acton'", "'action'", "--ignore acton")
    assert says([missing], "'p'", "closest name found is 'Belief'", "--belief NAME", "columns={'p'")
    assert says(
        [nothing], "'action'", "'theta'", "the exact posterior", "'prompt'", "'z'", "is 'acton'"
    )
    assert says([nothing], "--action NAME, --truth NAME, --exact NAME", "columns={'action': NAME")
    missing, _ = errors_of(pd.DataFrame({"belief": [0.1], "unmapped_prompt": ["a"]}))
    assert says([missing], "There is a column 'belief'.")
    missing, _ = errors_of(pd.DataFrame({"said": [0.1], "unmapped_prompt": ["a"]}))
    assert says([missing], "Found: 'said', 'prompt'.")


def test_beliefs_over_three_states_are_compared_with_choices_and_states():
    table = pd.DataFrame(
        {
            "p_a": [0.2, 0.3],
            "p_b": [0.3, 0.3],
            "p_c": [0.5, 0.4],
            "action": ["x", "y"],
            "theta": ["a", "c"],
        }
    )
    validate_runs(table)
    validate_runs(table.drop(columns="action"))  # they are scored
    errors = errors_of(table.drop(columns=["action", "theta"]))
    assert says(errors, "there is nothing to check beliefs against")
    two = pd.DataFrame({"p_a": [0.2, 0.3], "p_b": [0.8, 0.7], "prompt": ["standard", "mse"]})
    assert says(errors_of(two), "or the exact posterior", "Found: 'p_a', 'p_b'.")
    validate_runs(two.assign(p_true=0.5, truth_kind="recorded"))


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"prompt": ["mse", "mse"]},
        {"prompt": [None, "standard"]},
        {"x_age": [1, 2], "rep": [0, 1]},
    ],
)
def test_beliefs_with_nothing_beside_them_are_refused(columns):
    table = pd.DataFrame({"p": [0.1, 0.2], **columns})
    with pytest.raises(
        SchemaError, match=r"has 1 error: there is nothing to check beliefs against: give 'action'"
    ):
        validate_runs(table)


def test_one_column_of_beliefs_is_not_a_belief_per_state():
    """Whether p_yes is p, or a column is missing, only its owner knows."""
    table = pd.DataFrame({"p_yes": [0.2, 0.9], "action": ["no", "yes"], "theta": [0, 1]})
    (error,) = errors_of(table)
    assert says([error], "'p_yes' is the only column of beliefs", "(--belief p_yes)")
    validate_runs(table.rename(columns={"p_yes": "p"}))
    validate_runs(table.assign(p_no=1 - table["p_yes"]))
    validate_runs(table.assign(p=table["p_yes"]))
    only, nothing = errors_of(table[["p_yes"]])
    assert only == error
    assert says([nothing], "nothing to check beliefs against", "'action'", "'p_true': NAME")


def test_beliefs_over_states_must_sum_to_one():
    beliefs = {"p_a": [0.5, 0.5], "p_b": [0.5, 0.2]}
    errors = errors_of(pd.DataFrame({**beliefs, "action": ["x", "y"], "theta": ["a", "b"]}))
    assert says(errors, "p_a, p_b must sum to 1 (within 0.02)", "1 of 2 rows", "0.7 (row 1)")


def test_empty_and_doubled():
    assert errors_of(pd.DataFrame({"p": []})) == ["it has no rows."]
    doubled = pd.DataFrame([[0.1, 0.2]], columns=["p", "p"])
    assert says(errors_of(doubled), "must be unique", "p occur more than once")


def policies(**columns):
    base = {"action_no": [0.25, 0.5, 1.0], "action_yes": [0.75, 0.5, 0.0]}
    return table(**{"action": [None] * 3, **base, **columns})


def test_probabilities_in_place_of_an_action_pass():
    validate_runs(policies())
    validate_runs(policies().drop(columns="action"))
    # Rows that asked for no action, and tasks with actions of their own.
    validate_runs(policies(action_no=[0.25, None, 1.0], action_yes=[0.75, None, 0.0]))
    validate_runs(
        policies(
            task=["a", "a", "b"],
            action_no=[0.25, 0.5, None],
            action_yes=[0.75, 0.5, None],
            action_wait=[None, None, 0.4],
            action_go=[None, None, 0.6],
        )
    )
    # Without task and model all rows are of one unit, whatever the rows are called.
    for index in (
        pd.date_range("2026-01-01", periods=3),
        pd.MultiIndex.from_product([["a"], [1, 2, 3]]),
    ):
        validate_runs(policies().drop(columns="action").set_axis(index, axis=0))
    # A note on the action that was chosen is none of its probabilities.
    validate_runs(table(action_note=["quick", "slow", "quick"], action_seconds=[0.2, 3.0, 1.0]))
    validate_runs(simulate("rational", n_contexts=4, n_reps=1, rng=0, policies=True))


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        (
            {"action_yes": [0.75, 0.4, 0.0]},
            ("action_no, action_yes must sum to 1 (within 1e-06)", "1 of 3 rows", "0.9 (row 1)"),
        ),
        ({"action_yes": [0.75, None, 0.0]}, ("0.5 (row 1)",)),
        (
            {"action_no": [0.25, 1.0, 1.0], "action_yes": [0.75, None, 0.0]},
            ("probabilities of some actions are empty", "row 1", "0 included"),
        ),
        (
            {"action_no": [-0.25, 0.5, 1.0], "action_yes": [1.25, 0.5, 0.0]},
            ("'action_yes' must hold probabilities in [0, 1]", "1 of 3"),
        ),
        ({"action_no": ["x", "y", "z"]}, ("'action_no' must hold numbers", "3 of 3")),
        (
            {"action": ["no", "yes", "no"]},
            ("'action'", "action_no, action_yes", "one or the other", "Drop one of them"),
        ),
        (
            {"status": ["ok", "unparsed", "ok"]},
            ("status is 'unparsed'", "'p' and the probabilities of actions are filled in row 1"),
        ),
        ({"p_sd": [0.1, 0.6, 0.2]}, ("'p_sd' must be at most 0.5", "0.6 (row 1)")),
        (
            {"p_q05": [0.1, 0.5, 0.2], "p_q95": [0.4, 0.4, 0.2]},
            ("'p_q05' must not lie above 'p_q95'", "1 of 3", "(row 1)"),
        ),
        ({"belief_kind": ["token", "guessed", None]}, ("'belief_kind'", "revealed", "(row 1)")),
        ({"tokens": [3, -1, 2]}, ("'tokens' must hold whole numbers of at least 0", "(row 1)")),
        ({"tokens": [3, 1.5, 2]}, ("'tokens'", "1.5 (row 1)")),
    ],
)
def test_errors_in_computed_answers_are_named(columns, parts):
    assert says(errors_of(policies(**columns)), *parts)


def test_one_model_may_be_asked_for_choices_and_another_for_probabilities():
    exact = policies().assign(task="t", model="exact")
    drawn = policies(action=["no", "yes", "no"]).drop(columns=["action_no", "action_yes"])
    both = pd.concat([drawn.assign(task="t", model="drawn"), exact], ignore_index=True)
    assert errors_of(both) == []
    notes = both.assign(action_note=7.0)  # something else where actions were chosen
    assert says(errors_of(notes), "'action_note' must hold probabilities")
    notes.loc[3:, "action_note"] = None
    assert errors_of(notes) == []
    off = both.copy()
    off.loc[4, "action_no"] = 0.4
    assert says(errors_of(off), "must sum to 1", "row 4")
    doubled = both.copy()
    doubled.loc[:2, ["action_no", "action_yes"]] = [0.5, 0.5]
    assert says(errors_of(doubled), "a task and model has one or the other")


def test_a_spread_may_be_as_wide_as_answers_can_lie():
    validate_runs(policies(p_sd=[0.0, 0.5, None], p_q05=[0.1, None, 0.2], p_q95=[0.1, 0.3, None]))
    validate_runs(policies(tokens=[3, None, 0], finish_reason=["stop", "length", None]))
