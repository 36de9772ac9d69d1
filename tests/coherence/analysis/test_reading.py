import pandas as pd
import pytest

from coherence.analysis.reading import alerts_of, complete_columns, part_by_unit, validated


def test_absent_columns_are_filled_and_said():
    table, assumed = complete_columns(pd.DataFrame({"p": [0.2, 0.4], "theta": [0, 1]}))
    assert table["context"].tolist() == [0, 1]
    assert set(table["task"]) == set(table["model"]) == {""}
    assert "no context column" in assumed[0]


def test_repairs_are_emptied_where_reading_is_strict():
    runs = pd.DataFrame(
        {"p": [0.2, 0.4], "theta": [0, 1], "context": [1, 2], "status": ["ok", "repaired:percent"]}
    )
    table, assumed = validated(runs, strict=True)
    assert table["p"].isna().tolist() == [False, True]
    assert assumed[-1] == "strict: 1 repaired rows were treated as unreadable."
    (((task, model), unit),) = part_by_unit(table, {"": ((0, 1), None)}, None)
    assert (task, model, len(unit.stated)) == ("", "", 1)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"p": [0.2, 0.4, 0.4]}, "no context column"),
        ({"p": [0.2, 0.4, 0.4], "rep": [0, 0, 1]}, "no context column"),
        ({"p": [0.2, 0.4], "context": [0, 1], "rep": [0, 1]}, "although rep counts repetitions"),
        ({"p": [0.2, 0.4], "context": [0, 1], "rep": [3, 3]}, None),
        ({"p": [0.2, 0.4], "context": [0, 1]}, None),
        ({"p": [0.2, 0.4, 0.4], "context": [0, 1, 1], "rep": [0, 0, 1]}, None),
    ],
)
def test_rows_that_may_repeat_a_context_unseen_are_an_alert(rows, said):
    table, assumed = complete_columns(pd.DataFrame(rows))
    alerts = alerts_of(table, assumed)
    assert [said in alert for alert in alerts] == ([] if said is None else [True])
    assert all("p-values and intervals are too optimistic" in alert for alert in alerts)
