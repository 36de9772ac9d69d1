"""Breaks if the user's word about a file is passed over, or the file's own is misread."""

import gzip

import pytest

from coherence import InputError, read_runs, simulate, write_runs
from coherence.table import text_files
from coherence.table.text_files import (
    TextForm,
    encoding_of,
    header_and_separator,
    is_gzip,
    open_bytes,
    open_text,
)


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
def test_the_header_tells_the_separator_unless_the_user_does(tmp_path, header, form, cells, sep):
    path = tmp_path / "a.csv"
    path.write_text(header + "\n")
    assert header_and_separator(path, form) == (cells, sep, False)


def test_rows_with_more_cells_than_the_header_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,action\n0,5,go\n")
    with pytest.raises(InputError, match="line 2 has 3 cells, the header 2. Are there decimal"):
        header_and_separator(path)


def test_the_users_encoding_comes_before_the_mark_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("p".encode("utf-16"))
    assert encoding_of(path) == "utf-16"
    assert encoding_of(path, TextForm(encoding="latin-1")) == "latin-1"
    refused = pytest.raises(InputError, match="cannot be read as text.*Name another --encoding")
    with refused, open_text(path, TextForm(encoding="utf-8")) as lines:
        lines.read()


def test_a_packed_file_is_known_by_content_and_unpacked_up_to_its_limit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(b"0" * 1000, mtime=0))
    assert is_gzip(path)
    with open_bytes(path, max_bytes=1000) as file:
        assert len(file.read()) == 1000
    refused = pytest.raises(InputError, match="unpacks to more than 999 bytes.*--max-bytes")
    with refused, open_bytes(path, max_bytes=999) as file:
        file.read()


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes("a\u2028b\x0c\r\nc".encode())
    with open_text(path) as lines:
        assert list(lines) == ["a\u2028b\x0c\r\n", "c"]


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
