"""Breaks if a cell of a user's table is changed on its way, or lost."""

import gzip
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import InputError, SchemaError
from coherence.importing.cells import belief_cell
from coherence.importing.typed_table import typed_table
from coherence.table.schema import PARSED
from tests.api.importing.conftest import imported, write_lines, write_table


def test_a_table_keeps_ids_and_labels_as_they_are(tmp_path):
    rows = "007,0.7,NA,yes,3\n008,about half,stay,no,4\n009,,stay,no,5\n"
    table = write_table(tmp_path / "mine.csv", f"case,confidence,choice,rain,x_age\n{rows}")
    columns = {"context": "case", "p": "confidence", "action": "choice", "theta": "rain"}
    runs = imported(table, mapping=columns).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["action"].tolist() == ["NA", "stay", "stay"]
    assert runs["status"].tolist() == ["ok", "unparsed", "unparsed"]
    assert runs["raw_belief"].tolist()[1] == "about half"
    assert runs["x_age"].tolist() == [3, 4, 5]


GERMAN = "Fall;Antwort;Wahl;p_true;x_dosis\n007;70,5 %;Krücke;0,5;2,5\n008;20 %;Gips;0,25;1,0\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (GERMAN.encode("cp1252"), "cp1252"),
        (GERMAN.encode("utf-16"), None),
        (gzip.compress(GERMAN.encode(), mtime=0), None),
        (GERMAN.replace(";", "\t").encode("utf-8-sig"), None),
    ],
)
def test_a_table_from_a_german_spreadsheet(tmp_path, content, encoding):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    columns = {"context": "Fall", "p": "Antwort", "action": "Wahl", "p_true": "p_true"}
    runs = imported(path, mapping=columns, decimal=",", encoding=encoding).runs
    assert runs["raw_belief"].tolist() == ["70.5 %", "20 %"]
    assert runs["p_true"].tolist() == [0.5, 0.25]
    assert runs["x_dosis"].tolist() == [2.5, 1.0]
    assert runs["action"].tolist() == ["Krücke", "Gips"]
    with pytest.raises(InputError, match="'p_true'; received '0,5'.*say --decimal ,"):
        imported(path, mapping=columns, encoding=encoding)
    if encoding:
        with pytest.raises(InputError, match="Name its encoding, often --encoding cp1252"):
            imported(path, mapping=columns, decimal=",")


def test_parquet_keeps_types_and_nested_columns(tmp_path):
    table = pd.DataFrame({"context": ["007", "008", "009"], "p": [0.1 + 0.2, math.nan, 1.0]})
    table = table.assign(action=["go", None, "stay"], asked=pd.Timestamp("2026-01-05"))
    table["meta"] = [{"p_true": 0.3}, {"p_true": 0.5}, {"p_true": 1.0}]
    table.to_parquet(tmp_path / "mine.parquet")
    columns = {"p_true": "meta.p_true", "created": "asked"}
    runs = imported(tmp_path / "mine.parquet", mapping=columns).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["p"].tolist()[0] == 0.1 + 0.2
    assert runs["status"].tolist() == ["ok", "unparsed", "ok"]
    assert runs["p_true"].tolist() == [0.3, 0.5, 1.0]
    assert runs["created"][0] == "2026-01-05T00:00:00"


def test_p_true_of_a_plain_table_wants_the_word(tmp_path):
    table = write_table(tmp_path / "mine.csv", "context,p,theta,p_true\na,0.2,1,0.4\nb,0.7,0,0.5\n")
    left = imported(table)
    assert "p_true" not in left.runs
    assert left.runs["truth_kind"].tolist() == ["recorded"] * 2
    assert "--map p_true=p_true" in " ".join(left.notes)
    named = imported(table, mapping={"p_true": "p_true"})
    assert named.runs["p_true"].tolist() == [0.4, 0.5]
    assert not named.notes


def test_percentages_are_divided_only_when_asked(tmp_path):
    table = write_table(tmp_path / "mine.csv", "p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert imported(table).runs["status"].tolist() == ["out_of_range", "out_of_range", "ok"]
    percentages = imported(table, percent=True)
    (note,) = percentages.notes
    assert "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.5 as 0.5%." in note
    runs = percentages.runs
    assert runs["p"].tolist()[::2] == [0.7, 0.005]
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_a_status_of_the_tables_own_survives(tmp_path):
    rows = ",a,1,refused\n,a,1,ok\n0.5,a,1,repaired:percent\n"
    table = write_table(tmp_path / "mine.csv", f"p,action,theta,status\n{rows}")
    assert imported(table).runs["status"].tolist() == ["refused", "unparsed", "repaired:percent"]
    table = write_table(tmp_path / "other.csv", "p,action,theta,status\n0.5,a,1,fine\n")
    with pytest.raises(SchemaError, match="'fine'"):
        imported(table)


def test_stated_distributions_that_miss_one_are_not_renormalised(tmp_path):
    lines = [
        {"p_dry": 0.6, "p_wet": wet, "action": "a", "theta": state}
        for wet, state in ((0.4, "dry"), (0.6, "wet"))
    ]
    runs = imported(write_lines(tmp_path / "mine.jsonl", lines)).runs
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
    else:
        assert cell.value is None


def test_fields_within_lists_of_a_servers_replies_are_mapped(tmp_path):
    lines = [
        {"case": case, "choices": [{"message": {"content": text}}], "usage": {"total": 3}}
        for case, text in (("a", "0.25"), ("b", "0.5"), ("c", "no idea"))
    ]
    path = write_lines(tmp_path / "replies.jsonl", lines)
    columns = {"context": "case", "p": "choices.0.message.content"}
    runs = imported(path, mapping=columns).runs
    assert runs["p"].tolist()[:2] == [0.25, 0.5]
    assert runs["status"].tolist() == ["ok", "ok", "unparsed"]
    with pytest.raises(InputError, match="no log has the field 'choices.0.mesage"):
        imported(path, mapping=columns | {"p": "choices.0.mesage.content"})


def test_labels_of_the_state(tmp_path):
    def states(cells, positive=None):
        lines = "\n".join(f"c{row},0.5,{cell}" for row, cell in enumerate(cells))
        path = write_table(tmp_path / "own.csv", f"context,p,theta\n{lines}\n")
        return imported(path, positive=positive).runs["theta"]

    assert states(["TRUE", "false", 1, 0.0, ""]).fillna(-1).tolist() == [1, 0, 1, 0, -1]
    with pytest.raises(InputError, match="'0.3'"):
        states(["0.3", "0.7"])
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        states(["rain", "dry"], "rian")


@pytest.mark.parametrize(
    ("column", "values", "dtype", "expected"),
    [
        ("x_age", ["7", "007", None], "Int64", [7, 7, None]),
        ("x_age", ["7", "7.5", ""], "float64", [7.0, 7.5, None]),
        ("x_age", ["7", "old"], "string", ["7", "old"]),
        ("x_age", ["9" * 19], "float64", [1e19]),
        ("x_age", [2**63, 1], "float64", [2.0**63, 1.0]),
        ("x_flag", [True, False], "string", ["True", "False"]),
        ("context", ["7", "007"], "string", ["7", "007"]),
        ("context", [7, 8], "Int64", [7, 8]),
        ("rep", [0, 1.0], "string", ["0", "1.0"]),
        ("theta", ["yes", "No", None], "Int64", [1, 0, None]),
        ("answer_mass", [1, None], "float64", [1.0, None]),
        ("raw_belief", ["half \ud800"], "string", ["half \ufffd\ufffd\ufffd"]),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_all_of_it(column, values, dtype, expected):
    runs = typed_table({column: values, "status": ["ok"] * len(values)}, None)
    assert str(runs[column].dtype) == dtype
    assert [None if pd.isna(value) else value for value in runs[column]] == expected
