"""Tables in and out of files, and what is said about files that cannot be used."""

import gzip
import os

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import InputError, SchemaError, read_runs, scan_runs, simulate, write_runs

TABLE = "p,action,theta\n0.25,rest,1\n0.125,rest,0\n"


@pytest.fixture
def runs():
    return simulate("noisy", n_contexts=6, n_reps=2, rng=0)


def test_fields_of_nested_parquet_columns_are_named_with_dots(tmp_path):
    row = {"id": "a", "said": {"p": 0.25, "bet": {"choice": "take"}}, "metrics": {"right": 1}}
    pq.write_table(
        pa.Table.from_pylist([{"id": "b", "said": None, "metrics": None}, row]),
        tmp_path / "nested.parquet",
    )
    columns = {
        "p": "said.p",
        "action": "said.bet.choice",
        "theta": "metrics.right",
        "context": "id",
    }
    runs = read_runs(tmp_path / "nested.parquet", columns=columns)
    assert runs.loc[1, ["p", "action", "theta"]].tolist() == [0.25, "take", 1]


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


@pytest.mark.lengthy
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
    back = read_runs(path, merge_labels=False)  # "ak" and "aK" are two actions here
    assert back["p"].tolist() == runs["p"].tolist()
    assert back["action"].tolist() == runs["action"].tolist()
    assert [None if pd.isna(text) else text for text in back["raw_belief"]] == [
        text for *_, text in rows
    ]


@pytest.mark.parametrize("text", ["0.14160871658079453", "0.7237741577399263", "0.1", "5e-324"])
def test_csv_numbers_are_read_to_their_last_digit(tmp_path, text):
    """The first two are read one unit off in the last place by pandas' default."""
    (tmp_path / "mine.csv").write_text(f"p,x_dose,theta\n{text},{text},1\n")
    runs = read_runs(tmp_path / "mine.csv")
    assert runs.loc[0, ["p", "x_dose"]].tolist() == [float(text)] * 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", gzip.compress(TABLE.encode(), mtime=0)),
        ("a.csv", gzip.compress(TABLE.encode(), mtime=0)),
        ("a.csv", TABLE.encode("utf-16")),
        ("a.csv", TABLE.encode("utf-8-sig")),
        ("a.csv", TABLE.encode("utf-32")),
        ("a.csv", TABLE.replace(",", ";").encode()),
        ("a.csv", TABLE.replace(",", "\t").encode()),
        ("a.tsv", TABLE.replace(",", ";").encode("utf-16")),
        ("a.csv", TABLE.replace("\n", "\r\n").encode()),
    ],
)
def test_what_a_file_says_of_itself_is_believed(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    runs = read_runs(tmp_path / name)
    assert runs.columns.tolist() == ["p", "action", "theta"]
    assert runs["p"].tolist() == [0.25, 0.125]
    assert runs["action"].tolist() == ["rest"] * 2


def test_a_table_from_a_german_spreadsheet(tmp_path):
    text = "Fall;p;action;theta;x_dosis;p_true\n1;70,5 %;Krücke;1;2,5;0,5\n2;20;Gips;0;1,0;0,25\n"
    (tmp_path / "mine.csv").write_bytes(text.encode("cp1252"))
    form = {"decimal": ",", "encoding": "cp1252", "percent": True}
    runs = read_runs(tmp_path / "mine.csv", columns={"p_true": "p_true"}, **form)
    assert runs["p"].tolist() == [0.705, 0.2]
    assert runs["x_dosis"].tolist() == [2.5, 1.0]
    assert runs["p_true"].tolist() == [0.5, 0.25]  # exact: no answer, and in percent only by a sign
    assert runs["action"].tolist() == ["Krücke", "Gips"]


def test_raw_answers_under_another_name_stay_texts(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("p\ttheta\tsaid\n0.7\t1\t0.70\n0.5\t0\t\n")
    runs = read_runs(path, columns={"raw_belief": "said"})
    assert runs["raw_belief"][0] == "0.70"
    assert pd.isna(runs["raw_belief"][1])


def test_a_header_that_names_a_column_twice_is_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("p,action,theta,conf,conf\n0.7,yes,1,0,1\n")
    assert "conf" in read_runs(path)  # nothing reads it
    with pytest.raises(InputError, match="column 'conf' occurs more than once"):
        read_runs(path, columns={"p": "conf"})
    path.write_text("p,action,theta,theta\n0.7,yes,1,0\n")
    with pytest.raises(InputError, match="column 'theta' occurs more than once"):
        read_runs(path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('"p", "action", "theta"\n0.7, "yes", 1\n0.2, "no", 0\n', ["yes", "no"]),
        ('p, action, theta, said\n0.7, yes, 1, "I say, 0.5"\n0.2, no, 0,x\n', ["yes", "no"]),
        ("p, action, theta,\n0.7, yes, 1,\n0.2, no, 0,\n", ["yes", "no"]),
        ("p,action, theta\n0.7, yes, 1\n0.2, no, 0\n", ["yes", "no"]),
    ],
)
def test_blanks_behind_separators_are_no_part_of_cells(tmp_path, text, labels):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    runs = read_runs(path)
    assert (runs["action"].tolist(), runs["theta"].tolist()) == (labels, [1, 0])


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
        ("a.jsonl", b'{"p": 0.1}\n' + b"[" * 10**5, "line 2 is nested too deeply"),
        ("a.jsonl", b"[1, 2]\n", "line 1 is a JSON list, not an object"),
        ("a.ods", b"x", "must be .parquet, .csv, .*, not '.ods'"),
        ("a.csv", b"\xff\xfe\x00p\x00", "cannot be read as text .*or check that the file is"),
        ("a.csv", b"PK\x03\x04\x14\x00\xff", "cannot be read as text .*It holds no text: save"),
        (
            "a.csv.gz",
            gzip.compress(TABLE.encode(), mtime=0)[:-9],
            "gzip file is damaged or cut short",
        ),
        ("a.csv", TABLE.replace("rest", "Krücke").encode("latin-1"), "--encoding latin-1"),
        ("a.jsonl", '{"p": 0.1, "action": "Krücke"}'.encode("latin-1"), "--encoding latin-1"),
        ("a.csv", TABLE.replace("0.25", "0,25").encode(), "line 2 has 4 cells.*--decimal ','"),
        ("a.csv", b'p,theta\n"0,25",1\n', r"'p' has decimal commas, such as '0,25'.*--decimal ,"),
        ("a.csv", b"p,theta\n0.5%,1\n7,0\n", "'p' has both percent signs.*'0.5%'.*--percent"),
        ("a.csv", TABLE.encode()[:-6], "line 3 has"),
        ("a.csv", b'p,action\n0.5,a\n0.6,"b\n', "quotes"),
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


def test_a_link_to_nothing_is_called_that(tmp_path, runs):
    """Breaks if the name itself is proposed, or another link to nothing."""
    (tmp_path / "runs.parquet").symlink_to("gone.parquet")
    with pytest.raises(InputError, match=r"runs.parquet: a link to gone.parquet, where") as caught:
        read_runs(tmp_path / "runs.parquet")
    assert "Closest" not in str(caught.value)
    with pytest.raises(InputError, match="no such file or folder. Found: nothing"):
        read_runs(tmp_path / "run.parquet")


def test_mapped_column_must_exist(tmp_path, runs):
    write_runs(runs, tmp_path / "runs.csv")
    with pytest.raises(
        InputError,
        match="there is no column 'actoin' to use as 'action'. Closest name found: 'action'",
    ):
        read_runs(tmp_path / "runs.csv", columns={"action": "actoin"})
    with pytest.raises(
        InputError, match="A column is to be named, not a value; column 'task' holds"
    ):
        read_runs(tmp_path / "runs.csv", columns={"task": "asai"})
    with pytest.raises(InputError, match="'beleif'.*'belief'"):
        read_runs(tmp_path / "runs.csv", columns={"beleif": "p"})
    with pytest.raises(InputError, match="uses one column of the file twice"):
        read_runs(tmp_path / "runs.csv", columns={"p": "p_true", "p_true": "p_true"})


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


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.parquet"])
def test_a_second_column_of_a_name_is_not_lost(tmp_path, runs, name):
    with pytest.raises(InputError, match="cannot hold this table .*[Ee]very column must have one"):
        write_runs(pd.concat([runs, runs[["p"]]], axis=1), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def with_models(runs, path, values, kind):
    column = pd.Series(values * len(runs), dtype=pd.ArrowDtype(kind))
    runs.reset_index(drop=True).assign(model=column).to_parquet(path)


def test_a_type_that_pandas_does_not_read_names_the_file(tmp_path, runs):
    path = tmp_path / "runs.parquet"
    with_models(runs, path, ["a"], pa.dictionary(pa.int8(), pa.string()))
    with pytest.raises(InputError, match="runs.parquet: the file cannot be read as parquet"):
        read_runs(path)
    with_models(runs, path, [[]], pa.list_(pa.null()))
    with pytest.raises(InputError, match=r"runs.parquet.* must hold|runs.parquet.*be read"):
        read_runs(path)
    with pytest.raises(InputError, match="runs.parquet: rows cannot be read"):
        scan_runs(path)


def test_texts_of_a_damaged_page_are_refused_at_once(tmp_path):
    """They were read, and ended in a traceback wherever their letters were needed."""
    path = tmp_path / "damaged.parquet"
    column = pa.array([b"no", b"\xff\xfe"], type=pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 2, column.buffers())
    table = pa.table({"p": [0.1, 0.2], "action": broken, "theta": [0, 1]})
    pq.write_table(table, path, use_dictionary=False)
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_runs(path)
    with pytest.raises(InputError, match="rows cannot be read"):
        scan_runs(path).read("", "")


def test_an_integer_beyond_all_floats_is_no_probability(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(
        '{"p": 0.1, "action": "a", "theta": 0}\n{"p": 1%s, "action": "b", "theta": 1}\n'
        % ("0" * 400)
    )
    with pytest.raises(SchemaError, match="'p' must hold probabilities"):
        read_runs(path)


def test_a_zero_byte_within_an_answer_is_read_as_it_was_written(tmp_path):
    runs = pd.DataFrame({"p": [0.7], "action": ["yes"], "theta": [1], "raw_belief": ["a\0b"]})
    write_runs(runs, tmp_path / "runs.csv")
    assert read_runs(tmp_path / "runs.csv")["raw_belief"].tolist() == ["a\0b"]
