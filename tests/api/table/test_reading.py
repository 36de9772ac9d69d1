import gzip

import pandas as pd
import pytest

from coherence import InputError, read_runs


def test_an_array_of_records_is_a_table(tmp_path):
    """Breaks if what pandas writes with orient="records" is refused for its form."""
    table = pd.DataFrame({"p": [0.25, 0.5], "action": ["a", None], "theta": [0, 1]})
    table.to_json(tmp_path / "runs.json", orient="records")
    read = read_runs(tmp_path / "runs.json")
    assert read["p"].tolist() == [0.25, 0.5]
    assert read["action"].isna().tolist() == [False, True]
    with gzip.open(tmp_path / "runs.json.gz", "wt") as file:
        file.write((tmp_path / "runs.json").read_text())
    pd.testing.assert_frame_equal(read_runs(tmp_path / "runs.json.gz"), read)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"p": 0.5}', "it is one object"),
        ('[{"p": 0.5}, 2]', "1 of 2 entries are none, the first is a int"),
        ('[{"p": 0.5},', "is not JSON"),
        ("[]", "has no rows"),
    ],
)
def test_other_json_is_refused_in_a_line(text, said, tmp_path):
    (tmp_path / "runs.json").write_text(text)
    with pytest.raises(InputError, match=said):
        read_runs(tmp_path / "runs.json")


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


def test_a_list_in_a_cell_is_said_to_be_one(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"action": "a", "theta": 1, "samples": [{"p": 0.5}, {"p": 0.6}]}\n')
    with pytest.raises(InputError, match="'samples' holds lists: make a row of each entry first"):
        read_runs(path, columns={"p": "samples.p"})


def test_a_header_below_other_lines_is_pointed_at(tmp_path):
    """Breaks if a heading over several columns is taken for a header without a word."""
    path, above = tmp_path / "mine.csv", "Answers,,Outcome\n"
    path.write_text(f"{above}prob,choice,came\n0.5,a,1\n0.4,b,0\n")
    columns = {"p": "prob", "action": "choice", "theta": "came"}
    with pytest.raises(InputError, match="are named in row 0, below the line") as refused:
        read_runs(path, columns=columns)
    assert "Closest" not in str(refused.value)
    assert "header=1" in str(refused.value)
    read = read_runs(pd.read_csv(path, header=1), columns=columns)
    path.write_text(path.read_text().removeprefix(above))
    pd.testing.assert_frame_equal(read_runs(path, columns=columns), read, check_dtype=False)


def test_labels_of_blanks_alone_count_as_empty(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("context,p,action,theta\na,0.7,yes,1\nb,0.2, ,0\nc,0.4,no,  \n")
    runs = read_runs(path)
    assert runs["action"].isna().tolist() == [False, True, False]
    assert runs["theta"].tolist()[:2] == [1, 0]
    assert pd.isna(runs["theta"][2])
