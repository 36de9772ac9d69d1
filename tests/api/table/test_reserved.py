"""Names of the runs table in other people's tables: read as ours only where they can be."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs, simulate
from coherence.runs.read import validate_runs

N = 60
FOREIGN = {
    "status": ["complete"] * N,
    "belief_kind": ["slider"] * N,
    "tokens": ["the cat"] * N,
    "z": np.linspace(-2, 2, N),
    "group": ["control", "treated"] * (N // 2),
    "prompt": [f"How sure are you of case {number}?" for number in range(N)],
    "task": [f"Answer question {number}." for number in range(N)],
}


def plain():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, N).round(2)
    table = pd.DataFrame({"context": [f"q{number}" for number in range(N)], "p": p})
    action, theta = np.where(rng.random(N) < p, "treat", "wait"), (rng.random(N) < p).astype(int)
    return table.assign(action=action, theta=theta)


def results_of(table):
    report = analyze(table, checks=["monotone_choice"], rng=1)
    return report.evaluations[0], report.results.drop(columns=["task", "model"])


@pytest.fixture(scope="module")
def without():
    return results_of(plain())[1]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_strange_column_is_read_as_under_another_name(name, without):
    """Breaks if a column that only bears our name changes a number, or is set aside in silence."""
    unit, results = results_of(plain().assign(**{name: FOREIGN[name]}))
    pd.testing.assert_frame_equal(results, without)
    assert any(str(note).startswith(f"warning: {name} was taken for") for note in unit.notes)


def test_question_texts_are_no_variants():
    """Breaks if texts that come back with their case, or twice, or a lost one, set aside the rows
    of all others."""
    twice = pd.concat([plain(), plain()], ignore_index=True)
    alone = plain().drop(columns="context")
    for table, texts, statuses in (
        (twice, "Is it so? " + twice["context"], 1),
        (twice, ["standard"] * N + ["other"] * N, 2),
        (alone, [f"Is {number // 2} so?" for number in range(N)], 1),
        (alone, [*(f"Is {number} so?" for number in range(N - 1)), None], 1),
        (alone, ["a", "b", "c"] * (N // 3), 3),
        (alone, ["a"] * 10 + [None] * (N - 10), 2),
    ):
        unit, _ = results_of(table.assign(prompt=texts))
        assert unit.statuses["rows"].sum() == len(table)
        assert unit.statuses["question"].nunique() == statuses
    # Of one case alone, several texts are variants of its question.
    one = pd.DataFrame({"p": [0.2, 0.3], "prompt": ["a", "b"], "context": 1, "theta": 1})
    assert validate_runs(one).prompt.nunique() == 2


def test_a_passage_is_no_case_where_another_column_has_the_cases():
    """Breaks if questions about one passage are one case, or texts of cases are none."""
    twice = pd.concat([plain(), plain()], ignore_index=True).rename(columns={"context": "qid"})
    for texts, there in (
        ("Read. " * 12 + twice["qid"].str[-1], False),
        (twice["qid"] * 30, True),
    ):
        runs = validate_runs(twice.assign(context=texts))
        said = any("--context qid" in str(note) for note in runs.notes)
        assert ("context" in runs.names) == there != said


def test_columns_that_can_be_ours_stay():
    groups = plain().assign(group=[f"g{number % 12}" for number in range(N)])
    assert any("12 groups" in note.text for note in results_of(groups)[0].notes)
    halves = plain().assign(theta=[0.5, 1.5] * (N // 2))
    assert validate_runs(halves).known("theta").all()
    # In a table of ours a bad column stays an error.
    statuses = plain().assign(status=["ok"] * (N - 1) + ["complete"])
    ours = simulate("rational", n_contexts=N, n_reps=1, rng=1).head(N)
    for table, name in (
        (statuses, "status"),
        (ours.assign(status="complete"), "status"),
        (ours.assign(tokens="the cat"), "tokens"),
        (plain().assign(truth_kind="drawn", tokens="the cat"), "tokens"),
    ):
        with pytest.raises(SchemaError, match=f"'{name}' must"):
            validate_runs(table)


def test_a_column_that_an_option_names_is_meant(tmp_path):
    """Breaks if two clusters that the user named are taken for the arms of an experiment."""
    table = plain().assign(group=FOREIGN["group"], status=FOREIGN["status"])
    table.to_csv(tmp_path / "runs.csv", index=False)
    runs = read_runs(tmp_path / "runs.csv", columns={"group": "group"})
    assert runs["group"].nunique() == 2
    assert "unmapped_status" in runs
    with pytest.raises(SchemaError, match="'status' must be one of"):
        read_runs(tmp_path / "runs.csv", columns={"status": "status"})
