"""The reference prompt: found without looking at the order of rows."""

import itertools

import pandas as pd
import pytest

from coherence import InputError
from coherence.table.prompts import reference_prompt, under_prompt


@pytest.mark.parametrize(
    ("prompts", "actions", "reference"),
    [
        (["mse", "standard", "mse"], ["no", None, "yes"], "standard"),
        (["mse", None, "mse"], ["no", None, "yes"], "standard"),  # an empty cell is the usual one
        (["b", "a", "b"], [None] * 3, "b"),
        (["b", "a"], [None] * 2, "a"),
        (["b", "a", "a"], ["yes", None, None], "b"),  # actions stand on its rows alone
        (["b", "a", "a"], ["yes", "no", None], "a"),
        ([2, 10, 10], [None] * 3, "10"),
    ],
)
def test_the_reference_does_not_depend_on_the_order_of_rows(prompts, actions, reference):
    rows = pd.DataFrame({"prompt": prompts, "action": actions})
    for order in itertools.permutations(rows.index):
        assert reference_prompt(rows.loc[list(order)]) == reference


def test_an_action_that_could_not_be_read_was_asked_for():
    rows = pd.DataFrame(
        {"prompt": ["b", "a", "a"], "action": None, "raw_action": ["?", None, None]}
    )
    assert reference_prompt(rows) == "b"


def test_beliefs_given_z_have_no_part_in_it():
    rows = pd.DataFrame({"prompt": ["a", "b", "b"], "z_state": [None, "low", "high"]})
    assert reference_prompt(rows) == "a"
    assert reference_prompt(rows.iloc[1:]) == "standard"
    assert reference_prompt(pd.DataFrame({"p": [0.1]})) == "standard"


def test_a_name_comes_first_and_must_be_there():
    rows = pd.DataFrame({"prompt": ["standard", "mse"]})
    assert reference_prompt(rows, "mse") == "mse"
    with pytest.raises(InputError, match="of task 'x'; received 'msee'. Closest name found: 'mse'"):
        reference_prompt(rows, "msee", where="task 'x'")


def test_rows_of_a_prompt_are_those_without_z_and_an_empty_cell_is_the_usual_one():
    rows = pd.DataFrame({"prompt": ["mse", None, "standard", "mse"], "z_state": [None] * 3 + ["a"]})
    assert under_prompt(rows, "standard").index.tolist() == [1, 2]
    assert under_prompt(rows, "mse").index.tolist() == [0]
    unnamed = pd.DataFrame({"p": [0.1]})
    assert len(under_prompt(unnamed, "standard")) == 1
    assert len(under_prompt(unnamed, "mse")) == 0
