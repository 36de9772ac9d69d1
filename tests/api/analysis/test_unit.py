"""UnitRows: which rows can be used for what, and whose belief is which."""

import numpy as np
import pandas as pd
import pytest

from coherence.analysis.unit import UnitRows, joined_names, unreadable
from coherence.table.needs import CHOICES, JUDGED_CHOICES, TARGETS


def unit(positive=None, labels=None, reference=None, **columns):
    n = max(len(values) for values in columns.values())
    base = {"context": np.arange(n), "rep": 0, "prompt": "standard", "z_state": None}
    rows = pd.DataFrame({**base, **columns})
    return UnitRows(rows, positive=positive, labels=labels, reference=reference)


def test_rows_are_those_that_hold_what_is_needed():
    rows = unit(
        p=[0.1, 0.2, np.nan, 0.4, 0.5],
        action=["a", None, "b", "a", "b"],
        theta=[0, 1, 1, np.nan, 1],
        p_true=[0.1, np.nan, 0.3, 0.4, 0.5],
    )
    assert list(rows.stated.index) == [0, 1, 3, 4]
    assert list(rows.choices.index) == [0, 3, 4]
    assert list(rows.judged.index) == [0, 4]
    judged, choices, stated = (
        rows.facts(needs, False) for needs in (JUDGED_CHOICES, CHOICES, TARGETS)
    )
    assert judged.belief.tolist() == [0.1, 0.5]
    assert judged.truth.tolist() == [0, 1]
    assert (judged.n_dropped, choices.n_dropped, stated.n_dropped) == (3, 2, 1)
    assert choices.action.tolist() == ["a", "a", "b"]
    assert stated.state.tolist() == pytest.approx([0, 1, np.nan, 1], nan_ok=True)
    assert stated.exact.tolist() == pytest.approx([0.1, np.nan, 0.4, 0.5], nan_ok=True)
    assert stated.features is None


def test_rows_under_other_prompts_are_set_aside():
    rows = unit(p=[0.1, 0.2, 0.3], prompt=["mse", "standard", "bayes"])
    assert (rows.reference, list(rows.asked.index), list(rows.elsewhere.index)) == (
        "standard",
        [1],
        [0, 2],
    )
    named = unit(p=[0.1, 0.2], prompt=["mse", "standard"], reference="mse")
    assert list(named.asked.index) == [0]
    given_z = unit(p=[0.1, 0.2], prompt=["mse", None], z_state=[None, "a"])
    assert (given_z.reference, len(given_z.asked), len(given_z.elsewhere)) == ("mse", 1, 0)


def test_two_columns_are_normalised_and_three_stay_apart():
    two = unit(p_no=[0.3, 0.5], p_yes=[0.69, 0.5], theta=["no", "yes"])
    assert two.belief(two.rows) == pytest.approx([0.69 / 0.99, 0.5])
    assert two.paired
    three = unit(p_a=[0.2], p_b=[0.2], p_c=[0.6], theta=["b"])
    assert three.belief(three.rows).shape == (1, 3)
    assert not three.in_two_states


@pytest.mark.parametrize(
    ("theta", "state", "note"),
    [
        ([0, 1, 1], [0, 1, 1], ""),
        (["no", "yes", "yes"], [0, 1, 1], ""),
        ([1, 1, 1], [1, 1, 1], ""),
        (["no", "Yes", "Yes"], [0, 1, 1], ""),
        (["no", "no", "no"], [0, 0, 0], ""),
        (["wet", "dry", "dry"], [np.nan] * 3, "theta is 'dry' or 'wet': nothing says which"),
        (["wet", "wet", "wet"], [np.nan] * 3, "theta is 'wet': nothing says which"),
    ],
)
def test_states_are_read_as_0_and_1_and_never_guessed(theta, state, note):
    rows = unit(p=[0.1, 0.2, 0.3], theta=theta)
    assert rows.state.tolist() == pytest.approx(state, nan_ok=True)
    assert note in rows.state_note
    assert bool(note) == bool(rows.state_note)


def test_the_state_that_was_named_is_1():
    rows = unit(p=[0.1, 0.2, 0.3], theta=["wet", "dry", "dry"], positive="dry")
    assert rows.state.tolist() == [0, 1, 1]
    assert rows.facts(TARGETS, False).positive == "dry"
    assert rows.state_note == "theta: p is the probability of 'dry', as was said."
    # A model whose readable rows have one state still belongs to a task of two.
    alone = unit(p=[0.1], theta=["wet"], positive="dry", labels=("dry", "wet"))
    assert alone.state.tolist() == [0]
    several = unit(p=[0.1, 0.2, 0.3], theta=["a", "b", "c"], positive="b")
    assert (several.state.tolist(), several.n_states_seen) == ([0, 1, 0], 0)


def test_of_two_columns_the_named_state_is_the_belief():
    two = {"p_wet": [0.3, 0.2], "p_dry": [0.7, 0.8], "theta": ["wet", "dry"]}
    dry = unit(**two, positive="dry")
    assert dry.belief(dry.rows).tolist() == pytest.approx([0.7, 0.8])
    assert dry.state.tolist() == [0, 1]
    assert dry.state_note == "theta: beliefs are those of the column p_dry, as was said."
    known = unit(p_Yes=[0.3, 0.2], p_no=[0.7, 0.8], theta=["Yes", "no"])
    assert known.belief(known.rows).tolist() == pytest.approx([0.3, 0.2])
    assert (known.positive, known.state_note) == ("Yes", "")


def test_three_states_are_no_state_of_two():
    rows = unit(p=[0.1, 0.2, 0.3], theta=["a", "b", "c"])
    assert rows.n_states_seen == 3
    assert rows.state.isna().all()


def test_columns_that_theta_does_not_name_are_not_paired():
    rows = unit(p_x=[0.1, 0.3], p_y=[0.9, 0.7], theta=[0, 1])
    assert rows.in_two_states
    assert not rows.paired
    assert rows.unpaired == "theta is 0 or 1, and the columns of beliefs are p_x and p_y"


def test_unreadable_answers_are_shown_up_to_a_handful():
    rows = pd.DataFrame({"context": range(20), "status": ["refused"] * 19 + ["ok"], "p": 0.5})
    assert unreadable(rows)["context"].tolist() == list(range(8))
    assert unreadable(rows.drop(columns="status")).empty


def test_lists_read_like_sentences():
    assert joined_names(["a"]) == "a"
    assert joined_names(["a", "b"], "or") == "a or b"
    assert joined_names([1, 2, 3]) == "1, 2 and 3"
