"""Tables in and out of files, and what is said about files that cannot be used."""

import os
import stat

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import InputError, SchemaError, read_runs, simulate, write_runs


@pytest.fixture
def runs():
    return simulate("noisy", n_contexts=6, n_reps=2, rng=0)


@pytest.mark.parametrize("name", ["runs.parquet", "runs.csv", "runs.jsonl"])
def test_round_trip(tmp_path, runs, name):
    write_runs(runs, tmp_path / name)
    back = read_runs(tmp_path / name)
    for name in runs.columns:
        assert back[name].isna().tolist() == runs[name].isna().tolist()
        known = runs[name].notna()
        assert (
            back.loc[known, name].astype(str).tolist() == runs.loc[known, name].astype(str).tolist()
        )


AWKWARD = st.one_of(
    st.sampled_from("\r\n\",;\t' \ufeff"), st.characters(codec="utf-8", exclude_characters="\0")
)
TEXT = st.text(AWKWARD, min_size=1)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), TEXT, st.none() | TEXT | st.just("0.70")), min_size=1, max_size=6
    )
)
def test_csv_keeps_every_text_and_number(tmp_path_factory, rows):
    """Breaks on a lone carriage return outside quotes, on raw answers read as numbers, and on
    probabilities cut after some digits."""
    path = tmp_path_factory.mktemp("csv") / "runs.csv"
    runs = pd.DataFrame(rows, columns=["p", "action", "raw_belief"]).assign(
        action=lambda table: "a" + table["action"]
    )
    write_runs(runs, path)
    back = read_runs(path)
    assert back["p"].tolist() == runs["p"].tolist()
    assert back["action"].tolist() == runs["action"].tolist()
    assert [None if pd.isna(text) else text for text in back["raw_belief"]] == [
        text for *_, text in rows
    ]


def test_raw_answers_under_another_name_stay_texts(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("p\ttheta\tsaid\n0.7\t1\t0.70\n0.5\t0\t\n")
    runs = read_runs(path, columns={"raw_belief": "said"})
    assert runs["raw_belief"][0] == "0.70"
    assert pd.isna(runs["raw_belief"][1])


def test_beliefs_without_actions_are_read_and_beliefs_with_nothing_are_not(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("confidence,outcome\n0.7,1\n0.5,0\n")
    assert list(read_runs(path, columns={"p": "confidence", "theta": "outcome"}).columns) == [
        "p",
        "theta",
    ]
    with pytest.raises(
        SchemaError, match=r"mine.csv has 1 fault: there is nothing to check beliefs against"
    ):
        read_runs(path, columns={"p": "confidence"})


def test_folder_of_parquet_files(tmp_path, runs):
    write_runs(runs[runs["context"] < "c0003"], tmp_path / "a.parquet")
    write_runs(runs[runs["context"] >= "c0003"], tmp_path / "b.parquet")
    assert len(read_runs(tmp_path)) == len(runs)


def test_column_mapping(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,confidence,choice,y,p\na,0.2,NA,0,9\nb,0.7,None,1,9\n")
    runs = read_runs(
        path, columns={"p": "confidence", "action": "choice", "theta": "y", "context": "id"}
    )
    assert runs["p"].tolist() == [0.2, 0.7]
    assert runs["action"].tolist() == ["NA", "None"]  # labels, not missing values
    assert runs["unmapped_p"].tolist() == [9, 9]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"not a parquet file", "cannot be read as parquet"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"p,action,theta\n", "the table has no rows"),
        ("a.jsonl", b'{"p": 0.1}\n{"p": \n', "line 2 is not JSON"),
        ("a.jsonl", b"[1, 2]\n", "line 1 is a JSON list, not an object"),
        ("a.xlsx", b"x", "must be .parquet, .csv, .tsv or .jsonl, not '.xlsx'"),
        ("a.csv", b"\xff\xfe\x00p", "cannot be read as csv"),
    ],
)
def test_unusable_files_are_refused_with_their_name(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_runs(path)
    assert str(path) in str(caught.value)


def test_missing_file_names_the_closest(tmp_path, runs):
    write_runs(runs, tmp_path / "runs.parquet")
    with pytest.raises(
        InputError, match=r"no such file or folder. Closest name found: 'runs.parquet'"
    ):
        read_runs(tmp_path / "run.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        read_runs(tmp_path / "empty")


def test_mapped_column_must_exist(tmp_path, runs):
    write_runs(runs, tmp_path / "runs.csv")
    with pytest.raises(
        InputError,
        match="there is no column 'actoin' to use as 'action'. Closest name found: 'action'",
    ):
        read_runs(tmp_path / "runs.csv", columns={"action": "actoin"})
    with pytest.raises(InputError, match="'belief', which is no column of the runs table"):
        read_runs(tmp_path / "runs.csv", columns={"belief": "p"})
    with pytest.raises(InputError, match="uses one column of the file twice"):
        read_runs(tmp_path / "runs.csv", columns={"p": "p_true", "p_true": "p_true"})


def test_schema_faults_name_the_file(tmp_path, runs):
    write_runs(runs.assign(p=runs["p"] * 100), tmp_path / "percent.csv")
    with pytest.raises(SchemaError, match=r"percent.csv has 1 fault: .*Divide percentages by 100"):
        read_runs(tmp_path / "percent.csv")


def test_a_failed_write_keeps_the_old_file(tmp_path, runs, monkeypatch):
    target = tmp_path / "runs.parquet"
    write_runs(runs, target)
    before = target.read_bytes()

    def broken(self, path, **options):
        with open(path, "wb") as partial:
            partial.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", broken)
    with pytest.raises(OSError, match="no space left"):
        write_runs(runs, target)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["runs.parquet"]


def test_written_files_have_ordinary_permissions(tmp_path, runs):
    plain = tmp_path / "plain"
    plain.touch()
    write_runs(runs, tmp_path / "runs.csv")
    assert stat.S_IMODE((tmp_path / "runs.csv").stat().st_mode) == stat.S_IMODE(
        plain.stat().st_mode
    )


def test_refuses_unknown_targets(tmp_path, runs):
    with pytest.raises(InputError, match="must be .parquet, .csv or .jsonl, not '.txt'"):
        write_runs(runs, tmp_path / "runs.txt")
    with pytest.raises(InputError, match="does not exist"):
        write_runs(runs, tmp_path / "nowhere" / "runs.csv")
