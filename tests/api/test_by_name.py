"""Checks take names of columns of a table beside arrays."""

import inspect

import pandas as pd
import pytest

import coherence
from coherence import InputError

RUNS = coherence.simulate("leaky", n_contexts=40, n_reps=2, rng=1)
ROWS = RUNS[RUNS["action"].notna()]
COLUMNS = {"belief": "p", "action": "action", "truth": "theta", "exact": "p_true"}
COLUMNS |= {"context": "context"}
FEW = {"rng": 3, "n_draws": 999, "n_permutations": 99, "n_bootstraps": 99, "n_seeds": 1}
FEW |= {"describe": False}
OPTIONS = {"monotone_choice_test": {"pair": ("yes", "no")}}
CHECKS = [
    name
    for name in coherence.__all__
    if inspect.isfunction(found := getattr(coherence, name))
    and {"belief", "data"} <= {*inspect.signature(found).parameters}
    and name not in ("matching_estimates", "stakes_estimates")  # of rows of two kinds
]


def test_every_check_of_arrays_takes_a_table():
    tests = {name for name in coherence.__all__ if name.endswith("_test")}
    others = {"iterated_expectation_test"}  # of the runs table
    assert tests - {*CHECKS} == others


@pytest.mark.parametrize("name", CHECKS)
def test_columns_give_what_their_arrays_give(name):
    check = getattr(coherence, name)
    takes = inspect.signature(check).parameters
    named = {key: column for key, column in COLUMNS.items() if key in takes}
    options = {key: value for key, value in FEW.items() if key in takes} | OPTIONS.get(name, {})
    by_name = check(**named, data=ROWS, **options)
    by_array = check(**{key: ROWS[column] for key, column in named.items()}, **options)
    both = (
        [each] if isinstance(each, coherence.CheckResult) else each for each in (by_name, by_array)
    )
    for one, other in zip(*both, strict=True):
        assert one.to_row() == pytest.approx(other.to_row(), nan_ok=True)


def test_lists_name_several_columns_and_arrays_may_stand_beside_names():
    table = pd.get_dummies(ROWS["action"], dtype=float).assign(p=ROWS["p"], theta=ROWS["theta"])
    options, policies = (
        {"context": ROWS["context"], "n_draws": 999, "rng": 1},
        ["yes", "no", "defer"],
    )
    test = coherence.sufficiency_test
    named = test("p", policies, "theta", data=table, **options)
    assert named.pvalue == test(table["p"], table[policies], table["theta"], **options).pvalue


def test_what_is_no_column_or_no_table_is_said():
    with pytest.raises(InputError, match=r"belief must be a column of data; there is no 'P'.*'p'"):
        coherence.sufficiency_test("P", "action", "theta", data=ROWS)
    with pytest.raises(InputError, match=r"truth is the name of a column.*'theta'.*data="):
        coherence.cmi_test(ROWS["p"], ROWS["action"], "theta")
    with pytest.raises(InputError, match=r"data must be .*dict"):
        coherence.sufficiency_test("p", "action", "theta", data={"p": [0.1]})


def test_several_columns_of_a_table_are_one_id():
    table = ROWS.assign(half=ROWS["context"].str[:-1], rest=ROWS["context"].str[-1])
    one, two = (
        coherence.sufficiency_test("p", "action", "theta", data=table, context=ids, rng=1)
        for ids in ("context", ["half", "rest"])
    )
    assert (one.statistic, one.n_contexts) == (two.statistic, two.n_contexts)


def test_columns_in_another_order_are_refused():
    one = pd.Series([0.2, 0.4] * 40)
    other, choice = one[::-1], pd.Series(["act", "pass"] * 40)
    with pytest.raises(InputError, match="must have the same index"):
        coherence.stakes_estimates(one, choice, other, acts="act")
