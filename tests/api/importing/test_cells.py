"""Breaks if a cell of a log is changed on its way, or lost."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import InputError, SchemaError
from coherence.importing.assemble import Reading, assemble
from coherence.importing.cells import belief_cell
from coherence.importing.log_format import AnswerLog
from coherence.table.schema import PARSED
from tests.api.importing.conftest import log_of


def test_p_true_of_a_log_wants_the_word():
    log = log_of("context,p,theta,p_true\na,0.2,1,0.4\nb,0.7,0,0.5\n")
    named = {name: field for name, field in log.fields.items() if name != "p_true"}
    left = assemble([replace(log, fields=named)], Reading())
    assert "p_true" not in left.runs
    assert left.runs["truth_kind"].tolist() == ["recorded"] * 2
    assert "--map p_true=p_true" in " ".join(left.notes)
    mapped = assemble([replace(log, fields=named)], Reading(), mapping={"p_true": "p_true"})
    assert mapped.runs["p_true"].tolist() == [0.4, 0.5]
    assert not mapped.notes


def test_percentages_are_divided_only_when_asked():
    log = log_of("p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert assemble([log], Reading()).runs["status"].tolist() == [*["out_of_range"] * 2, "ok"]
    percentages = assemble([log], Reading(percent=True))
    (note,) = percentages.notes
    assert "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.5 as 0.5%." in note
    runs = percentages.runs
    assert runs["p"].tolist()[::2] == [0.7, 0.005]
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_a_status_that_a_log_gives_survives():
    rows = ",a,1,refused\n,a,1,ok\n0.5,a,1,repaired:percent\n"
    runs = assemble([log_of(f"p,action,theta,status\n{rows}")], Reading()).runs
    assert runs["status"].tolist() == ["refused", "unparsed", "repaired:percent"]
    with pytest.raises(SchemaError, match="'fine'"):
        assemble([log_of("p,action,theta,status\n0.5,a,1,fine\n")], Reading())


def test_stated_distributions_that_miss_one_are_not_renormalised():
    rows = "0.6,0.4,a,dry\n0.6,0.6,a,wet\n"
    runs = assemble([log_of(f"p_dry,p_wet,action,theta\n{rows}")], Reading()).runs
    assert runs["status"].tolist() == ["ok", "sum_not_one"]
    assert runs["p_dry"].isna().tolist() == [False, True]
    assert runs["raw_belief"].tolist()[1] == "p_dry=0.6; p_wet=0.6"


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    st.booleans(),
)
def test_a_belief_is_a_probability_or_has_a_reason(value, percent):
    cell = belief_cell(value, None, percent=percent)
    if cell.status in PARSED:
        assert isinstance(cell.value, float)
        assert 0 <= cell.value <= 1
    else:
        assert cell.value is None


def test_labels_of_the_state():
    def states(cells, positive=None):
        lines = "\n".join(f"c{row},0.5,{cell}" for row, cell in enumerate(cells))
        log = log_of(f"context,p,theta\n{lines}\n")
        return assemble([log], Reading(positive=positive)).runs["theta"]

    assert states(["TRUE", "false", "True", ""]).fillna(-1).tolist() == [1, 0, 1, -1]
    with pytest.raises(InputError, match="'0.3'"):
        states(["0.3", "0.7"])
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        states(["rain", "dry"], "rian")


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("x_age", ["7", "007", None], [7, 7, None]),
        ("x_age", ["9" * 19, 2**63], [1e19, 2.0**63]),
        ("context", ["7", "007"], ["7", "007"]),
        ("answer_mass", [1, None], [1.0, None]),
        ("raw_belief", ["half \ud800", ""], ["half \ufffd\ufffd\ufffd", None]),
    ],
)
def test_a_column_has_one_type_that_holds_all_of_it(column, values, expected):
    named = {column: column, "p": "p"}
    records = tuple({column: value, "p": 0.5} for value in values)
    runs = assemble([AnswerLog("a.log", None, None, records, named)], Reading()).runs
    assert [None if pd.isna(value) else value for value in runs[column]] == expected
