"""Errors of a runs table: all at once, each with the column of the user's file, its rows and a
remedy, whatever kind of frame it is."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from coherence import InputError, SchemaError, analyze, read_runs, simulate, write_runs
from coherence.runs.read import validate_runs


def table(**columns):
    base = {"context": [1, 1, 2], "rep": [0, 1, 0], "p": [0.1, 0.2, 0.3]}
    return pd.DataFrame({**base, "action": ["a", "b", "a"], "theta": [0, 0, 1], **columns})


def policies(**columns):
    base = {"action_no": [0.25, 0.5, 1.0], "action_yes": [0.75, 0.5, 0.0]}
    return table(**{"action": [None] * 3, **base, **columns})


def errors_of(runs):
    try:
        validate_runs(runs)
    except SchemaError as error:
        return list(error.errors)
    return []


def says(errors, *parts):
    """Whether one error has all of these: the column, its rows, a remedy."""
    return any(all(part in error for part in parts) for error in errors)


def test_valid_tables_pass():
    validate_runs(table(status=["ok", "repaired:percent", "repaired:words"]))
    statuses = ["ok", "sum_not_one", "refused"]
    validate_runs(table(status=statuses, p=[0.1, None, 0.3], action=["a", "b", None]))
    validate_runs(simulate("noisy", n_contexts=5, n_reps=2, rng=0))
    validate_runs(pd.DataFrame({"p": [0.5], "action": ["a"], "theta": [1]}))
    thirds = {name: [0.33] for name in ("p_a", "p_b", "p_c")}
    validate_runs(pd.DataFrame(thirds | {"action": ["a"], "theta": ["c"]}))
    validate_runs(table(x_note=["a", None, None]))
    validate_runs(table(model=[date(2026, 1, 1), "b", "b"], context=[Decimal(1), 2.5, 3]))
    # What is never sorted needs no order.
    validate_runs(table(action=[date(2026, 1, 1), 1, 1], theta=[pd.NaT, 1, 1], context=[1, 2, 3]))
    validate_runs(table(p=pd.Series([0.1, 0.2, 0.3], dtype="Sparse[float]")))
    validate_runs(policies())
    validate_runs(policies().drop(columns="action"))
    # Rows that asked for no action, and tasks with actions of their own.
    validate_runs(policies(action_no=[0.25, None, 1.0], action_yes=[0.75, None, 0.0]))
    first = {"action_no": [0.25, 0.5, None], "action_yes": [0.75, 0.5, None]}
    second = {"action_wait": [None, None, 0.4], "action_go": [None, None, 0.6]}
    validate_runs(policies(task=["a", "a", "b"], **first, **second))
    # Without task and model all rows are of one unit, whatever the rows are called.
    dated = pd.date_range("2026-01-01", periods=3)
    validate_runs(policies().drop(columns="action").set_axis(dated, axis=0))
    # A note on the action that was chosen is none of its probabilities.
    validate_runs(table(action_note=["quick", "slow", "quick"], action_seconds=[0.2, 3.0, 1.0]))
    validate_runs(simulate("rational", n_contexts=4, n_reps=1, rng=0, policies=True))
    validate_runs(policies(p_sd=[0.0, 0.5, None], p_q05=[0.1, None, 0.2], p_q95=[0.1, 0.3, None]))
    validate_runs(policies(tokens=[3, None, 0], finish_reason=["stop", "length", None]))


OK, DRAWN = {"status": ["ok"] * 3}, {"truth_kind": "drawn"}


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"p": [-0.1, 0.2, 0.3]}, ("1 of 3", "-0.1 (row 0)")),
        ({"p": ["0.1", "high", "0.3"]}, ("'p' must hold numbers", "'high' (row 1)", "empty")),
        ({"p": [True, False, True]}, ("'p' must hold numbers",)),
        ({"action": [["a"], ["b"], "a"]}, ("'action' must hold single values; 2 of 3", "['a']")),
        ({"model": ["m", None, "b"]}, ("'model' is empty in row 1", "leave the column out")),
        ({"theta": [0, 1, 1]}, ("theta", "1 context", "'1' (rows 0, 1)", "what has one truth")),
        ({"rep": [0, 0, 0]}, ("(context, rep) must be unique", "(rows 0, 1)", "drop copies")),
        ({"context": [1, None, 2]}, ("'context' is empty in row 1", "leave the column out")),
        ({"status": ["ok", "fine", "ok"]}, ("'status'", "'fine' (row 1)", "repaired:percent")),
        (OK | {"p": [0.1, np.nan, 0.3]}, ("status is 'ok' but 'p' is empty in row 1", "says why")),
        (
            {"status": ["ok", "refused", "ok"]},
            ("status is 'refused'", "'p' and 'action' are filled in row 1", "unparsed one empty"),
        ),
        ({"z": ["s", None, None], "z_state": [0, None, None]}, ("'z' needs", "'p_z'")),
        (DRAWN | {"p_true": [0.1, 1.2, 0.3]}, ("'p_true' must hold", "1.2 (row 1)")),
        (DRAWN | {"group": ["g", "h", "g"]}, ("group must be the same", "one group each")),
        # In place of an action.
        ({"action_yes": [0.75, 0.4, 0.0]}, ("action_no, action_yes must sum to 1", "0.9 (row 1)")),
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
            {"action": ["no", "yes", "no"], "action_no": [0.25, 0.5, 1]},
            ("'action'", "action_no, action_yes", "one or the other", "Drop one of them"),
        ),
        (
            {"status": ["ok", "unparsed", "ok"], "action_no": [0.25, 0.5, 1]},
            ("'p' and the probabilities of actions are filled in row 1",),
        ),
        ({"belief_kind": ["token", "guessed", None]}, ("'belief_kind'", "revealed", "(row 1)")),
        ({"tokens": [3, -1, 2]}, ("'tokens' must hold whole numbers of at least 0", "(row 1)")),
    ],
)
def test_each_error_names_its_column_rows_and_remedy(columns, parts):
    computed = {"action_no", "action_yes", "p_sd", "p_q05", "belief_kind", "tokens"} & set(columns)
    runs = (policies if computed else table)(**columns)
    assert says(errors_of(runs), *parts)
    with pytest.raises(SchemaError):
        analyze(runs)


def test_all_errors_come_at_once():
    with pytest.raises(SchemaError) as caught:
        validate_runs(table(p=[0.1, 85, 0.3], theta=[0, 1, 1], status=["ok", "ok", "?"]))
    assert len(caught.value.errors) == 3
    assert str(caught.value).startswith("runs table has 3 errors: ")
    assert errors_of(pd.DataFrame({"p": []})) == ["it has no rows."]
    ids, *others = errors_of(table(context=["1.2345E+18"] * 3, p=[0.1, 85, 0.3], action=[*"aAb"]))
    assert "ids with all their digits" in ids
    assert [error.split("'")[1] for error in others] == ["p", "action"]
    with pytest.raises(InputError) as caught:
        read_runs("x.csv", columns={"beleif": "p"}, sep=";;", scale="1-7", prediction="said")
    assert len(caught.value.errors) == 4
    twice, deep = {"columns": {"p": "p_true", "p_true": "p_true"}}, {"where": "not " * 2000}
    for option in ({"decimal": 3}, {"sep": [","]}, {"where": b"p == 1"}, {"sheet": 0}, twice, deep):
        with pytest.raises(InputError, match=f"^{next(iter(option))}"):
            read_runs("x.csv", **option)


def test_missing_columns_name_the_closest():
    missing, nothing = errors_of(pd.DataFrame({"Belief": [0.1], "Actions": ["a"], "y": [1]}))
    assert says([missing], "'p'", "name found: 'Belief'", "--belief NAME", "columns={'p'")
    assert says([nothing], "'theta'", "the exact posterior", "name found: 'Actions'")
    assert says([nothing], "--action NAME, --truth NAME, --exact NAME", "columns={'action': NAME")
    missing, _ = errors_of(pd.DataFrame({"said": [0.1], "unmapped_prompt": ["a"]}))
    assert says([missing], "Found: 'said', 'prompt'.")


def test_beliefs_over_three_states_are_compared_with_choices_and_states():
    states = {"p_a": [0.2, 0.3], "p_b": [0.3, 0.3], "p_c": [0.5, 0.4]}
    table = pd.DataFrame(states | {"action": ["x", "y"], "theta": ["a", "c"]})
    validate_runs(table)
    validate_runs(table.drop(columns="action"))  # they are scored
    errors = errors_of(table.drop(columns=["action", "theta"]))
    assert says(errors, "there is nothing to check beliefs against")
    two = pd.DataFrame({"p_a": [0.2, 0.3], "p_b": [0.8, 0.7], "prompt": ["standard", "mse"]})
    assert says(errors_of(two), "or the exact posterior", "Found: 'p_a', 'p_b'.")
    validate_runs(two.assign(p_true=0.5, truth_kind="recorded"))
    errors = errors_of(table.assign(p_c=[0.5, 0.1]))
    assert says(errors, "p_a, p_b, p_c must sum to 1 (within 0.02)", "1 of 2 rows", "0.7 (row 1)")


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


def test_a_row_has_a_choice_or_probabilities_of_choices():
    exact = policies().assign(task="t", model="exact")
    drawn = policies(action=["no", "yes", "no"]).drop(columns=["action_no", "action_yes"])
    both = pd.concat([drawn.assign(task="t", model="drawn"), exact], ignore_index=True)
    assert errors_of(both) == []
    every = both.assign(action=both["action"].fillna("no"))
    assert says(errors_of(every), "a row has one or the other", "Drop one of them")
    assert errors_of(both.loc[:2]) == errors_of(both.loc[3:]) == []


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ("runs.csv", "received str. Read the file first: coherence.read_runs('runs.csv')."),
        (Path("a/b.csv"), "Read the file first: coherence.read_runs('a/b.csv')."),
        ({"p": [0.5]}, "received dict. Make it one: pandas.DataFrame(runs)."),
        (np.zeros(3), "received numpy.ndarray. Make it one"),
        (pyarrow.chunked_array([[0.5]]), "received pyarrow.lib.ChunkedArray. Make it one"),
        (None, "received NoneType. Make it one: pandas.DataFrame(runs)."),
    ],
)
def test_what_is_no_frame_says_how_to_make_it_one(runs, message):
    with pytest.raises(InputError, match="^runs must be a pandas DataFrame") as error:
        validate_runs(runs)
    assert message in str(error.value)
    said = "no such file" if isinstance(runs, str | Path) else "^runs must be a pandas DataFrame"
    with pytest.raises(InputError, match=said):
        analyze(runs)


class Exporting:
    """As frames of polars: columns are handed out by Arrow's C stream."""

    def __init__(self, table):
        self.table = pyarrow.Table.from_pandas(table)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_every_form_of_a_table_is_analysed_alike(tmp_path):
    """Breaks if contexts kept in the index are dropped, and every row becomes one of its own."""
    runs = simulate("leaky", n_contexts=12, n_reps=2, rng=1)
    report = analyze(runs, checks=["calibration"], rng=1)
    indexed = runs.set_index(["task", "model", "context"])
    forms = [validate_runs(runs), pyarrow.Table.from_pandas(runs), Exporting(runs), indexed]
    for number, table in enumerate((Exporting(runs), indexed)):
        write_runs(table, tmp_path / f"{number}.parquet")
        forms.append(tmp_path / f"{number}.parquet")
    for form in forms:
        assert analyze(form, checks=["calibration"], rng=1).to_json() == report.to_json()
    assert report.evaluations[0].results[0].n_contexts == 12


def test_names_of_columns_and_of_the_index_must_differ():
    runs = pd.DataFrame({"context": ["a", "b"], "p": 0.5, "theta": [0, 1]})
    validate_runs(runs.rename_axis("row"))
    levels = pd.MultiIndex.from_product([["context", "p", "theta"], [""]])
    for faulty, said in (
        (pd.concat([runs, runs[["context"]]], axis=1), "context occur more than once"),
        (runs.set_index("context", drop=False), "context .* drop the index"),
        (runs.rename_axis("context"), "context .* drop the index"),
        (runs.set_axis(levels, axis=1), "columns must have one level of names; these have 2"),
    ):
        with pytest.raises(SchemaError, match=said):
            validate_runs(faulty)
        with pytest.raises(SchemaError, match=said):
            analyze(faulty)
