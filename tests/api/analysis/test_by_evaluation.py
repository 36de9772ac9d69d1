"""Tables read by evaluation. Breaks if a number depends on how the table is read."""

import json
import tempfile

import pandas as pd
import pytest

from coherence import InputError, analyze, read_runs, scan_runs, simulate

FAST = ["sufficiency", "calibration", "prompt_consistency"]


@pytest.fixture(scope="module", params=["in order", "mixed"])
def path(request, tmp_path_factory):
    tables = []
    for task in ("asia", "cancer", "crying"):
        for model in ("rational", "leaky"):
            table = simulate(model, n_contexts=40, n_reps=2, rng=len(tables)).assign(task=task)
            tables.append(table.assign(theta=table["theta"].map({0: "dry", 1: "wet"})))
    table = pd.concat(tables, ignore_index=True)
    if request.param == "mixed":
        table = table.sample(frac=1, random_state=1)
    file = tmp_path_factory.mktemp("runs") / "runs.parquet"
    table.to_parquet(file, row_group_size=100)
    return file


@pytest.mark.lengthy
def test_mixed_rows_are_laid_out_anew_and_nothing_stays_behind(tmp_path, monkeypatch):
    """Every group of rows holds all units, so that each row would be read eight times."""
    tables = [simulate("leaky", n_contexts=12, n_reps=2, rng=n).assign(task=n) for n in range(8)]
    table = pd.concat(tables).sample(frac=1, random_state=3)
    table.to_parquet(tmp_path / "mixed.parquet", row_group_size=300)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    options = {"checks": ["prompt_consistency", "calibration"], "rng": 1}
    whole = analyze(read_runs(tmp_path / "mixed.parquet"), **options)
    by_evaluation = analyze(scan_runs(tmp_path / "mixed.parquet"), **options)
    pd.testing.assert_frame_equal(by_evaluation.results, whole.results)
    assert not list(scratch.iterdir())


@pytest.mark.lengthy
def test_results_are_those_of_the_table_in_memory(path):
    options = {"checks": FAST, "positive": "wet", "rng": 3}
    whole = analyze(read_runs(path), **options)
    by_evaluation = analyze(scan_runs(path), **options)
    pd.testing.assert_frame_equal(by_evaluation.results, whole.results)
    for found, expected in zip(by_evaluation.evaluations, whole.evaluations, strict=True):
        assert found.conclusion == expected.conclusion
        assert found.cautions == expected.cautions
        assert found.notes == expected.notes
        pd.testing.assert_frame_equal(found.statuses, expected.statuses)
        assert found.rows.table.empty
    of_both = (json.loads(report.to_json())["evaluations"] for report in (by_evaluation, whole))
    assert next(of_both) == next(of_both)
    seen = []
    options |= {"progress": lambda done, total, label: seen.append((done, total))}
    spread = analyze(scan_runs(path), n_jobs=2, **options)
    assert seen == [(n, 6) for n in range(7)]
    assert spread.to_json() == by_evaluation.to_json()
    assert by_evaluation.settings["data"]["rows"] == whole.settings["data"]["rows"]
    assert "asia" in by_evaluation.to_html()


def test_what_takes_all_units_together_is_refused(path):
    scan = scan_runs(path)
    for options, said in (
        ({"merge_labels": True}, "merge_labels must be left out"),
        ({"positive": None, "checks": ["calibration"]}, "nothing says which"),
    ):
        with pytest.raises(InputError, match=said):
            analyze(scan, **{"positive": "wet"} | options)
