"""How answers were got: kinds of belief, probabilities of actions, and the mass of the form."""

import math

import pandas as pd
import pytest

from coherence.table.answering import answering


def test_a_table_that_does_not_tell_is_not_known():
    got = answering(pd.DataFrame({"p": [0.2], "action": ["yes"], "answer_mass": [None]}))
    assert not got.known
    assert (dict(got.kinds), got.policies, got.n_mass) == ({}, False, 0)
    assert math.isnan(got.median_mass)
    assert math.isnan(got.smallest_mass)


def test_kinds_are_counted_and_ordered_and_empty_cells_are_none():
    rows = pd.DataFrame({"belief_kind": ["token", "stated:exact", None, "token"]})
    assert list(answering(rows).kinds.items()) == [("stated:exact", 1), ("token", 2)]


def test_mass_is_that_of_the_rows_that_have_one():
    """A mean in place of the median would give .3333."""
    rows = pd.DataFrame({"answer_mass": [0.1, None, 0.2, 0.7]})
    got = answering(rows)
    assert (got.n_mass, got.median_mass, got.smallest_mass) == (3, 0.2, 0.1)
    assert got.known


@pytest.mark.parametrize(
    ("columns", "policies"),
    [
        ({"action_no": [0.5], "action_yes": [0.5]}, True),
        ({"action_no": [None], "action_yes": [None]}, False),
        ({"action": ["no"], "action_note": ["dull"]}, False),
        ({"action": [None], "action_no": [0.5], "action_yes": [0.5]}, True),
    ],
)
def test_probabilities_of_actions_are_seen(columns, policies):
    assert answering(pd.DataFrame({"p": [0.2], **columns})).policies is policies
