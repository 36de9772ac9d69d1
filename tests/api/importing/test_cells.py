import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import SchemaError
from coherence.importing.cells import belief_cell
from coherence.table.schema import PARSED


def test_percentages_are_divided_only_when_asked(tmp_path, imported, write_table):
    table = write_table(tmp_path / "mine.csv", "p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert imported(table).runs["status"].tolist() == ["out_of_range", "out_of_range", "ok"]
    percentages = imported(table, percent=True)
    (note,) = percentages.notes
    assert note.endswith(
        "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.5 as 0.5%."
    )
    runs = percentages.runs
    assert runs["p"].tolist()[0] == 0.7
    assert runs["p"].tolist()[2] == 0.005
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_a_status_of_the_tables_own_survives(tmp_path, imported, write_table):
    table = write_table(
        tmp_path / "mine.csv",
        "p,action,theta,status\n,a,1,refused\n,a,1,ok\n0.5,a,1,repaired:percent\n",
    )
    assert imported(table).runs["status"].tolist() == ["refused", "unparsed", "repaired:percent"]
    table = write_table(tmp_path / "other.csv", "p,action,theta,status\n0.5,a,1,fine\n")
    with pytest.raises(SchemaError, match="'fine'"):
        imported(table)


def test_stated_distributions_that_miss_one_are_not_renormalised(tmp_path, imported, write_table):
    lines = [
        {"p_dry": 0.6, "p_wet": 0.4, "action": "a", "theta": "dry"},
        {"p_dry": 0.6, "p_wet": 0.6, "action": "a", "theta": "wet"},
    ]
    table = write_table(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, lines)))
    runs = imported(table).runs
    assert runs["status"].tolist() == ["ok", "sum_not_one"]
    assert runs["p_dry"].isna().tolist() == [False, True]
    assert runs["raw_belief"].tolist()[1] == "p_dry=0.6; p_wet=0.6"


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    st.booleans(),
    st.booleans(),
)
def test_a_belief_is_a_probability_or_has_a_reason(value, is_text, percent):
    cell = belief_cell(value, None, is_text=is_text, percent=percent)
    if cell.status in PARSED:
        assert isinstance(cell.value, float)
        assert 0 <= cell.value <= 1
        assert math.isfinite(cell.value)
    else:
        assert cell.value is None
