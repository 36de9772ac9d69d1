"""What became of the answers: breaks if one is not counted, or if the bounds are not those of
filling in every unreadable answer."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, simulate
from coherence.table.audit import (
    answering,
    audit_table,
    count_statuses,
    label_rows,
    worst_case_bounds,
)
from coherence.table.runs import Runs
from coherence.table.schema import FAILURES, REPAIRS, STATUSES


def rows(n=9, **columns):
    base = {
        "prompt": "standard",
        "z_state": None,
        "p": np.linspace(0.1, 0.9, n),
        "action": ["yes", "no", "defer"] * (n // 3),
    }
    return pd.DataFrame({**base, **columns}, index=range(n))


def test_every_status_has_its_place_and_none_is_lost():
    counts = pd.DataFrame(
        {
            "question": ["mse"] * len(STATUSES),
            "status": STATUSES,
            "rows": range(1, len(STATUSES) + 1),
        }
    )
    (row,) = audit_table(counts).to_dict("records")
    assert row["asked"] == counts["rows"].sum()
    readable = row["ok"] + row["repaired"] + row["low_mass"]
    assert readable + sum(row[name] for name in FAILURES) == row["asked"]
    assert row["repaired"] == counts.loc[counts["status"].isin(REPAIRS), "rows"].sum()
    assert row["share_unreadable"] == sum(row[name] for name in FAILURES) / row["asked"]


def test_without_a_status_column_what_is_null_is_missing():
    table = rows()
    table.loc[[0, 1], "p"] = np.nan
    table.loc[2, "action"] = None
    (row,) = audit_table(count_statuses(label_rows(Runs(table), "standard"))).to_dict("records")
    assert (row["asked"], row["ok"], row["missing"]) == (9, 6, 3)


def test_an_action_that_was_not_asked_for_is_not_unreadable():
    """Six of nine rows asked for an action, one of them in vain: shares and bounds are those of the
    six."""
    table = rows(status=["ok"] * 8 + ["refused"])
    table.loc[[0, 1, 2, 8], "action"] = None
    assert Runs(table).asked_for_action("standard").tolist() == [False] * 3 + [True] * 6
    counts = count_statuses(label_rows(Runs(table), "standard")).set_index(["question", "status"])[
        "rows"
    ]
    assert counts.to_dict() == {
        ("standard", "ok"): 3,
        ("standard, with action", "ok"): 5,
        ("standard, with action", "refused"): 1,
    }
    rates = worst_case_bounds(Runs(table), "standard").query("quantity == 'choice rate'")
    assert set(rates["asked"]) == {6}
    assert set(rates["unreadable"]) == {1}
    assert rates["high"].to_numpy() - rates["low"].to_numpy() == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    "status", [{}, {"status": ["ok"] * 8 + ["refused"]}], ids=["no status", "status"]
)
@pytest.mark.parametrize("empty", [True, False], ids=["empty column", "no column"])
def test_a_table_of_beliefs_was_not_asked_for_actions(status, empty):
    table = rows(action=None, **status)
    table.loc[8, "p"] = np.nan
    table = table if empty else table.drop(columns="action")
    assert not Runs(table).asked_for_action("standard").any()
    (row,) = audit_table(count_statuses(label_rows(Runs(table), "standard"))).to_dict("records")
    assert (row["question"], row["asked"], row["ok"], row["refused"] + row["missing"]) == (
        "standard",
        9,
        8,
        1,
    )
    assert worst_case_bounds(Runs(table), "standard")["quantity"].tolist() == ["mean belief"]


def test_actions_that_nobody_could_read_were_asked_for():
    assert Runs(rows(action=None, status="unparsed")).asked_for_action("standard").all()
    assert Runs(rows(action=None, raw_action="hm")).asked_for_action("standard").all()


def test_bounds_are_those_of_all_ways_to_fill_the_gaps():
    table = rows()
    table.loc[[0, 4, 7], "p"] = np.nan
    table.loc[[2, 3], "action"] = None
    bounds = worst_case_bounds(Runs(table), "standard").set_index(["quantity", "label"])
    means = [
        table["p"].fillna(dict(zip([0, 4, 7], fill, strict=True))).mean()
        for fill in product([0.0, 0.3, 1.0], repeat=3)
    ]
    belief = bounds.loc[("mean belief", "standard")]
    assert (belief["low"], belief["high"]) == (pytest.approx(min(means)), pytest.approx(max(means)))
    assert belief["low"] <= belief["estimate"] <= belief["high"]
    for action in ("yes", "no", "defer"):
        rates = []
        for fill in product(["yes", "no", "defer"], repeat=2):
            filled = table["action"].copy()
            filled[[2, 3]] = fill
            rates.append((filled == action).mean())
        rate = bounds.loc[("choice rate", action)]
        assert (rate["low"], rate["high"], rate["unreadable"]) == (
            pytest.approx(min(rates)),
            pytest.approx(max(rates)),
            2,
        )


def test_bounds_of_readable_answers_are_the_rate_and_of_none_everything():
    bounds = worst_case_bounds(Runs(rows()), "standard")
    assert (bounds["low"] == bounds["high"]).all()
    nothing = worst_case_bounds(Runs(rows(p=np.nan)), "standard").iloc[0]
    assert np.isnan(nothing["estimate"])
    assert (nothing["low"], nothing["high"]) == (0, 1)


def test_bounds_by_prompt_and_by_state_leave_out_rows_given_z():
    table = pd.concat([rows(), rows(prompt="mse", action=None), rows(z_state="a", p=1.0)])
    bounds = worst_case_bounds(Runs(table), "standard")
    assert bounds["label"].tolist() == ["standard", "mse", "defer", "no", "yes"]
    assert bounds.loc[0, "estimate"] == pytest.approx(0.5)
    states = rows().drop(columns="p").assign(p_a=0.2, p_b=0.8)
    assert worst_case_bounds(Runs(states), "standard")["label"].tolist()[:2] == [
        "standard, a",
        "standard, b",
    ]


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
    assert "strict: 7 repaired rows were treated as unreadable." in strict.units[0].notes
    assert strict.units[0].bounds.loc[0, "unreadable"] == 7
    assert audit_table(strict.units[0].statuses)["repaired"].sum() == 7
    dropped = analyze(runs.drop(index=repaired), checks=["calibration"], rng=1)
    assert strict.results["statistic"].tolist() == dropped.results["statistic"].tolist()


def test_probabilities_of_actions_count_as_answers_and_bound_their_rates():
    """Of four rows asked one is unreadable, and one asked for no action."""
    unit = pd.DataFrame(
        {
            "p": [0.2, 0.4, None, 0.6],
            "action_no": [0.9, 0.5, None, None],
            "action_yes": [0.1, 0.5, None, None],
            "action_wait": None,
            "status": ["ok", "ok", "refused", "ok"],
            "prompt": "standard",
            "z_state": None,
        }
    )
    assert Runs(unit).asked_for_action("standard").tolist() == [True, True, True, False]
    bounds = worst_case_bounds(Runs(unit), "standard").set_index("label")
    assert bounds.loc["no", ["asked", "unreadable"]].tolist() == [3, 1]
    assert bounds.loc["no", ["estimate", "low", "high"]].tolist() == pytest.approx(
        [0.7, 1.4 / 3, 2.4 / 3]
    )
    assert "wait" not in bounds.index  # the action of another task
    counted = count_statuses(label_rows(Runs(unit), "standard")).set_index(["question", "status"])[
        "rows"
    ]
    assert counted.to_dict() == {
        ("standard", "ok"): 1,
        ("standard, with action", "ok"): 2,
        ("standard, with action", "refused"): 1,
    }


def test_mass_is_that_of_the_rows_that_have_one():
    """A mean in place of the median would give .3333."""
    rows = pd.DataFrame({"answer_mass": [0.1, None, 0.2, 0.7]})
    got = answering(Runs(rows))
    assert (got.n_mass, got.median_mass, got.smallest_mass) == (3, 0.2, 0.1)
    assert got.known
