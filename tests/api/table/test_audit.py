"""What became of the answers: breaks if one is not counted, or if the bounds are not those of
filling in every unreadable answer."""

import json

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, simulate


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
    assert ("warning: the form of the answers" in said) is warned
