"""Breaks if the user's word about a file is passed over, or the file's own is misread."""

import gzip
from pathlib import Path

import pytest

from coherence import InputError, read_runs, simulate, write_runs
from coherence.table import text_files
from coherence.table.text_files import TextForm, header_of, read_bytes, read_text


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"sep": ";;"}, "sep must be one character"),
        ({"sep": ",", "decimal": ","}, "sep must be one character, and neither the decimal mark"),
        ({"decimal": ";"}, "decimal must be '.' or ','; received ';'"),
        ({"encoding": "latin-99"}, "encoding must be a name that Python knows.*'latin-99'"),
    ],
)
def test_impossible_forms_are_refused(said, message):
    with pytest.raises(InputError, match=message):
        TextForm(**said)


@pytest.mark.parametrize("typed", ["tab", "\\t", "\t"])
def test_a_tab_may_be_typed_in_three_ways(typed):
    assert TextForm(sep=typed).sep == "\t"


@pytest.mark.parametrize(
    ("header", "form", "cells", "sep"),
    [
        ("p,action", TextForm(), ["p", "action"], ","),
        ("p;action", TextForm(), ["p", "action"], ";"),
        ("p|action", TextForm(), ["p", "action"], "|"),
        ('p,"a;b;c"', TextForm(), ["p", "a;b;c"], ","),
        ("p", TextForm(), ["p"], ","),
        ("p,a;b", TextForm(sep=";"), ["p,a", "b"], ";"),
    ],
)
def test_the_header_tells_the_separator_unless_the_user_does(header, form, cells, sep):
    assert header_of(Path("a.csv"), f"{header}\n", form) == (cells, sep, False)


def test_the_users_encoding_comes_before_the_mark_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("p".encode("utf-16"))
    assert read_text(path) == "p"
    assert read_text(path, TextForm(encoding="latin-1")) == "\xff\xfep\x00"
    with pytest.raises(InputError, match="cannot be read as text.*Name another --encoding"):
        read_text(path, TextForm(encoding="utf-8"))


def test_a_packed_file_is_known_by_content_and_unpacked_up_to_its_limit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(b"0" * 1000, mtime=0))
    assert len(read_bytes(path, max_bytes=1000)) == 1000
    with pytest.raises(InputError, match="unpacks to more than 999 bytes.*--max-bytes"):
        read_bytes(path, max_bytes=999)


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"p": 0.5, "action": "a\u2028b", "theta": 1}\r\n'.encode())
    assert read_runs(path)["action"].tolist() == ["a\u2028b"]


def test_a_packed_table_that_unpacks_a_thousandfold_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"p,action\n" + b"0.5,a\n" * 200_000))
    monkeypatch.setattr(text_files, "MOST_BYTES", 100_000)
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
