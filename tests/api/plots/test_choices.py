"""What figures of beliefs draw. Breaks if they draw other rows than checks read."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.plots.choices import choices_of


@pytest.mark.parametrize("agent", ["leaky", "wordbound"])
def test_a_runs_table_gives_the_rows_of_its_report(agent):
    runs = coherence.simulate(agent, n_contexts=40, n_reps=3, rng=1)
    runs.loc[runs.index[3], ["p", "status"]] = [None, "refused"]
    of_report = coherence.analyze(runs, checks=["calibration"], rng=1).units[0].beliefs
    drawn = choices_of(runs)
    pd.testing.assert_frame_equal(
        drawn[of_report.columns], of_report, check_dtype=False, check_index_type=False
    )
    assert choices_of(of_report) is of_report


def test_words_for_the_state_are_read_and_others_asked_for():
    table = choices_of([0.1, 0.8], truth=["No", "Yes"])
    assert table["truth"].tolist() == [0.0, 1.0]
    assert choices_of([0.1], truth=["dry"], positive="rain")["truth"].tolist() == [0.0]
    with pytest.raises(InputError, match="Name it: positive='dry'"):
        choices_of([0.1, 0.8], truth=["dry", "rain"])
    with pytest.raises(InputError, match="truth must have two states"):
        choices_of([0.1, 0.8, 0.3], truth=["dry", "rain", "snow"])


def test_beliefs_in_two_states_are_those_of_the_second_and_more_are_refused():
    both = np.array([[0.3, 0.7], [0.6, 0.4]])
    assert choices_of(both)["belief"].tolist() == [0.7, 0.4]
    with pytest.raises(InputError, match="received beliefs over 3 states"):
        choices_of(np.full((2, 3), 1 / 3))


def test_probabilities_of_actions_are_columns():
    table = choices_of([0.3, 0.6], np.array([[0.2, 0.8], [0.9, 0.1]]))
    assert table[["action_0", "action_1"]].to_numpy().tolist() == [[0.2, 0.8], [0.9, 0.1]]


def test_the_order_of_a_categorical_is_kept():
    actions = pd.Series(pd.Categorical(["wait", "treat"], categories=["wait", "treat", "refer"]))
    assert choices_of([0.3, 0.6], actions)["action"].cat.categories[0] == "wait"


def test_empty_prompts_are_standard_and_rows_given_z_are_left_out():
    runs = pd.DataFrame({"p": [0.1, 0.2, 0.3], "prompt": [None, "mse", None]})
    assert choices_of(runs.assign(z_state=[None, None, "a"]))["belief"].tolist() == [0.1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((pd.DataFrame({"p_no": [0.1], "p_yes": [0.9]}),), "runs must have a column p"),
        ((pd.DataFrame({"p": [0.1, 0.2], "model": ["a", "b"]}),), "received 2 values of 'model'"),
        ((pd.DataFrame({"p": [0.1]}), ["yes"]), "action must be left out beside a table"),
        (([0.1, 0.2], ["yes"]), "one value per row of belief; received 1"),
        (([10, 20],), "Divide percentages by 100"),
        (("abc",), "belief must hold numbers"),
    ],
)
def test_what_cannot_be_read_is_said(arguments, said):
    with pytest.raises(InputError, match=said):
        choices_of(*arguments)


def test_exact_posteriors_are_one_for_each_row():
    with pytest.raises(InputError, match="exact must have one value per row"):
        choices_of([0.1, 0.2], exact=[0.5])
