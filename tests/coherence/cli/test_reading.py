import argparse

import pytest

from coherence.cli.reading import (
    COLUMNS,
    add_column_arguments,
    add_form_arguments,
    reading,
    reading_words,
)
from coherence.table.schema import COLUMN_NAMES
from coherence.table.storage import read_runs


def parsed(*words):
    parser = argparse.ArgumentParser()
    add_column_arguments(parser)
    add_form_arguments(parser)
    return parser.parse_args(words)


def test_every_option_names_a_column_of_the_runs_table():
    assert {column for column, _ in COLUMNS.values()} <= set(COLUMN_NAMES)


def test_only_what_was_said_is_repeated():
    assert reading_words(parsed()) == []
    said = ["--belief=my p", "--model-column=llm", "--ignore=a", "--ignore=b"]
    form = ["--sep=;", "--decimal=,", "--percent"]
    assert reading_words(parsed(*form, *said)) == [*said, *form]


@pytest.mark.parametrize("written", ["0,3", "30 %"])
def test_a_table_is_read_as_the_options_say(tmp_path, written):
    path = tmp_path / "mine.csv"
    path.write_text(f"conf;note;llm;theta\n{written};x;m;1\n", encoding="utf-8")
    percent = ["--percent"] if "%" in written else []
    args = parsed("--belief=conf", "--model-column=llm", "--ignore=note", "--decimal=,", *percent)
    assert reading(args)["columns"] == {"p": "conf", "model": "llm"}
    (row,) = read_runs(path, **reading(args)).to_dict("records")
    assert row == {"p": 0.3, "model": "m", "theta": 1}
