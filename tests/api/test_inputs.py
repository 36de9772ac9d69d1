"""Validators: what is taken, what is refused, and that the message says where."""

import re

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.inputs import (
    as_actions,
    as_belief,
    as_codes,
    as_contexts,
    require,
    require_aligned,
    whole_number,
)


def test_require_says_what_was_wrong():
    require(True, "unused")
    with pytest.raises(InputError, match="^k must be odd$"):
        require(False, "k must be odd")


@pytest.mark.parametrize("value", [3, np.int64(3), 7])
def test_whole_numbers_are_taken(value):
    assert whole_number(value, "k", 3) == value
    assert type(whole_number(value, "k", 3)) is int


@pytest.mark.parametrize("value", [2, 3.0, True, "3", None])
def test_other_values_are_no_whole_number_of_at_least_three(value):
    text = f"k must be a whole number of at least 3; received {value!r}."
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        whole_number(value, "k", 3)
    with pytest.raises(InputError):
        whole_number(True, "k", 0)


def test_beliefs_are_copied():
    values = np.array([0.0, 0.5, 1.0])
    belief = as_belief(values)
    belief[0] = 1
    assert values[0] == 0
    assert as_belief([[0.2, 0.8], [1, 0]]).tolist() == [[0.2, 0.8], [1, 0]]
    assert as_belief([[0.2, 0.8 + 9e-7]]).shape == (1, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a"], "p must hold numbers in [0, 1]; received values that are no numbers."),
        ([], "p must have shape (n,) or (n, n_states) with n > 0; received shape (0,)."),
        (0.5, "p must have shape (n,) or (n, n_states) with n > 0; received shape ()."),
        (
            [0.1, 85, 90],
            "p must hold probabilities in [0, 1]; 2 of 3 values do not, the first is 85 at "
            "position 1. Divide percentages by 100.",
        ),
        (
            [0.1, 0.2, 100],
            "p must hold probabilities in [0, 1]; 1 of 3 values do not, the first is 100 at "
            "position 2. Divide percentages by 100.",
        ),
        (
            [[0.5, 0.5], [0.5, 101]],
            "p must hold probabilities in [0, 1]; 1 of 4 values do not, the first is 101 at "
            "position 1. Check how the beliefs were read.",
        ),
        (
            [-0.1, 0.5],
            "p must hold probabilities in [0, 1]; 1 of 2 values do not, the first is -0.1 at "
            "position 0. Check how the beliefs were read.",
        ),
        (
            [0.5, np.nan],
            "p must hold probabilities in [0, 1]; 1 of 2 values do not, the first is nan at "
            "position 1. Drop missing answers first and report how many there were.",
        ),
        (
            [[0.5, 0.5], [0.5, 0.4], [0.2, 0.2]],
            "rows of p must sum to 1 within 1e-6; 2 do not, the first at position 1. "
            "Renormalise them.",
        ),
    ],
)
def test_other_values_are_no_beliefs(values, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        as_belief(values, "p")


def test_codes_do_not_depend_on_the_order_of_rows():
    codes, labels = as_codes(["b", "a", "b"], "action")
    assert (codes.tolist(), labels) == ([1, 0, 1], ("a", "b"))
    assert as_codes(pd.Series([2, 1], index=[5, 9]), "action")[0].tolist() == [1, 0]
    codes, labels = as_codes(
        [1, "b", "a", 0], "action"
    )  # no order across types: by type, then text
    assert (codes.tolist(), labels) == ([1, 3, 2, 0], (0, 1, "a", "b"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["a", "b"],
            "truth must have one value per row of belief; received 2 values for 3 rows.",
        ),
        (
            ["a", None, np.nan],
            "truth must not be missing; 2 of 3 values are, the first at position 1. Drop "
            "unreadable answers first and report how many there were.",
        ),
    ],
)
def test_labels_are_complete_and_aligned(values, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        as_codes(values, "truth", 3)


def test_without_ids_every_row_is_a_context():
    assert as_contexts(None, 3)[0].tolist() == [0, 1, 2]
    assert as_contexts(None, 3)[1] == (0, 1, 2)
    assert as_contexts(["u", "v", "u"], 3)[0].tolist() == [0, 1, 0]


def test_probabilities_name_their_actions_and_keep_the_order_of_labels():
    frame = pd.DataFrame({"yes": [0.2, 1.0], "no": [0.8, 0.0], "never": [0.0, 0.0]})
    actions = as_actions(frame, 2)
    assert actions.labels == ("no", "yes")
    assert actions.share.tolist() == [[0.8, 0.2], [0.0, 1.0]]
    assert actions.codes.size == 0  # no row chose: whoever asks for codes must fail
    numbered = as_actions([[0.8, 0.2], [0.0, 1.0]], 2)
    assert (numbered.labels, numbered.share.tolist()) == ((0, 1), actions.share.tolist())


def test_a_column_of_labels_stays_labels():
    assert as_actions(np.array([["x"], ["y"]]), 2).labels == ("x", "y")
    assert as_actions(pd.Series(["x", "y"]), 2).probabilities is None


def test_probabilities_of_zero_and_one_are_the_choices_that_they_name():
    """A row of .999 and .001 is none: nothing is rounded to a choice."""
    chosen = as_actions(pd.DataFrame({"b": [1.0, 0, 1], "a": [0, 1.0, 0]}), 3)
    labels = as_actions(["b", "a", "b"], 3)
    assert chosen.probabilities is None
    assert (chosen.codes.tolist(), chosen.labels) == (labels.codes.tolist(), labels.labels)
    assert as_actions([[1.0, 0.0], [0.001, 0.999]], 2).probabilities is not None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "rows of action must sum to 1 within 1e-6; 1 do not"),
        ([[1.1, -0.1], [0.5, 0.5]], "action must hold probabilities in [0, 1]; 2 of 4 values"),
        ([[np.nan, 1.0], [0.5, 0.5]], "the first is nan at position 0"),
        ([["a", "b"], ["c", "d"]], "action must hold numbers in [0, 1]"),
        ([[0.5, 0.5]], "action must have one row per row of belief; received 1 rows for 2."),
        (np.full((2, 2, 2), 0.5), "action must have shape"),
        (
            pd.DataFrame([[0.5, 0.5]] * 2, columns=["a", "a"]),
            "columns of action must have different names; received 'a', 'a'.",
        ),
    ],
)
def test_what_is_no_policy_is_refused(values, message):
    with pytest.raises(InputError, match=re.escape(message)):
        as_actions(values, 2)


@pytest.mark.parametrize(
    "values", [[True, False], pd.Series([True, False]), [0.5, True], pd.array([True, None])]
)
def test_true_and_false_are_no_beliefs(values):
    with pytest.raises(InputError, match="belief must hold probabilities .* received true and fal"):
        as_belief(values)


def test_one_column_of_beliefs_says_what_it_may_be():
    with pytest.raises(InputError, match="received one column. Pass it as one dimension"):
        as_belief([[0.2], [0.8]])


def test_indicators_of_actions_are_choices():
    frame = pd.DataFrame({"go": [True, False], "stay": [False, True]})
    assert as_actions(frame, 2).codes.tolist() == [0, 1]


def test_rows_are_not_matched_by_position_against_their_index():
    belief = pd.Series([0.1, 0.2, 0.3])
    require_aligned(belief=belief, action=["a", "b", "c"], truth=belief + 1, context=None)
    with pytest.raises(InputError) as error:
        require_aligned(belief=belief, action=belief[::-1])
    assert str(error.value) == (
        "belief and action must have the same index; at position 0 they have 0 and 2. Align them "
        "(action.loc[belief.index]), or pass values alone (action.to_numpy()) if their order is "
        "right."
    )
    # Two empty tables differ at no position, whatever their indices hold.
    texts = pd.Series([], dtype=object, index=pd.Index([], dtype=object))
    require_aligned(belief=pd.DataFrame(columns=["p"]), action=texts)


def test_half_a_surrogate_pair_is_not_a_label():
    for values in (["a", "\ud800"], np.array(["\ud800", "b"], dtype=object)):
        with pytest.raises(InputError, match="action must hold text in Unicode; 1 of 2 labels"):
            as_actions(values, 2)
