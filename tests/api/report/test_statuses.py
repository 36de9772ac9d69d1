import math

import pandas as pd

from coherence.report.statuses import audit_cells, bound_cells, repair_sentence

BOUND_COLUMNS = ["quantity", "label", "asked", "unreadable", "estimate", "low", "high"]


def counts(**rows):
    statuses = [name.replace("__", ":") for name in rows]
    return pd.DataFrame({"question": "standard", "status": statuses, "rows": list(rows.values())})


def test_only_failures_that_occurred_have_a_column(unit):
    headings, rows = audit_cells(unit(statuses=counts(ok=5, refused=3, repaired__comma=2)))
    assert headings == ["question", "asked", "ok", "repaired", "refused", "unreadable"]
    assert rows == [["standard", "10", "5", "2", "3", "30.0%"]]


def test_nothing_counted_is_no_table(unit):
    assert audit_cells(unit(statuses=pd.DataFrame())) == ([], [])
    assert bound_cells(unit(bounds=pd.DataFrame())) == ([], [])
    assert repair_sentence(unit(statuses=pd.DataFrame())) == ""


def test_repairs_are_named_by_how_often_they_occurred(unit):
    assert repair_sentence(unit(statuses=counts(ok=5))) == ""
    sentence = repair_sentence(unit(statuses=counts(repaired__comma=1, repaired__words=4)))
    assert sentence == "repaired answers by what was repaired: 4 words, 1 comma"


def test_a_rate_without_unreadable_answers_has_no_bounds(unit):
    bounds = pd.DataFrame(
        [
            ["choice rate", "yes", 10, 0, 0.5, 0.5, 0.5],
            ["choice rate", "no", 10, 2, math.nan, 0.1, 0.25],
        ],
        columns=BOUND_COLUMNS,
    )
    headings, rows = bound_cells(unit(bounds=bounds))
    assert headings == ["rate", "unreadable", "of the readable", "whatever the others were"]
    assert rows == [["choice rate: no", "2", "–", "[0.100, 0.250]"]]
    assert bound_cells(unit(bounds=bounds[:1])) == ([], [])
