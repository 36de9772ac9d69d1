"""Runs whose cases differ are refused or cut down. Breaks if unlike cases are compared as one."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, SchemaError, compare


@pytest.fixture
def pair():
    """Two models' tables about the same 20 cases."""
    size = {"n_contexts": 20, "n_reps": 2, "rng": 1, "iterated": False, "prompts": ["standard"]}
    asked = {name: coherence.simulate(name, **size) for name in ("rational", "noisy")}
    return {name: runs.drop(columns="action") for name, runs in asked.items()}


def found(runs, **options):
    return compare(runs, rng=1, **options)


def refusal(runs, **options):
    with pytest.raises(InputError) as error:
        found(runs, **options)
    return str(error.value)


def test_missing_contexts_are_named_by_model_with_a_remedy(pair):
    pair["noisy"] = pair["noisy"][~pair["noisy"]["context"].isin(["c0003", "c0007"])]
    message = refusal(pair)
    assert "task 'simulated': model 'noisy' lacks 2 of 20 cases ('c0003', 'c0007')" in message
    assert message.endswith("common=True (--common).")
    comparison = found(pair, common=True)
    assert comparison.settings["n_contexts"] == {"simulated": 18}
    assert set(comparison.effects["n_contexts"]) == {18}
    assert any("2 of 20 cases were left out" in note for note in comparison.notes)


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
        assert f"{column} differs in 1 of 20 cases of 'rational' and 'noisy'" in message
        assert "'c0004'" in message


def test_what_a_text_file_rounds_off_is_no_difference(pair):
    table = pair["noisy"]
    expected = found(pair).effects["estimate"].tolist()
    pair["noisy"] = table.assign(
        p_true=table["p_true"].round(7), x_1=table["x_1"].astype(str), theta=table["theta"].map(str)
    )
    assert found(pair).effects["estimate"].tolist() == pytest.approx(expected)


def test_what_one_table_knows_of_a_case_holds_for_all(pair):
    pair = {name: runs.drop(columns="belief_kind") for name, runs in pair.items()}
    expected = found(pd.concat(pair.values(), ignore_index=True))  # one table is as good as two
    assert expected.effects["model"].tolist() == ["rational", "noisy"]
    assert expected.notes == ()
    pair["noisy"] = pair["noisy"].drop(columns=["theta", "x_3"])
    comparison = found(pair)
    pd.testing.assert_frame_equal(comparison.effects, expected.effects)
    assert any("theta is not in the table of 'noisy'" in note for note in comparison.notes)


def test_a_task_that_a_model_was_not_asked_is_named(pair):
    more = pair["rational"].assign(task="other")
    tables = {"a": pd.concat([pair["rational"], more]), "b": pair["noisy"]}
    assert "task 'other': not asked of 'noisy'" in refusal(tables)
    comparison = found(tables, common=True)
    assert comparison.settings["n_contexts"] == {"simulated": 20}
    assert any("of one model only" in note for note in comparison.notes)


def test_too_little_to_compare_is_refused(pair):
    assert "at least two models" in refusal(pair["noisy"])
    bare = {name: table.drop(columns=["context", "rep"]) for name, table in pair.items()}
    assert "must have a column 'context'" in refusal(bare)
    with pytest.raises(SchemaError):
        found({**pair, "noisy": pair["noisy"].assign(p=70.0)})
    apart = {**pair, "noisy": pair["noisy"].assign(context=pair["noisy"]["context"] + "x")}
    assert "no case is common to all models" in refusal(apart, common=True)


@pytest.mark.parametrize("coded", [int, {True: "yes", False: "no"}.get])
def test_whether_each_own_answer_is_right_is_compared_as_the_refusal_says(coded):
    """Breaks if the remedy of a column `correct` is refused, or scores another event."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"context": [*range(40)] * 2, "model": ["a"] * 40 + ["b"] * 40})
    table["p"], right = rng.uniform(0.4, 0.9, 80).round(2), rng.random(80) < 0.6
    table["correct"] = [coded(bool(each)) for each in right]
    message = refusal(table, columns={"theta": "correct"})
    assert "--prediction, --gold" in message
    table["right"] = coded(True)
    effects = found(table, columns={"prediction": "correct", "gold": "right"}).effects
    of_a = effects.set_index("model").loc["a", "estimate"]
    assert of_a == pytest.approx(((table["p"] - right)[:40] ** 2).mean())
