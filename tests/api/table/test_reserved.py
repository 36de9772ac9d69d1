"""Names of the runs table in other people's tables: read as ours only where they can be."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs, simulate, validate_runs

N = 60
FOREIGN = {
    "status": ["complete"] * N,
    "belief_kind": ["slider"] * N,
    "tokens": ["the cat"] * N,
    "theta": np.linspace(-2, 2, N),
    "z": np.linspace(-2, 2, N),
    "group": ["control", "treated"] * (N // 2),
    "prompt": [f"How sure are you of case {number}?" for number in range(N)],
    "task": [f"Answer question {number}." for number in range(N)],
}


def plain():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, N).round(2)
    return pd.DataFrame(
        {
            "context": [f"q{number}" for number in range(N)],
            "p": p,
            "action": np.where(rng.random(N) < p, "treat", "wait"),
            "theta": (rng.random(N) < p).astype(int),
        }
    )


def results_of(table):
    report = analyze(table, checks=["monotone_choice", "residual_covariance"], rng=1)
    return report.evaluations, report.results.drop(columns=["task", "model"])


@pytest.mark.parametrize("name", FOREIGN)
def test_a_strange_column_is_read_as_under_another_name(name):
    """Breaks if a column that only bears our name changes a number, or is set aside in silence."""
    table = plain().drop(columns=["theta"] if name == "theta" else [])
    units, results = results_of(table.assign(**{name: FOREIGN[name]}))
    _, without = results_of(table)
    pd.testing.assert_frame_equal(results, without)
    assert [
        note
        for note in map(str, units[0].notes)
        if note.startswith(f"warning: {name} was taken for")
    ]


def test_question_texts_of_several_answers_are_no_variants():
    """Breaks if texts that come back with their case are: all rows but one case's went aside."""
    table = pd.concat([plain(), plain()], ignore_index=True)
    texts = {"prompt": "Is it so? " + table["context"]}
    assert results_of(table.assign(**texts))[0][0].statuses["rows"].sum() == 2 * N
    assert len(results_of(table.assign(**texts))[0][0].statuses) == 1
    variants = table.assign(prompt=["standard"] * N + ["other"] * N)
    assert len(results_of(variants)[0][0].statuses) == 2
    # Of one case alone, several texts are variants of its question.
    one = pd.DataFrame({"p": [0.2, 0.3], "prompt": ["a", "b"], "context": 1, "theta": 1})
    assert validate_runs(one).prompt.nunique() == 2


def test_question_texts_without_contexts_and_with_an_empty_cell_are_no_variants():
    """Breaks if a text that comes twice, or a lost one, sets the rows of all others aside."""
    table = plain().drop(columns="context")
    for texts in (
        [f"Is {number // 2} so?" for number in range(N)],
        [*(f"Is {number} so?" for number in range(N - 1)), None],
    ):
        _, without = results_of(table)
        units, results = results_of(table.assign(prompt=texts))
        pd.testing.assert_frame_equal(results, without)
        assert any(
            "prompt was taken for a column of your own" in note.text for note in units[0].notes
        )
    # Few of them, and the one without a name among them, are variants.
    for variants in (["a", "b", "c"] * (N // 3), ["a"] * 10 + [None] * (N - 10)):
        assert results_of(table.assign(prompt=variants))[0][0].statuses["rows"].sum() == N
        assert len(results_of(table.assign(prompt=variants))[0][0].statuses) > 1


def test_columns_that_can_be_ours_stay():
    groups = plain().assign(group=[f"g{number % 12}" for number in range(N)])
    assert any("12 groups" in note.text for note in results_of(groups)[0][0].notes)
    halves = plain().assign(theta=[0.5, 1.5] * (N // 2))
    assert validate_runs(halves).known("theta").all()
    statuses = plain().assign(status=["ok"] * (N - 1) + ["complete"])
    with pytest.raises(SchemaError, match="'status' must be one of"):
        validate_runs(statuses)


@pytest.mark.parametrize("name", ["status", "tokens"])
def test_in_a_table_of_ours_a_bad_column_stays_an_error(name):
    ours = simulate("rational", n_contexts=N, n_reps=1, rng=1).head(N)
    with pytest.raises(SchemaError, match=f"'{name}' must"):
        validate_runs(ours.assign(**{name: FOREIGN[name]}))
    with pytest.raises(SchemaError, match=f"'{name}' must"):
        validate_runs(plain().assign(truth_kind="drawn", **{name: FOREIGN[name]}))


def test_a_column_that_an_option_names_is_meant(tmp_path):
    """Breaks if two clusters that the user named are taken for the arms of an experiment."""
    plain().assign(group=FOREIGN["group"], status=FOREIGN["status"]).to_csv(
        tmp_path / "runs.csv", index=False
    )
    runs = read_runs(tmp_path / "runs.csv", columns={"group": "group"})
    assert runs["group"].nunique() == 2
    assert "unmapped_status" in runs
    with pytest.raises(SchemaError, match="'status' must be one of"):
        read_runs(tmp_path / "runs.csv", columns={"status": "status"})
