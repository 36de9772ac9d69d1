import pytest

from coherence import simulate, write_runs


@pytest.fixture
def path(tmp_path):
    runs = simulate("rational", n_contexts=20, n_reps=2, rng=1)
    write_runs(runs, tmp_path / "runs.parquet")
    write_runs(runs, tmp_path / "runs.csv")
    return tmp_path / "runs.parquet"


def test_a_very_large_table_is_read_by_unit_and_this_is_said(path, monkeypatch, run):
    checks = ["--checks", "calibration,residual_covariance"]
    whole = run("analyze", path, *checks)
    assert (whole[0], whole[2]) == (0, "")
    monkeypatch.setattr("coherence.cli.reading.MOST_ROWS", 239)
    status, out, err = run("analyze", path, *checks)
    assert (status, out) == whole[:2]
    assert "240 rows are read by unit: the report has no figures" in err
    # What is no parquet is read into memory all the same.
    assert run("analyze", path.with_suffix(".csv"), *checks) == whole


def test_reading_by_unit_is_refused_where_it_cannot_be(path, tmp_path, run):
    status, _, err = run("analyze", path, "--by-unit", "--paper", tmp_path / "x")
    assert (status, "--paper takes all units together" in err) == (2, True)
    status, _, err = run("analyze", path.with_suffix(".csv"), "--by-unit")
    assert (status, "Write the table as parquet first" in err) == (2, True)


def test_files_of_a_report_by_unit(path, tmp_path, run):
    command = ["analyze", path, "--checks", "calibration", "--by-unit"]
    assert run(*command, "--out", tmp_path / "out")[0] == 0
    files = {file.name for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert files == {"files.sha256", "report.html", "results.json", "results.parquet"}
