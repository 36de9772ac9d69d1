import argparse

import pytest

from coherence import InputError, RunsScan, read_runs, simulate, write_runs
from coherence.cli import reading as module
from coherence.cli.main import main
from coherence.cli.reading import (
    COLUMNS,
    add_column_arguments,
    add_form_arguments,
    read_table,
    reading,
    reading_words,
)
from coherence.table.schema import COLUMN_NAMES


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


@pytest.fixture
def path(tmp_path):
    runs = simulate("rational", n_contexts=20, n_reps=2, rng=1)
    write_runs(runs, tmp_path / "runs.parquet")
    write_runs(runs, tmp_path / "runs.csv")
    return tmp_path / "runs.parquet"


def read(path, *words, **changes):
    options = {"runs": str(path), "twin": None, "paper": None, "merge_labels": None}
    args = argparse.Namespace(**vars(parsed(*words)), **options | {"by_unit": False} | changes)
    return read_table(args)


def test_a_very_large_table_is_read_by_unit_and_this_is_said(path, monkeypatch, capsys):
    assert len(read(path)) == 240
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "MOST_ROWS", 239)
    assert isinstance(read(path), RunsScan)
    assert "240 rows are read by unit: the report has no figures" in capsys.readouterr().err
    # What takes all units together, and what is no parquet, is read into memory all the same.
    assert len(read(path, twin=40)) == len(read(path.with_suffix(".csv"))) == 240
    with pytest.raises(InputError, match="--paper takes all units together"):
        read(path, by_unit=True, paper="x")
    with pytest.raises(InputError, match="Write the table as parquet first"):
        read(path.with_suffix(".csv"), by_unit=True)


@pytest.mark.lengthy
def test_the_command_prints_the_same_either_way(path, tmp_path, capsys):
    command = ["analyze", str(path), "--checks", "calibration,residual_covariance"]
    assert main(command) == 0
    whole = capsys.readouterr().out
    assert main([*command, "--by-unit", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == whole
    files = {file.name for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert files == {"files.sha256", "report.html", "results.json", "results.parquet"}
