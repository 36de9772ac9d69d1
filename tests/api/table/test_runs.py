"""A runs table with its columns told apart: states, actions, prompts, needs, and what is filled."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import SchemaError, analyze, read_runs, simulate, write_runs
from coherence.decoding.ranges import ROUNDING
from coherence.inputs import as_belief
from coherence.runs.read import validate_runs
from coherence.runs.runs import Runs


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
        assert Runs(rows.loc[list(order)]).reference() == reference


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=20, n_reps=2, rng=1)


def test_equal_values_have_one_fingerprint(runs, tmp_path):
    same = Runs(runs).fingerprint
    write_runs(runs, tmp_path / "runs.parquet")
    assert Runs(read_runs(tmp_path / "runs.parquet")).fingerprint == same
    assert Runs(runs[runs.columns[::-1]]).fingerprint == same
    assert Runs(runs.set_index(runs.index + 7)).fingerprint == same
    assert Runs(runs.assign(action=runs["action"].astype("category"))).fingerprint == same


@pytest.mark.parametrize(
    "change",
    [
        lambda runs: runs.iloc[::-1],
        lambda runs: runs.iloc[:-1],
        lambda runs: runs.rename(columns={"p": "q"}),
        lambda runs: runs.assign(p=runs["p"].where(runs.index != 3, runs["p"] + 1e-12)),
        lambda runs: runs.assign(action=runs["action"].where(runs.index != 0, "other")),
        lambda runs: runs.assign(p=runs["p"].astype(str)),
    ],
)
def test_any_other_table_has_another(runs, change):
    assert Runs(change(runs)).fingerprint != Runs(runs).fingerprint


def test_a_hair_outside_counts_as_the_end_and_is_said():
    table = pd.DataFrame(
        {"p": [0.2, 1 + 2e-10, -1e-7, None, 1.0], "action_a": 0.5, "action_b": 0.5, "p_true": 0.5}
    )
    runs = validate_runs(table.assign(context=range(5), truth_kind="drawn"))
    moved, notes = runs.table, [note.text for note in runs.notes]
    assert moved["p"].tolist()[:3] == [0.2, 1.0, 0.0]
    assert moved["p"].isna().tolist() == [False, False, False, True, False]
    (note,) = notes
    assert note.startswith("2 values of 'p' outside [0, 1] by at most 1e-07, a rounding error")
    assert table["p"].iloc[1] > 1, "the table of the caller stays as it was"


def test_what_is_farther_out_is_refused():
    answers = simulate("rational", n_contexts=30, n_reps=2, rng=1)
    answers.loc[0, "p"] = 1.00001
    said = r"'p' must hold .* \[0, 1\]; 1 of .* the first is 1.00001 \(row 0\)\. Correct these"
    with pytest.raises(SchemaError, match=said):
        coherence.analyze(answers)
    answers.loc[0, "p"] = 85
    with pytest.raises(SchemaError, match=r"the first is 85 .* Correct these values"):
        coherence.analyze(answers)


def test_arrays_have_the_same_tolerance(caplog):
    out = 1 + ROUNDING * np.array([0.9, -0.9])
    assert as_belief(out).tolist() == [1.0, out[1]]
    assert "belief holds rounding errors" in caplog.text
    with pytest.raises(ValueError, match=r"the first is 1\.0000011 at position 0"):
        as_belief([1 + 1.1 * ROUNDING])
    with pytest.raises(ValueError, match=r"the first is -1\.1e-06 at position 1"):
        as_belief([0.5, -1.1 * ROUNDING])


# What became of the answers: breaks if one is not counted, or if the bounds are not those of
# filling in every unreadable answer.


def rows(n=9, **columns):
    base = {"prompt": "standard", "p": np.linspace(0.1, 0.9, n), "theta": 1, "p_true": 0.5}
    base |= {"action": ["yes", "no", "defer"] * (n // 3)}
    return pd.DataFrame({**base, **columns}, index=range(n))


def report_of(table):
    return analyze(table, checks=["calibration"], rng=1)


def counts_of(table):
    (unit,) = report_of(table).evaluations
    return unit.statuses.set_index(["question", "status"])["rows"].to_dict()


def test_every_status_has_its_place_and_none_is_lost():
    lost = ["refused", "truncated", "unparsed", "out_of_range", "sum_not_one"]
    kept = ["ok", "repaired:percent", "repaired:words", "low_mass"]
    table = rows(status=kept + lost)
    table.loc[4:, ["p", "action"]] = None
    (unit,) = json.loads(report_of(table).to_json())["evaluations"]
    (answers,) = (each for each in unit["answers"] if each["asked"] == 9)
    assert (answers["ok"], answers["repaired"], answers["low_mass"]) == (1, 2, 1)
    assert [answers[status] for status in lost] == [1] * 5
    assert answers["share_unreadable"] == 5 / 9


def test_an_action_that_was_not_asked_for_is_not_unreadable():
    """Six of nine rows asked for an action, one of them in vain: shares are those of the six."""
    table = rows(status=["ok"] * 8 + ["refused"])
    table.loc[[0, 1, 2, 8], "action"] = None
    table.loc[8, "p"] = np.nan
    assert counts_of(table) == {
        ("standard", "ok"): 3,
        ("standard, with action", "ok"): 5,
        ("standard, with action", "refused"): 1,
    }


@pytest.mark.parametrize("status", [{}, {"status": ["ok"] * 8 + ["refused"]}])
@pytest.mark.parametrize("empty", [True, False], ids=["empty column", "no column"])
def test_a_table_of_beliefs_was_not_asked_for_actions(status, empty):
    table = rows(action=None, **status)
    table.loc[8, "p"] = np.nan
    table = table if empty else table.drop(columns="action")
    lost = "refused" if status else "missing"
    assert counts_of(table) == {("standard", "ok"): 8, ("standard", lost): 1}


@pytest.mark.parametrize("columns", [{"status": "unparsed", "p": np.nan}, {"raw_action": "hm"}])
def test_actions_that_nobody_could_read_were_asked_for(columns):
    assert {question for question, _ in counts_of(rows(action=None, **columns))} == {
        "standard, with action"
    }


def test_strict_leaves_repaired_answers_out_and_says_so():
    runs = simulate("leaky", n_contexts=30, n_reps=2, rng=1)
    repaired = runs.index[runs["action"].notna()][:7]
    runs["status"] = runs["status"].astype(object)
    runs.loc[repaired, "status"] = "repaired:percent"
    loose, strict = (
        analyze(runs, checks=["calibration"], strict=strict, rng=1) for strict in (False, True)
    )
    assert (loose.results["n_dropped"] == 0).all()
    assert (strict.results["n_dropped"] == 7).all()
    dropped = analyze(runs.drop(index=repaired), checks=["calibration"], rng=1)
    assert strict.results["estimate"].tolist() == dropped.results["estimate"].tolist()


def test_probabilities_of_actions_count_as_answers():
    """Of four rows asked one is unreadable, and one asked for no action."""
    table = pd.DataFrame({"p": [0.2, 0.4, None, 0.6], "theta": 1})
    table["action_no"], table["action_yes"] = [0.9, 0.5, None, None], [0.1, 0.5, None, None]
    table["status"] = ["ok", "ok", "refused", "ok"]
    assert counts_of(table) == {
        ("standard", "ok"): 1,
        ("standard, with action", "ok"): 2,
        ("standard, with action", "refused"): 1,
    }


@pytest.mark.parametrize(("mass", "warned"), [(0.5, False), (0.499, True)])
def test_where_half_of_the_mass_is_elsewhere_the_report_warns(mass, warned):
    said = str(report_of(rows(answer_mass=mass, belief_kind="token")))
    assert ("its probability lies on the form asked for" in said) is warned


# Names of the runs table in other people's tables: read as ours only where they can be.


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
    """Breaks if texts of cases, few, twice or one lost, set aside the rows of all others; or if a
    dozen wordings of every question are questions."""
    twice = pd.concat([plain(), plain()], ignore_index=True)
    alone = plain().drop(columns="context")
    for table, texts, statuses in (
        (twice, "Is it so? " + twice["context"], 1),
        (twice, ["standard"] * N + ["other"] * N, 2),
        (alone, [f"Is {number // 2} so?" for number in range(N)], 1),
        (alone, [*(f"Is {number} so?" for number in range(N - 1)), None], 1),
        (twice.head(8), "Is it so? " + twice["context"].head(8), 1),
        (alone, ["a", "b", "c"] * (N // 3), 3),
        (pd.concat([alone] * 12, ignore_index=True), list("abcdefghijkl") * N, 12),
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
