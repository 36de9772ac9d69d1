import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import SchemaError
from coherence.importing.cells import (
    Cell,
    action_cell,
    as_number,
    belief_cell,
    distribution_cells,
    row_status,
)
from coherence.table.schema import PARSED, STATE_SUM_TOLERANCE


def test_percentages_are_divided_only_when_asked(tmp_path, imported, write_table):
    table = write_table(tmp_path / "mine.csv", "p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert imported(table).runs["status"].tolist() == ["out_of_range", "out_of_range", "ok"]
    percentages = imported(table, percent=True)
    (note,) = percentages.notes
    assert note.endswith(
        "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.5 as 0.5%"
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


def test_only_what_is_written_as_a_number_is_one():
    written = [" 0.5 ", "+.5", "5e-1", "1.", 0.5, 3, 10**400, -(10**400)]
    assert [as_number(value) for value in written] == [
        0.5,
        0.5,
        0.5,
        1.0,
        0.5,
        3.0,
        math.inf,
        -math.inf,
    ]
    assert [as_number(value) for value in ("nan", "1_0", "٣", "", "0.5x", True, None, [1])] == (
        [None] * 8
    )


def test_letters_stand_for_options_only_where_that_was_offered():
    options = ("take it", "leave it")
    assert action_cell("B", None, options, by_letter=True) == Cell("leave it", "ok", "B")
    assert action_cell("B", None, options, by_letter=False).value is None
    assert action_cell("C", None, options, by_letter=True).value is None
    assert action_cell(3, None, (), by_letter=True) == Cell(3, "ok")
    assert action_cell("", None, options, by_letter=True) == Cell(None, "unparsed")


@pytest.mark.parametrize(
    ("cells", "logged", "status"),
    [
        ([Cell(0.5, "ok"), Cell("a", "ok")], None, "ok"),
        ([Cell(0.5, "ok"), Cell(None, "unparsed", "?")], "", "unparsed"),
        ([Cell(None, "unparsed")], "refused", "refused"),
        ([Cell(None, "unparsed")], "truncated", "truncated"),
        ([Cell(None, "unparsed"), Cell(None, "refused", "no")], "out_of_range", "refused"),
        ([Cell(None, "unparsed", "?")], "ok", "unparsed"),
        ([Cell(0.5, "ok")], "repaired:comma", "repaired:comma"),
        ([Cell(0.5, "ok")], 7, "7"),
    ],
)
def test_the_graver_of_the_logged_and_the_decoded_status_counts(cells, logged, status):
    assert row_status(cells, logged) == status


def test_states_may_miss_a_sum_of_one_by_what_the_schema_allows():
    def read(*values):
        columns = {f"p_{number}": value for number, value in enumerate(values)}
        return distribution_cells(columns, is_text=False, percent=False)

    assert read(0.5, 0.5 + STATE_SUM_TOLERANCE - 1e-9).status == "ok"
    assert read(0.5, 0.5 + STATE_SUM_TOLERANCE + 1e-9).status == "sum_not_one"
    assert read(0.2).value == {"p_0": 0.2}, "one state alone has no sum to miss"
    assert read(0.5, None) == Cell(None, "unparsed", "p_0=0.5; p_1=None")
