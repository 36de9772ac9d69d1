"""Breaks if the user's word about a file is passed over, or the file's own is misread."""

import gzip

import pytest

from coherence import InputError, read_runs, simulate, write_runs


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"p": 0.5, "action": "a\u2028b", "theta": 1}\r\n'.encode())
    assert read_runs(path)["action"].tolist() == ["a\u2028b"]


def test_a_packed_table_that_unpacks_a_thousandfold_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"p,action\n" + b"0.5,a\n" * 200_000))
    monkeypatch.setattr("coherence.table.text_files.MOST_BYTES", 100_000)
    with pytest.raises(InputError, match=r"bomb\.csv\.gz: it unpacks to more than .*gunzip"):
        read_runs(path)
    ordinary = tmp_path / "runs.csv.gz"
    write_runs(simulate("rational", n_contexts=200, n_reps=10, rng=1), tmp_path / "runs.csv")
    ordinary.write_bytes(gzip.compress((tmp_path / "runs.csv").read_bytes()))
    assert len(read_runs(ordinary)) == len(read_runs(tmp_path / "runs.csv"))


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_the_line_that_only_excel_reads_is_named(tmp_path, separator):
    rows = [f"sep={separator}", "p;action".replace(";", separator), "0.5;a".replace(";", separator)]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(InputError, match="its first line only names the separator to Excel"):
        read_runs(path)


@pytest.mark.parametrize("sep", [None, ";"])
@pytest.mark.parametrize("data", [b"\np;action\n0.5;a\n", b"\r\n\r\np;action\r\n", b"\xff\xfe"])
def test_a_blank_first_line_is_named_whoever_names_the_separator(tmp_path, data, sep):
    path = tmp_path / "runs.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match="runs.csv: the first line must name the columns"):
        read_runs(path, sep=sep)
