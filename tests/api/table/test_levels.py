"""Rows of questions with a level: matching probabilities in a runs table."""

import pandas as pd
import pytest

from coherence import SchemaError, read_runs, write_runs
from coherence.runs.read import validate_runs


def asked(**columns):
    """A case with its stated belief, and two questions with a level."""
    table = {"context": "a", "p": [0.3, None, None], "action": ["treat", "event", "lottery"]}
    table |= {"level": [None, 0.15, 0.85], "frame": [None, "event", "complement"]}
    table |= {"order": [None, "event", "lottery"], "theta": 1}
    table |= {"truth_kind": "drawn", "status": "ok"}
    return pd.DataFrame({**table, **columns}, index=range(3))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_levels_come_back_from_every_format(tmp_path, ending):
    path = tmp_path / f"runs.{ending}"
    write_runs(asked(rep=0), path)  # one rep: the level tells the questions apart
    runs = read_runs(path)
    assert runs["level"].tolist()[1:] == [0.15, 0.85]
    assert runs["frame"].tolist()[1:] == ["event", "complement"]
    assert runs["order"].tolist()[1:] == ["event", "lottery"]
    assert runs[["level", "frame", "order"]].iloc[0].isna().all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"level": [None, 15, 85]}, r"'level' must hold chances between 0 and 1.*Divide percent"),
        ({"level": [None, 0.0, 0.5]}, r"the first is 0 \(row 1\).*Leave out questions"),
        ({"level": [None, "low", 0.5]}, r"'level' must hold chances.*'low' \(row 1\)"),
        ({"frame": [None, "gain", None]}, r"'frame' must be one of event.*'gain' \(row 1\)"),
        ({"order": [None, "act", None]}, r"'order' must be one of event.*'act' \(row 1\)"),
        ({"p": [0.3, 0.3, None]}, r"'level' must be empty in rows with a belief.*row of its own"),
        ({"action": ["treat", None, "event"]}, r"status is 'ok' but 'action' is empty in row 1"),
    ],
)
def test_each_error_has_a_remedy(columns, message):
    with pytest.raises(SchemaError, match=message):
        validate_runs(asked(**columns))


@pytest.mark.parametrize(
    ("levels", "options"),
    [
        ([None, 15, 85], {"percent": True}),
        ([None, 0.15, 0.85], {"percent": True}),  # as probabilities beside beliefs in percent
        ([None, "15%", "85%"], {}),
    ],
)
def test_chances_in_percent_are_read_as_beliefs_are(tmp_path, levels, options):
    belief = [30, None, None] if options else ["30%", None, None]
    table = asked(p=belief, level=levels)
    assert read_runs(table, **options)["level"].tolist()[1:] == [0.15, 0.85]
    table.rename(columns={"level": "chance"}).to_csv(tmp_path / "mine.csv", index=False)
    runs = read_runs(tmp_path / "mine.csv", columns={"level": "chance"}, **options)
    assert runs["level"].tolist()[1:] == [0.15, 0.85]
    assert runs["p"].tolist()[0] == 0.3


def test_errors_show_numbers_as_the_file_has_them():
    table = asked(p=[30, None, None], level=[None, 15, 100])
    for columns, said in (
        ({}, r"'level' must hold chances .* the first is 100, read as 1 \(row 2\)"),
        ({"p_q05": 70, "p_q95": 20}, r"'p_q05' must .* is 70, read as 0\.7 \(rows 0, 1"),
    ):
        with pytest.raises(SchemaError, match=said):
            read_runs(table.assign(**columns), percent=True)


def test_a_difficulty_stays_what_it_is_where_beliefs_are_percentages():
    table = asked(p=[30, 20, 40], action=["a", "b", "a"], status="ok", level=["1,5", "5%", "2"])
    table = table.drop(columns=["truth_kind", "frame", "order"])
    assert read_runs(table, percent=True)["unmapped_level"].tolist() == ["1,5", "5%", "2"]
