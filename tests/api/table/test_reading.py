import pandas as pd
import pytest

from coherence import InputError, read_runs


def test_missing_columns_are_told_with_all_other_faults(tmp_path):
    """They once had to be mended one by one before anything else was looked at."""
    table = pd.DataFrame(
        {"prob": ["20%", "1,7", "3%"], "actn": ["a", "A", "b"], "status": ["ok", "okk", "ok"]}
    )
    table.to_csv(tmp_path / "mine.csv", index=False)
    columns = {"p": "prob", "action": "act", "theta": "truth"}
    with pytest.raises(InputError) as refused:
        read_runs(tmp_path / "mine.csv", columns=columns, ignore=["nots"])
    said = str(refused.value)
    assert said.split("/")[-1].startswith(
        "mine.csv has 6 errors: there is no column 'nots' to ignore. "
    )
    for fault in (
        "there is no column 'act' to use as 'action'. Closest name found: 'actn'.",
        "there is no column 'truth' to use as 'theta'.",
        "column 'prob' (mapped to 'p') has decimal commas, such as '1,7'.",
        "column 'prob' (mapped to 'p') has both percent signs, such as '20%', and",
        "column 'status' must be one of",
    ):
        assert said.count(fault) == 1


def test_what_was_looked_for_in_vain_is_told_once(tmp_path):
    """Not again as missing, nor as the reason why there is nothing to check."""
    table = pd.DataFrame({"p": [7.0], "conf": [0.5], "acton": ["a"]})
    table.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(InputError) as refused:
        read_runs(tmp_path / "mine.csv", columns={"p": "cnf", "action": "choice"})
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
