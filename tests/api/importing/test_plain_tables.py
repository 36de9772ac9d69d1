"""Breaks if a cell of a user's table is changed on its way, or lost."""

import gzip

import pandas as pd
import pytest

from coherence import InputError


def test_a_table_keeps_ids_and_labels_as_they_are(tmp_path, imported, write_table):
    table = write_table(
        tmp_path / "mine.csv",
        "case,confidence,choice,rain,x_age\n"
        "007,0.7,NA,yes,3\n008,about half,stay,no,4\n009,,stay,no,5\n",
    )
    runs = imported(
        table, mapping={"context": "case", "p": "confidence", "action": "choice", "theta": "rain"}
    ).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["action"].tolist() == ["NA", "stay", "stay"]
    assert runs["status"].tolist() == ["ok", "unparsed", "unparsed"]
    assert runs["raw_belief"].tolist()[1] == "about half"
    assert runs["x_age"].tolist() == [3, 4, 5]


GERMAN = "Fall;Antwort;Wahl;p_true;x_dosis\n007;70,5 %;Krücke;0,5;2,5\n008;20 %;Gips;0,25;1,0\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (GERMAN.encode("latin-1"), "latin-1"),
        (GERMAN.encode("utf-16"), None),
        (gzip.compress(GERMAN.encode(), mtime=0), None),
        (GERMAN.replace(";", "\t").encode("utf-8-sig"), None),
    ],
)
def test_a_table_from_a_german_spreadsheet(tmp_path, imported, content, encoding):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    columns = {"context": "Fall", "p": "Antwort", "action": "Wahl", "p_true": "p_true"}
    study_log = imported(path, mapping=columns, decimal=",", encoding=encoding)
    assert study_log.runs["raw_belief"].tolist() == ["70.5 %", "20 %"]
    assert study_log.runs["p_true"].tolist() == [0.5, 0.25]
    assert study_log.runs["x_dosis"].tolist() == [2.5, 1.0]
    assert study_log.runs["action"].tolist() == ["Krücke", "Gips"]
    with pytest.raises(InputError, match="'p_true'; received '0,5'.*say --decimal ,"):
        imported(path, mapping=columns, encoding=encoding)


def test_bytes_that_are_no_utf_8_name_the_option(tmp_path, imported):
    path = tmp_path / "mine.csv"
    path.write_bytes("p,action\n0.5,Krücke\n".encode("cp1252"))
    with pytest.raises(InputError, match="Name its encoding, often --encoding cp1252"):
        imported(path)
    runs = imported(path, encoding="cp1252").runs
    assert runs["action"].tolist() == ["Krücke"]


def test_parquet_keeps_types_and_nested_columns(tmp_path, imported):
    table = pd.DataFrame(
        {
            "context": ["007", "008", "009"],
            "p": [0.1 + 0.2, float("nan"), 1.0],
            "action": ["go", None, "stay"],
            "asked": [pd.Timestamp("2026-01-05")] * 3,
            "meta": [{"p_true": 0.3}, {"p_true": 0.5}, {"p_true": 1.0}],
        }
    )
    table.to_parquet(tmp_path / "mine.parquet")
    runs = imported(
        tmp_path / "mine.parquet", mapping={"p_true": "meta.p_true", "created": "asked"}
    ).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["p"].tolist()[0] == 0.1 + 0.2
    assert runs["status"].tolist() == ["ok", "unparsed", "ok"]
    assert runs["p_true"].tolist() == [0.3, 0.5, 1.0]
    assert runs["created"][0] == "2026-01-05T00:00:00"


def test_import_of_a_plain_table_wants_the_word(tmp_path, imported, write_table):
    table = write_table(tmp_path / "mine.csv", "context,p,theta,p_true\na,0.2,1,0.4\nb,0.7,0,0.5\n")
    left = imported(table)
    assert "p_true" not in left.runs
    assert left.runs["truth_kind"].tolist() == ["recorded"] * 2
    assert "--map p_true=p_true" in " ".join(left.notes)
    named = imported(table, mapping={"p_true": "p_true"})
    assert named.runs["p_true"].tolist() == [0.4, 0.5]
    assert not named.notes
