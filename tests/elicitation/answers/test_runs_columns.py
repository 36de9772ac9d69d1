import pandas as pd

from elicitation.answers.runs_columns import COLUMNS, typed_runs

ROW = {"rep": 0, "p": 0.5, "status": "ok", "seed": 0}
ONE = pd.DataFrame({"context": ["c"], "theta": [1]}, index=[7])


def test_the_columns_of_drawn_answers_do_not_depend_on_what_was_answered():
    read = typed_runs([{**ROW, "action": "yes"}], ONE, [])
    unread = typed_runs([{**ROW, "p": None, "action": None}], ONE, [])
    assert list(read) == list(unread)
    assert (read.dtypes == unread.dtypes).all()
    assert not {"p_sd", "p_q05", "p_q95"} & set(read)
    assert set(read) < set(COLUMNS)


def test_an_action_is_a_label_or_a_distribution_and_never_both():
    rows = [
        {**ROW, "p_sd": 0.1, "action_wait": 0.25, "action_treat": 0.75},
        {**ROW, "action_wait": 1.0, "action_refer": 0.0},
        {**ROW, "action_wait": None, "action_treat": None},
        ROW,
    ]
    runs = typed_runs(rows, pd.concat([ONE] * 4), [])
    assert runs["context"].tolist() == ["c"] * 4
    assert "action" not in runs
    names = ["action_wait", "action_treat", "action_refer"]
    position = list(runs).index("belief_kind") + 1
    assert list(runs)[position : position + 3] == names
    # What was not offered was not chosen; what was not read or not asked stays unknown.
    assert runs.loc[0, names].tolist() == [0.25, 0.75, 0.0]
    assert runs.loc[1, names].tolist() == [1.0, 0.0, 0.0]
    assert runs.loc[2:, names].isna().all(axis=None)
    assert (runs.dtypes[["p_sd", *names]] == "float64").all()
    assert isinstance(runs, pd.DataFrame)
