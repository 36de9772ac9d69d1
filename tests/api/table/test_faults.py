"""validate_runs lists every fault at once, with rows and remedies."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, simulate, validate_runs
from coherence.checks import catalogue
from coherence.table.faults import examined
from coherence.table.runs import Runs


def find_faults(runs, **options):
    return examined(runs, **options)[1]


def lacking(runs):
    return catalogue.lacking(Runs(runs))


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
    ("columns", "message"),
    [
        (
            {"p": [10, 85, 0.3]},
            "column 'p' must hold probabilities in [0, 1]; 2 of 3 values do not, the first is "
            "10 (rows 0, 1). Divide percentages by 100.",
        ),
        ({"p": [-0.1, 0.2, 0.3]}, "1 of 3 values do not, the first is -0.1 (row 0)."),
        (
            {"p": ["0.1", "high", "0.3"]},
            "column 'p' must hold numbers; 1 of 3 values do not, the first is 'high' (row 1).",
        ),
        ({"p": [True, False, True]}, "column 'p' must hold numbers"),
        ({"theta": [0, 1, 1]}, "it varies within 1 context, the first is '1' (rows 0, 1)."),
        (
            {"rep": [0, 0, 0]},
            "(context, rep) must be unique; 2 rows share theirs with another (rows 0, 1).",
        ),
        ({"context": [1, None, 2]}, "column 'context' is empty in row 1."),
        ({"status": ["ok", "fine", "ok"]}, "the first other value is 'fine' (row 1)."),
        (
            {"status": ["ok"] * 3, "p": [0.1, np.nan, 0.3]},
            "status is 'ok' but 'p' is empty in row 1.",
        ),
        (
            {"status": ["ok", "repaired:odd", "ok"]},
            "the first other value is 'repaired:odd' (row 1).",
        ),
        (
            {"status": ["ok", "repaired:percent", "ok"], "p": [0.1, np.nan, 0.3]},
            "status is 'repaired:percent' but 'p' is empty in row 1.",
        ),
        (
            {"status": ["ok", "refused", "ok"]},
            "status is 'refused' but both 'p' and 'action' are filled in row 1.",
        ),
        ({"z": ["s", None, None]}, "column 'z' needs the columns 'z_state' and 'p_z' beside it."),
        (
            {"p_true": [0.1, 1.2, 0.3]},
            "column 'p_true' must hold probabilities in [0, 1]; 1 of 3 values do not, the first"
            " is 1.2 (row 1).",
        ),
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
    missing, nothing, slip = find_faults(pd.DataFrame({"Belief": [0.1], "acton": ["a"], "y": [1]}))
    assert slip.startswith("column 'acton' is not read, and its name is close to 'action'")
    assert (
        missing == "column 'p' (the stated belief) is missing. Closest name found: 'Belief'. "
        "Say which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME}), or rename "
        "the column of a DataFrame."
    )
    assert nothing.startswith(
        "there is nothing to check beliefs against: give 'action' (what was chosen), 'theta' "
        "(the realised state), 'p_true'"
    )
    assert nothing.endswith(
        "For 'action' the closest name found is 'acton'. Say which is which: --action NAME, "
        "--truth NAME; in Python read_runs(..., columns={'action': NAME, 'theta': NAME}), or "
        "rename the columns of a DataFrame."
    )


def test_names_that_only_share_letters_are_not_proposed():
    """A column "question" was once the closest name to "action"."""
    table = pd.DataFrame({"relief": [0.1], "question": ["a"], "reason": [1], "that": [0]})
    missing, nothing = find_faults(table.rename(columns={"relief": "brief"}))
    for said in (missing, nothing):
        assert "closest name" not in said.casefold()
        assert "Found: 'brief', 'question', 'reason', 'that'." in said


@pytest.mark.parametrize(
    ("columns", "checks"),
    [
        ({"action": ["a", "b"]}, {"monotone_choice"}),
        ({"theta": [0, 1]}, {"calibration"}),
        ({"p_true": [0.2, 0.3]}, {"calibration"}),
        ({"context": [1, 1], "prompt": ["standard", "mse"]}, {"prompt_consistency"}),
        ({"context": [1, 1], "prompt": [None, "mse"]}, {"prompt_consistency"}),
        ({"z": [None, "s"], "z_state": [None, "a"], "p_z": [None, 0.4]}, {"iterated_expectation"}),
        (
            {"action": ["a", "b"], "theta": [0, 1]},
            {
                "residual_covariance",
                "cmi",
                "predictive_gain",
                "monotone_choice",
                "calibration",
                "rational_agent",
            },
        ),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_one_thing_to_check_beliefs_against_is_enough(columns, checks):
    table = pd.DataFrame({"p": [0.1, 0.2], **columns})
    validate_runs(table)
    assert {check for check, needs in lacking(table).items() if not needs} == checks


def test_beliefs_over_three_states_have_no_order_and_no_calibration():
    table = pd.DataFrame(
        {
            "p_a": [0.2, 0.3],
            "p_b": [0.3, 0.3],
            "p_c": [0.5, 0.4],
            "action": ["x", "y"],
            "theta": ["a", "c"],
        }
    )
    needs = lacking(table)
    assert needs["cmi"] == ()
    assert needs["monotone_choice"] == needs["calibration"] == ("belief in one of two states",)
    assert needs["prompt_consistency"] == ("p", "second prompt")
    validate_runs(table)
    (fault,) = find_faults(table.drop(columns="action"))
    assert fault.startswith(
        "there is nothing to check beliefs against: give 'action' (what was chosen) together "
        "with 'theta'"
    )
    two = pd.DataFrame({"p_a": [0.2, 0.3], "p_b": [0.8, 0.7], "prompt": ["standard", "mse"]})
    assert "or 'p_true' (the exact posterior). Found: 'p_a', 'p_b'." in find_faults(two)[0]
    validate_runs(two.assign(p_true=0.5))


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"prompt": ["mse", "mse"]},
        {"prompt": [None, "standard"]},
        {"x_age": [1, 2], "rep": [0, 1]},
    ],
)
def test_beliefs_with_nothing_beside_them_are_refused_unless_they_are_part_of_a_table(columns):
    table = pd.DataFrame({"p": [0.1, 0.2], **columns})
    with pytest.raises(
        SchemaError, match=r"has 1 fault: there is nothing to check beliefs against: give 'action'"
    ):
        validate_runs(table)
    assert find_faults(table, part=True) == []


def test_columns_that_could_not_be_read_are_there_and_allow_nothing():
    """A report of a model that never answered readably is worth having."""
    silent = pd.DataFrame(
        {"p": [None, None], "action": [None, None], "status": ["refused", "refused"]}
    ).astype({"p": float})
    validate_runs(silent)
    assert all(lacking(silent).values())


def test_one_column_of_beliefs_is_not_a_belief_per_state():
    """Whether p_yes is p, or a column is missing, only its owner knows."""
    table = pd.DataFrame({"p_yes": [0.2, 0.9], "action": ["no", "yes"], "theta": [0, 1]})
    (fault,) = find_faults(table)
    assert fault.startswith("'p_yes' is the only column of beliefs")
    assert "Rename it to 'p' (--belief p_yes) if it is the probability that theta = 1" in fault
    assert all(
        "readable belief" in needs
        for check, needs in lacking(table).items()
        if check in ("residual_covariance", "cmi", "predictive_gain")
    )
    validate_runs(table.rename(columns={"p_yes": "p"}))
    validate_runs(table.assign(p_no=1 - table["p_yes"]))
    validate_runs(table.assign(p=table["p_yes"]))
    only, nothing = find_faults(table[["p_yes"]])
    assert only == fault
    assert nothing.startswith(
        "there is nothing to check beliefs against: give 'action' (what was chosen), 'theta' "
        "(the realised state), 'p_true'"
    )


def test_beliefs_over_states_must_sum_to_one():
    faults = find_faults(
        pd.DataFrame(
            {"p_a": [0.5, 0.5], "p_b": [0.5, 0.2], "action": ["x", "y"], "theta": ["a", "b"]}
        )
    )
    assert faults == [
        "the columns p_a, p_b must sum to 1 (within 0.02); 1 row does not, the first sums to 0.7"
        " (row 1)."
    ]


def test_empty_and_doubled():
    assert find_faults(pd.DataFrame({"p": []})) == ["it has no rows."]
    doubled = pd.DataFrame([[0.1, 0.2]], columns=["p", "p"])
    assert find_faults(doubled) == ["column names must be unique; p occur more than once."]


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
    ("columns", "message"),
    [
        (
            {"action_yes": [0.75, 0.4, 0.0]},
            "the columns action_no, action_yes must sum to 1 (within 1e-06); 1 row does not, the "
            "first sums to 0.9 (row 1).",
        ),
        (
            {"action_yes": [0.75, None, 0.0]},
            "the first sums to 0.5 (row 1).",
        ),
        (
            {"action_no": [0.25, 1.0, 1.0], "action_yes": [0.75, None, 0.0]},
            "probabilities of some actions are empty beside those of others in row 1.",
        ),
        (
            {"action_no": [-0.25, 0.5, 1.0], "action_yes": [1.25, 0.5, 0.0]},
            "column 'action_yes' must hold probabilities in [0, 1]; 1 of 3 values do not",
        ),
        ({"action_no": ["x", "y", "z"]}, "column 'action_no' must hold numbers; 3 of 3"),
        (
            {"action": ["no", "yes", "no"]},
            "there are chosen actions in 'action' and their probabilities in action_no, "
            "action_yes; a task and model has one or the other.",
        ),
        (
            {"status": ["ok", "unparsed", "ok"]},
            "status is 'unparsed' but both 'p' and the probabilities of actions are filled in "
            "row 1.",
        ),
        ({"p_sd": [0.1, 0.6, 0.2]}, "column 'p_sd' must be at most 0.5"),
        (
            {"p_q05": [0.1, 0.5, 0.2], "p_q95": [0.4, 0.4, 0.2]},
            "'p_q05' must not lie above 'p_q95'; it does in 1 row (row 1).",
        ),
        (
            {"belief_kind": ["token", "guessed", None]},
            "column 'belief_kind' must be one of stated:drawn, stated:forced, stated:masked, "
            "stated:exact, token, sampled, revealed; the first other value is 'guessed' (row 1).",
        ),
        ({"tokens": [3, -1, 2]}, "column 'tokens' must hold whole numbers of at least 0"),
        ({"tokens": [3, 1.5, 2]}, "the first other value is 1.5 (row 1)."),
    ],
)
def test_faults_of_computed_answers_are_named(columns, message):
    assert any(message in fault for fault in find_faults(policies(**columns)))


def test_one_model_may_be_asked_for_choices_and_another_for_probabilities():
    exact = policies().assign(task="t", model="exact")
    drawn = policies(action=["no", "yes", "no"]).drop(columns=["action_no", "action_yes"])
    both = pd.concat([drawn.assign(task="t", model="drawn"), exact], ignore_index=True)
    assert find_faults(both) == []
    notes = both.assign(action_note=7.0)  # something else where actions were chosen
    assert any("'action_note' must hold probabilities" in fault for fault in find_faults(notes))
    notes.loc[3:, "action_note"] = None
    assert find_faults(notes) == []
    off = both.copy()
    off.loc[4, "action_no"] = 0.4
    assert any("must sum to 1" in fault and "row 4" in fault for fault in find_faults(off))
    doubled = both.copy()
    doubled.loc[:2, ["action_no", "action_yes"]] = [0.5, 0.5]
    assert any("a task and model has one or the other" in fault for fault in find_faults(doubled))


def test_a_single_column_of_probabilities_lacks_the_other_actions():
    runs = policies().drop(columns="action_yes").assign(action_no=1.0)
    assert find_faults(runs)[0].startswith("'action_no' is the only column of probabilities")


def test_a_spread_may_be_as_wide_as_answers_can_lie():
    validate_runs(policies(p_sd=[0.0, 0.5, None], p_q05=[0.1, None, 0.2], p_q95=[0.1, 0.3, None]))
    validate_runs(policies(tokens=[3, None, 0], finish_reason=["stop", "length", None]))


def test_probabilities_of_actions_allow_the_checks_of_actions():
    assert lacking(policies())["residual_covariance"] == ()
    empty = policies(action_no=[None] * 3, action_yes=[None] * 3)
    assert lacking(empty)["residual_covariance"] == ("action",)
