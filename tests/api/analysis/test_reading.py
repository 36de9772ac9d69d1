import pandas as pd
import pytest

from coherence.analysis.reading import alerts_of, as_runs, units_of
from coherence.table.runs import Runs


def test_repairs_are_emptied_where_reading_is_strict():
    runs = pd.DataFrame(
        {"p": [0.2, 0.4], "theta": [0, 1], "context": [1, 2], "status": ["ok", "repaired:percent"]}
    )
    strict = as_runs(runs).completed().without_repairs()
    assert strict.table["p"].isna().tolist() == [False, True]
    assert strict.notes[-1] == "strict: 1 repaired rows were treated as unreadable."
    (((task, model), unit),) = units_of(strict, {"": ((0, 1), None)}, None)
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
    completed = Runs(pd.DataFrame(rows)).completed()
    alerts = alerts_of(completed.table, completed.notes)
    assert [said in alert for alert in alerts] == ([] if said is None else [True])
    assert all("p-values and intervals are too optimistic" in alert for alert in alerts)
