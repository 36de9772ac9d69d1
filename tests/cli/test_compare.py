import json
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.cli.compare import FILES, name_files
from coherence.cli.folders import new_files
from coherence.cli.main import main
from coherence.table.exact_csv import read_exact_csv

FAST = ["--effects", "calibration:brier,report_noise"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("rational", "noisy"):
        runs = coherence.simulate(name, n_contexts=40, n_reps=2, rng=1, iterated=False)
        coherence.write_runs(runs.drop(columns="model"), folder / f"{name}.parquet")
    return folder


def test_the_command_writes_what_the_function_returns(files, tmp_path, capsys):
    paths = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    assert main(["compare", *paths, *FAST, "--seed", "3", "--out", str(tmp_path / "out")]) == 0
    expected = coherence.compare(
        {name: coherence.read_runs(files / f"{name}.parquet") for name in ("rational", "noisy")},
        effects=["calibration:brier", "report_noise"],
        rng=3,
    )
    printed = capsys.readouterr()
    assert printed.out == f"{expected}\n"
    assert "rational" in printed.out  # a file without models is named by itself
    out = tmp_path / "out"
    assert (out / "compare.html").read_text(encoding="utf-8") == expected.to_html()
    assert json.loads((out / "compare.json").read_text()) == json.loads(expected.to_json())
    ElementTree.parse(out / "compare.svg")
    for name in ("estimates", "differences"):
        table = getattr(expected, name)
        written = pd.read_parquet(out / f"{name}.parquet")
        assert list(written.columns) == list(table.columns)
        value = "estimate" if name == "estimates" else "difference"
        assert written[value].tolist() == table[value].tolist()
        assert read_exact_csv(out / f"{name}.csv")[value].tolist() == table[value].tolist()


@pytest.mark.lengthy
def test_earlier_results_are_replaced_and_other_files_kept(files, tmp_path):
    paths = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    (tmp_path / "mine.txt").write_text("kept")
    with new_files(tmp_path, FILES) as new:
        (new / "compare.svg").write_text("old")
    assert main(["compare", *paths, *FAST, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "mine.txt").read_text() == "kept"
    assert "old" not in (tmp_path / "compare.svg").read_text()[:10]
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.lengthy
def test_runs_whose_cases_differ_end_with_one_line(files, tmp_path, capsys):
    runs = coherence.read_runs(files / "noisy.parquet")
    coherence.write_runs(runs[runs["context"] != "c0005"], tmp_path / "fewer.parquet")
    paths = [str(files / "rational.parquet"), str(tmp_path / "fewer.parquet")]
    assert main(["compare", *paths, *FAST]) == 2
    error = capsys.readouterr().err
    assert "model 'fewer' lacks 1 of 40 contexts ('c0005')" in error
    assert error.count("\n") == 1
    assert main(["compare", *paths, *FAST, "--common"]) == 0
    assert "1 of 40 contexts were left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--effects", "brier"], "effects must be among"),
        (["--ignore", "nothing"], "--ignore must be a column of a file"),
    ],
)
def test_wrong_options_end_with_one_line(files, capsys, options, message):
    paths = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    assert main(["compare", *paths, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_column_can_be_left_out(files, tmp_path):
    runs = coherence.read_runs(files / "noisy.parquet")
    coherence.write_runs(runs.assign(x_1=0.5), tmp_path / "other.parquet")
    paths = [str(files / "rational.parquet"), str(tmp_path / "other.parquet")]
    assert main(["compare", *paths, *FAST]) == 2
    assert main(["compare", *paths, *FAST, "--ignore", "x_1"]) == 0


def test_files_are_named_as_shortly_as_tells_them_apart(tmp_path):
    assert list(name_files(["a/one.csv.gz", "b/two.parquet"])) == ["one", "two"]
    assert list(name_files(["a/runs.csv", "b/runs.csv"])) == ["a/runs", "b/runs"]
    assert list(name_files(["a/runs.csv", "a/runs.parquet"])) == ["a/runs.csv", "a/runs.parquet"]
    with pytest.raises(InputError, match="a/runs.csv is there twice"):
        name_files(["a/runs.csv", "a/../a/runs.csv"])


@pytest.mark.lengthy
def test_columns_of_files_by_other_names_are_found(files, tmp_path, capsys):
    paths = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    renamed = []
    for path in paths:
        table = coherence.read_runs(path).rename(columns={"p": "confidence", "context": "case"})
        renamed.append(str(tmp_path / f"{Path(path).stem}.csv"))
        table.assign(confidence=100 * table["confidence"]).to_csv(renamed[-1], sep=";", index=False)
    assert main(["compare", *paths, *FAST]) == 0
    expected = capsys.readouterr().out
    words = ["--belief", "confidence", "--context", "case", "--percent"]
    assert main(["compare", *renamed, *FAST, *words]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.lengthy
def test_columns_are_left_out_before_others_take_their_names(files, tmp_path, capsys):
    """A file with actions by another name, and a column 'action' that means something else."""
    paths = []
    for name in ("rational", "noisy"):
        table = coherence.read_runs(files / f"{name}.parquet")
        mine = table.rename(columns={"action": "choice"}).assign(action="note")
        paths.append(str(tmp_path / f"{name}.parquet"))
        mine.to_parquet(paths[-1])
    words = ["--effects", "residual_covariance", "--action", "choice"]
    assert main(["compare", *paths, *words, "--ignore", "action"]) == 0
    found = capsys.readouterr().out
    plain = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    assert main(["compare", *plain, "--effects", "residual_covariance"]) == 0
    assert capsys.readouterr().out == found
    assert main(["compare", *paths, "--ignore", "acton"]) == 2
    assert "Closest name found: 'action'" in capsys.readouterr().err
