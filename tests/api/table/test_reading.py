from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, SchemaError, read_runs
from coherence.table.labels import without_blank_labels
from coherence.table.reading import Reading, as_runs, restore_whole_labels
from coherence.table.runs import Runs

SOURCE = Path("mine.csv")


def test_columns_are_renamed_and_an_old_bearer_of_the_name_steps_aside():
    table = pd.DataFrame({"conf": [70, 20], "p": ["x", "y"], "theta": [1, 0], "note": ["", ""]})
    reading = Reading({"p": "conf"}, percent=True, ignore=["note"])
    assert as_runs(table, reading, SOURCE).table.to_dict("list") == {
        "p": [0.7, 0.2],
        "unmapped_p": ["x", "y"],
        "theta": [1, 0],
    }
    assert (reading.name_in_file("p"), reading.name_in_file("theta")) == ("conf", "theta")


def test_faults_name_the_file_and_the_part():
    table = pd.DataFrame({"p": [3.0], "theta": [1]})
    with pytest.raises(SchemaError, match="mine.csv, task 'a' has 1 error"):
        as_runs(table, Reading(), SOURCE, where="task 'a'")
    with pytest.raises(InputError, match="there is no column 'conf' to use as 'p'"):
        as_runs(table, Reading({"p": "conf"}), SOURCE)
    with pytest.raises(InputError, match="columns must map"):
        Reading(["p"])


def test_a_missing_value_makes_no_label_a_fraction():
    table = restore_whole_labels(pd.DataFrame({"theta": [1.0, np.nan], "p": [1.0, 0.0]}))
    assert table["theta"].tolist() == [1, pd.NA]
    assert table["p"].dtype == np.float64


def test_missing_columns_are_told_with_all_other_faults():
    """They once had to be mended one by one before anything else was looked at."""
    table = pd.DataFrame(
        {"prob": ["20%", "1,7", "3%"], "actn": ["a", "A", "b"], "status": ["ok", "okk", "ok"]}
    )
    reading = Reading({"p": "prob", "action": "act", "theta": "truth"}, ignore=["nots"])
    with pytest.raises(InputError) as refused:
        as_runs(table, reading, SOURCE)
    said = str(refused.value)
    assert said.startswith("mine.csv has 6 errors: there is no column 'nots' to ignore. ")
    for fault in (
        "there is no column 'act' to use as 'action'. Closest name found: 'actn'.",
        "there is no column 'truth' to use as 'theta'.",
        "column 'prob' (mapped to 'p') has decimal commas, such as '1,7'.",
        "column 'prob' (mapped to 'p') has both percent signs, such as '20%', and",
        "column 'status' must be one of",
    ):
        assert said.count(fault) == 1


def test_what_was_looked_for_in_vain_is_told_once():
    """Not again as missing, nor as the reason why there is nothing to check."""
    table = pd.DataFrame({"p": [7.0], "conf": [0.5], "acton": ["a"]})
    with pytest.raises(InputError) as refused:
        as_runs(table, Reading({"p": "cnf", "action": "choice"}), SOURCE)
    faults = str(refused.value).split(" | ")
    assert [fault.split("'")[1] for fault in faults] == ["cnf", "choice"]
    assert "no column 'cnf' to use as 'p'. Closest name found: 'conf'." in faults[0]


def test_labels_of_blanks_alone_count_as_empty(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("context,p,action,theta\na,0.7,yes,1\nb,0.2, ,0\nc,0.4,no,  \n")
    runs = read_runs(path)
    assert runs["action"].isna().tolist() == [False, True, False]
    assert runs["theta"].tolist()[:2] == [1, 0]
    assert pd.isna(runs["theta"][2])
    assert list(Runs(runs).notes) == [
        "action: 1 cell holds blanks alone and count as empty.",
    ]


def test_texts_beside_blanks_stay_apart():
    columns = {"context": list("abc"), "p": [0.7, 0.2, 0.4], "action": ["01", "1", " "]}
    table = pd.DataFrame({**columns, "theta": ["1", "0", " "]})
    read = as_runs(table, Reading(), SOURCE).table
    assert read["action"].tolist()[:2] == ["01", "1"]
    assert read["theta"].tolist()[:2] == ["1", "0"]
    in_memory, notes = without_blank_labels(table)
    assert in_memory["theta"].tolist()[:2] == ["1", "0"]
    assert [note.partition(":")[0] for note in notes] == ["action", "theta"]
    with pytest.raises(SchemaError, match="column 'context' is empty in row 2"):
        as_runs(table.assign(context=["a", "b", " "]), Reading(), SOURCE)
