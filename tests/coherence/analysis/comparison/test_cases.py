import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, SchemaError
from coherence.analysis.comparison.cases import by_task_and_model, gather, same_cases


@pytest.fixture
def pair():
    """Two models' tables about the same 20 cases."""
    size = {"n_contexts": 20, "n_reps": 2, "rng": 1, "iterated": False, "prompts": ["standard"]}
    return {name: coherence.simulate(name, **size) for name in ("rational", "noisy")}


def refusal(runs, **options):
    with pytest.raises(InputError) as error:
        gather(runs, **options)
    return str(error.value)


def test_the_same_cases_pass_without_a_word(pair):
    (task,), notes = gather(pair)
    assert task.name == "simulated"
    assert list(task.rows) == ["rational", "noisy"]
    assert len(task.contexts) == 20
    assert (task.notes, notes) == ((), [])


def test_one_table_with_both_models_is_as_good(pair):
    (apart,), _ = gather(pair)
    (together,), _ = gather(pd.concat(pair.values(), ignore_index=True))
    assert together.contexts == apart.contexts
    for model in together.rows:
        assert together.rows[model]["p"].tolist() == apart.rows[model]["p"].tolist()


def test_missing_contexts_are_named_by_model_with_a_remedy(pair):
    pair["noisy"] = pair["noisy"][~pair["noisy"]["context"].isin(["c0003", "c0007"])]
    message = refusal(pair)
    assert "task 'simulated': model 'noisy' lacks 2 of 20 contexts ('c0003', 'c0007')" in message
    assert message.endswith("or keep what all have: common=True (--common).")
    (task,), _ = gather(pair, common=True)
    assert len(task.contexts) == 18
    assert "2 of 20 contexts were left out" in task.notes[0]
    assert "c0003" not in set(task.rows["rational"]["context"])


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("theta", lambda values: 1 - values),
        ("p_true", lambda values: values * 0.9),
        ("x_2", lambda values: values + 1),
    ],
)
def test_cases_that_are_not_the_same_under_one_id_are_refused(pair, column, change):
    table = pair["noisy"]
    there = table["context"] == "c0004"
    pair["noisy"] = table.assign(**{column: table[column].where(~there, change(table[column]))})
    for common in (False, True):
        message = refusal(pair, common=common)
        assert f"{column} differs in 1 of 20 contexts of 'rational' and 'noisy'" in message
        assert "the first is 'c0004'" in message
        assert "Cases of one id that are not the same cannot be compared" in message


def test_what_a_text_file_rounds_off_is_no_difference(pair):
    table = pair["noisy"]
    pair["noisy"] = table.assign(
        p_true=table["p_true"].round(7), x_1=table["x_1"].astype(str), theta=table["theta"].map(str)
    )
    (task,), _ = gather(pair)
    states = {model: rows["theta"].tolist() for model, rows in task.rows.items()}
    assert states["rational"] == states["noisy"]  # the labels of the cases, not of the files


def test_ids_of_any_type_are_matched_as_text(pair):
    for name, kind in (("rational", int), ("noisy", str)):
        number = pair[name]["context"].str.removeprefix("c").map(int)
        pair[name] = pair[name].assign(context=number.map(kind))
    (task,), _ = gather(pair)
    assert len(task.contexts) == 20


def test_what_one_table_knows_of_a_case_holds_for_all(pair):
    expected = pair["noisy"]["theta"].tolist()
    pair["noisy"] = pair["noisy"].drop(columns=["theta", "x_3"])
    (task,), _ = gather(pair)
    assert task.rows["noisy"]["theta"].tolist() == expected
    assert any("theta is not in the table of 'noisy'" in note for note in task.notes)
    assert any("x_3 of 'rational' is not known of every model" in note for note in task.notes)


def test_a_task_that_a_model_was_not_asked_is_named(pair):
    more = pair["rational"].assign(task="other")
    tables = {"a": pd.concat([pair["rational"], more]), "b": pair["noisy"]}
    message = refusal(tables)
    assert "task 'other': not asked of 'noisy'" in message
    (task,), notes = gather(tables, common=True)
    assert task.name == "simulated"
    assert any("of one model only" in note for note in notes)


def test_a_file_without_models_is_a_model(pair):
    tables = {name: table.drop(columns="model") for name, table in pair.items()}
    found, _ = by_task_and_model({"first": tables["rational"], "second": tables["noisy"]})
    assert list(found["simulated"]) == ["first", "second"]


def test_one_model_asked_in_two_ways_is_two_models(pair):
    again = pair["noisy"].assign(model="rational")
    found, notes = by_task_and_model({"drawn": pair["rational"], "exact": again})
    assert list(found["simulated"]) == ["rational (drawn)", "rational (exact)"]
    assert notes == ["'rational' is in several tables, which are told apart by their names."]


def test_tables_of_several_tasks_of_a_model_belong_together(pair):
    other = {name: table.assign(task="other") for name, table in pair.items()}
    tables = {**pair, **{f"{name} 2": table for name, table in other.items()}}
    tasks, notes = gather(tables)
    assert [task.name for task in tasks] == ["other", "simulated"]
    assert all(set(task.rows) == {"rational", "noisy"} for task in tasks)
    assert notes == []


def test_too_little_to_compare_is_refused(pair):
    assert "at least two models" in refusal(pair["noisy"])
    assert "must have a column 'context'" in refusal(
        {name: table.drop(columns=["context", "rep"]) for name, table in pair.items()}
    )
    with pytest.raises(SchemaError):
        gather({**pair, "noisy": pair["noisy"].assign(p=70.0)})
    apart = {**pair, "noisy": pair["noisy"].assign(context=pair["noisy"]["context"] + "x")}
    assert "no context is common to all models" in refusal(apart, common=True)


def test_ids_that_are_one_text_are_refused(pair):
    table = pair["noisy"]
    ids = table["context"].replace({"c0001": 1.0, "c0002": "1"}).astype(object)
    with pytest.raises((InputError, SchemaError)):
        gather({**pair, "noisy": table.assign(context=ids)})


def test_unknown_facts_contradict_nothing(pair):
    rows = {name: table.assign(z_state=None) for name, table in pair.items()}
    rows["noisy"] = rows["noisy"].assign(p_true=np.nan)
    task = same_cases("", rows, common=False)
    known = rows["rational"].groupby("context")["p_true"].first()
    assert task.rows["noisy"].groupby("context")["p_true"].first().equals(known)
