"""Units of a table: which state beliefs are in, what is an alert, and p-values over all units."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze


def answers(first="nein", second="ja", n=200, seed=0, as_object=False):
    """A calibrated agent whose actions follow the belief; p is the probability of `second`."""
    rng = np.random.default_rng(seed)
    belief = rng.uniform(0.05, 0.95, n).round(2)
    happened = rng.random(n) < belief
    theta = pd.Series(happened, dtype=object).map({True: second, False: first})
    action = np.where(rng.random(n) < belief, "go", "stay")
    theta = theta if as_object else np.where(happened, second, first)
    return pd.DataFrame({"context": np.arange(n), "p": belief, "action": action, "theta": theta})


CHECKS = ["sufficiency", "calibration"]


def numbers(runs, **options):
    results = analyze(runs, checks=CHECKS, rng=1, **options).results
    return results.set_index("check")["estimate"]


def test_p_is_not_reversed_by_the_alphabet():
    first, second = "nein", "ja"
    expected = numbers(answers(0, 1))
    assert expected["calibration:brier"] < 0.25
    said = numbers(answers(first, second), positive=second)
    assert said.tolist() == pytest.approx(expected.tolist())
    reverse = numbers(answers(first, second), positive=first)
    assert reverse["calibration:brier"] > 0.3
    assert reverse["sufficiency"] == pytest.approx(-expected["sufficiency"])


KNOWN = [("no", "yes"), ("NO", "Yes "), ("False", "true"), (False, True), ("0", "1"), ("0", 1.0)]


@pytest.mark.parametrize("pair", KNOWN)
def test_known_pairs_need_no_word_in_any_case(pair):
    known, coded = (
        analyze(answers(*labels, as_object=True), checks=["calibration"], rng=1).results
        for labels in (pair, (0, 1))
    )
    assert known["estimate"].tolist() == pytest.approx(coded["estimate"].tolist())


def test_each_task_has_its_word():
    rain, darts = answers().assign(task="rain"), answers("miss", "hit", seed=1).assign(task="darts")
    both = pd.concat([rain, darts])
    with pytest.raises(InputError) as error:
        analyze(both, rng=1)
    assert "task 'darts': theta is 'hit' or 'miss'" in str(error.value)
    assert "task 'rain': theta is 'ja' or 'nein'" in str(error.value)
    report = analyze(both, checks=["calibration"], positive=["ja", "hit"], rng=1)
    assert [unit.state_names for unit in report.evaluations] == [("miss", "hit"), ("nein", "ja")]
    assert report.settings["positive"] == ["ja", "hit"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"p": [0.2, 0.4, 0.4], "rep": [0, 0, 1]}, "no context column"),
        ({"p": [0.2, 0.4], "context": [0, 1], "rep": [0, 1]}, "although rep counts repetitions"),
        ({"p": [0.2, 0.4], "context": [0, 1]}, None),
        ({"p": [0.2, 0.4, 0.4], "context": [0, 1, 1], "rep": [0, 0, 1]}, None),
    ],
)
def test_rows_that_may_repeat_a_context_unseen_are_an_alert_and_a_note(rows, said):
    table = pd.DataFrame(rows).assign(theta=[0, 1, 1][: len(rows["p"])])
    (unit,) = analyze(table, checks=["cmi"], rng=1).evaluations
    assert [said in alert.text for alert in unit.alerts] == ([] if said is None else [True])
    assert all("p-values and intervals are too optimistic" in alert.text for alert in unit.alerts)
    assert set(unit.alerts) <= set(unit.notes)


def test_of_two_columns_that_nearly_sum_to_1_the_named_state_is_the_belief():
    rows = answers("dry", "wet")
    both = rows.assign(p_wet=0.99 * rows["p"], p_dry=0.99 * (1 - rows["p"])).drop(columns="p")
    for state, belief in (("wet", rows["p"]), ("dry", 1 - rows["p"])):
        expected = numbers(rows.assign(p=belief), positive=state)
        assert numbers(both, positive=state).tolist() == pytest.approx(expected.tolist())
