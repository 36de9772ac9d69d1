"""Tables in and out of files: breaks if a cell changes on the way, a file that was cut short reads
as a whole one, or what cannot be read is not named with the way to read it."""

import gzip
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import InputError, SchemaError, read_runs, simulate, write_runs
from coherence.runs.states import folded

TABLE = "p,action,theta\n0.25,rest,1\n0.125,rest,0\n"


@pytest.fixture
def runs():
    return simulate("noisy", n_contexts=6, n_reps=2, rng=0)


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a file and reads it."""

    def call(content, name="mine.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_runs(path, **options)

    return call


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


AWKWARD = st.one_of(
    st.sampled_from("\r\n\",;\t' \ufeff"), st.characters(codec="utf-8", exclude_characters="\0")
)
ODD = ["007", "1e3", "NA", "nan", "=1", "'=1", "1.0", "1.10", "TRUE", "5%", "0x10", "٣", "null"]
ANY = st.sampled_from(ODD) | st.text(AWKWARD, min_size=1).filter(str.strip)
RAW = st.lists(st.none() | ANY | st.just("0.70"), min_size=6, max_size=6)


@settings(deadline=None, max_examples=20)
@given(st.lists(ANY, min_size=1, max_size=6, unique_by=folded), RAW, st.floats(0, 1))
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_what_is_written_is_read_again(tmp_path_factory, ending, labels, raw, p):
    """Breaks on a lone carriage return outside quotes, on raw answers read as numbers, on labels
    that become others, and on probabilities cut after some digits."""
    path = tmp_path_factory.mktemp("texts") / f"runs.{ending}"
    table = pd.DataFrame({"p": p, "theta": 1, "action": labels, "raw_belief": raw[: len(labels)]})
    runs = read_runs(table)
    try:
        write_runs(runs.set_index(runs.index + 7), path)
    except InputError as error:  # NA among numbers, which a reader of CSV takes for R's
        assert ending == "csv" and "'NA'" in str(error) and "NA" in (*labels, *raw)  # noqa: PT017, PT018
        return
    again, runs = (
        each.astype(object).where(each.notna(), None) for each in (read_runs(path), runs)
    )
    assert again.to_dict("list") == runs.to_dict("list")


@pytest.mark.parametrize("text", ["0.14160871658079453", "0.7237741577399263", "0.1", "5e-324"])
def test_csv_numbers_are_read_to_their_last_digit(read, text):
    """The first two are read one unit off in the last place by pandas' default."""
    runs = read(f"p,x_dose,theta\n{text},{text},1\n")
    assert runs.loc[0, ["p", "x_dose"]].tolist() == [float(text)] * 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", packed(TABLE)),
        ("a.csv", packed(TABLE)),
        ("a.csv", TABLE.encode("utf-16")),
        ("a.csv", TABLE.encode("utf-8-sig")),
        ("a.csv", TABLE.replace(",", ";")),
        ("a.csv", TABLE.replace(",", "\t")),
        ("a.tsv", TABLE.replace(",", ";").encode("utf-16")),
        ("a.csv", TABLE.replace("\n", "\r\n")),
        ("a.csv", "p,action, theta,\n0.25, rest, 1,\n0.125, rest, 0,\n"),
    ],
)
def test_what_a_file_says_of_itself_is_believed(read, name, content):
    runs = read(content, name)
    assert runs[["p", "action", "theta"]].to_numpy().tolist() == [
        *([0.25, "rest", 1], [0.125, "rest", 0])
    ]


def test_raw_answers_stay_texts_and_a_name_of_ours_steps_aside(read):
    runs = read("p\ttheta\tsaid\n0.7\t1\t0.70\n0.5\t0\t\n", columns={"raw_belief": "said"})
    assert runs["raw_belief"].tolist()[0] == "0.70"
    columns = {"p": "confidence", "action": "choice", "theta": "y", "context": "id"}
    runs = read("id,confidence,choice,y,p\na,0.2,NA,0,9\nb,0.7,None,1,9\n", columns=columns)
    assert runs["p"].tolist() == [0.2, 0.7]
    assert runs["unmapped_p"].tolist() == [9, 9]


def test_fields_of_nested_parquet_columns_are_named_with_dots(tmp_path):
    row = {"id": "a", "said": {"p": 0.25, "bet": {"choice": "take"}}, "metrics": {"right": 1}}
    table = pa.Table.from_pylist([{"id": "b", "said": None, "metrics": None}, row])
    pq.write_table(table, tmp_path / "nested.parquet")
    columns = {"p": "said.p", "action": "said.bet.choice", "theta": "metrics.right"}
    runs = read_runs(tmp_path / "nested.parquet", columns=columns | {"context": "id"})
    assert runs.loc[1, ["p", "action", "theta"]].tolist() == [0.25, "take", 1]


WHOLE = (
    b"context,p,action,theta\r\ncase 1,0.25,rest,1\r\n"
    b'case 2,0.4,"an answer, long",0\r\ncase 3,0.45,"rest, or not",1\r\n'
)


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_file_cut_within_its_last_row_is_refused_or_warned_of(read, cut, caplog):
    said = ""
    try:
        read(WHOLE[:-cut])
    except InputError as error:
        said = str(error)
    assert "row 4 " in said or "cut short" in said + caplog.text, cut


def test_rows_that_are_too_short_or_too_long_are_named(read, caplog):
    runs = read(b"\xef\xbb\xbf" + WHOLE + b",,,\r\n\r\n  \r\n")
    assert len(runs) == 3
    assert "3 blank lines were skipped." in caplog.text
    for line in (b"case 4,0.3,rest\n", b"case 4,0.3,rest,1,2\n"):
        with pytest.raises(InputError, match=r"row 5 \('case 4.* has \d cells, the header 4"):
            read(WHOLE.replace(b"case 2", b'"case\n2"') + line)


KRUECKE = TABLE.replace("rest", "Krücke").encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", "not a parquet file", "cannot be read as parquet"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "p,action,theta\n", "the table has no rows"),
        ("a.jsonl", '{"p": 0.1}\n{"p": \n', "line 2 is not JSON"),
        ("a.jsonl", "[1, 2]\n", "line 1 is a JSON list, not an object"),
        ("a.json", '{"p": 0.5}', "must be a JSON array of objects"),
        ("a.json", '[{"p": 0.5},', "is not JSON"),
        ("a.json", "[]", "has no rows"),
        ("a.ods", "x", "must be .parquet, .csv, .*, not '.ods'"),
        ("a.csv", b"\xff\xfe\x00p\x00", "cannot be read as text .*or check that the file is"),
        ("a.csv.gz", packed(TABLE)[:-9], "gzip file is damaged or cut short"),
        ("a.csv", KRUECKE, "--encoding latin-1"),
        ("a.csv", TABLE.replace("0.25", "0,25"), "row 2 .* has 4 cells.*--decimal ','"),
        ("a.csv", 'p,action\n0.5,a\n0.6,"b\n', "quotes"),
        ("a.csv", "\np;action\n0.5;a\n", "the first line must name the columns"),
        ("a.csv", "p,action,theta,theta\n0.7,yes,1,0\n", "column 'theta' occurs more than once"),
    ],
)
def test_unusable_files_are_refused_with_their_name(read, tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read(content, name)
    assert str(tmp_path / name) in str(caught.value)


def test_missing_files_name_the_closest(tmp_path, runs):
    write_runs(runs, tmp_path / "runs.parquet")
    with pytest.raises(InputError, match=r"no such file or folder. Closest .*: 'runs.parquet'"):
        read_runs(tmp_path / "run.parquet")


def test_missing_columns_are_told_once_with_all_other_faults(read):
    """They once had to be mended one by one before anything else was looked at."""
    text = 'prob,actn,status\n20%,a,ok\n"1,7",A,okk\n3%,b,ok\n'
    columns = {"p": "prob", "action": "act", "theta": "truth"}
    with pytest.raises(InputError, match="mine.csv has 5 errors: ") as e:
        read(text, columns=columns)
    for fault in (
        "there is no column 'act' to use as 'action'. Closest name found: 'actn'.",
        "there is no column 'truth' to use as 'theta'.",
        "column 'prob' (mapped to 'p') has decimal commas, such as '1,7' (row 1).",
        "column 'prob' (mapped to 'p') has both percent signs, such as '20%', and",
        "column 'status' must be one of",
    ):
        assert str(e.value).count(fault) == 1
    # Not again as missing, nor as the reason why there is nothing to check.
    with pytest.raises(InputError) as e:
        read("p,acton\n7,a\n", columns={"p": "cnf", "action": "choice"}, where="id == 1")
    assert [fault.split("'")[1] for fault in str(e.value).split(" | ")] == ["cnf", "choice", "id"]


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.parquet"])
def test_a_second_column_of_a_name_is_not_lost(tmp_path, runs, name):
    with pytest.raises(InputError, match="cannot hold this table .*[Ee]very column must have one"):
        write_runs(pd.concat([runs, runs[["p"]]], axis=1), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_pandas_reads_and_writes_a_file_as_the_page_says_without_a_change(tmp_path):
    """Breaks if 007 becomes 7, NA no label, or an answer another number on the way."""
    page = (Path(__file__).parents[3] / "docs" / "own-data.md").read_text("utf-8")
    (reads,) = re.findall(r"^table = (pd\.read_csv\(.*\))$", page, re.M)
    (writes,) = re.findall(r"^table\.to_csv\(.*\)$", page, re.M)
    labels = [f"{at}" for at in range(1, 20)] + [f"{at:03}" for at in range(1, 20)] + ["NA", "nan"]
    runs = pd.DataFrame({"group": labels, "p": [0.1, 0.725] * 20, "theta": [0, 1] * 20})
    runs.assign(raw_belief=["0.70", ""] * 20).to_csv(tmp_path / "mine.csv", index=False)
    before = read_runs(tmp_path / "mine.csv")
    assert before["group"].nunique() == 40
    names = {"pd": pd, "path": tmp_path / "mine.csv", "edited": tmp_path / "edited.csv"}
    lines = [f"table = {reads}".replace('"examples/mine.csv"', "path"), writes]
    exec("\n".join(lines).replace('"edited.csv"', "edited"), names)  # noqa: S102
    pd.testing.assert_frame_equal(read_runs(tmp_path / "edited.csv"), before)
    with pytest.raises(SchemaError, match="'group' is empty in rows 38, 39"):
        read_runs(pd.read_csv(tmp_path / "mine.csv"))
