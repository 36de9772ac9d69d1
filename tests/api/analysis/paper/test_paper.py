"""What a paper's tables are made of. Breaks if a number is another than the report's or pandas'."""

import io

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.analysis.paper.results import (
    COLUMNS,
    PUBLISHED,
    REPAIRED,
    collect_results,
    supplement,
)
from coherence.analysis.paper.tables import paper_tables, write_paper
from coherence.report.files import render_csv


@pytest.mark.lengthy
def test_the_frame_holds_every_result_of_every_procedure(paper_results):
    frame = paper_results.frame()
    assert tuple(frame) == COLUMNS
    for procedure, report in paper_results.reports.items():
        of_procedure = frame[frame["procedure"] == procedure]
        extra = len(paper_results.supplements[procedure])
        assert len(of_procedure) == len(report.results) + extra
        rows = of_procedure.head(len(report.results))
        shared = [name for name in COLUMNS if name in report.results]
        assert len(shared) == len(COLUMNS) - 1  # the procedure
        told = report.results[shared].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[shared].reset_index(drop=True), told, check_dtype=False)
    assert not frame.duplicated(["procedure", "task", "model", "check"]).any()


@pytest.mark.lengthy
def test_a_published_report_gets_the_repaired_numbers_with_the_options_of_the_report():
    runs = coherence.simulate("leaky", n_contexts=20, n_reps=2, iterated=False, rng=1)
    named = runs.assign(theta=runs["theta"].map({0: "well", 1: "ill"}))
    options = {"checks": ["cmi"], "positive": "ill", "rng": 3}
    both = collect_results(coherence.analyze(named, published=True, **options), runs=named)
    assert list(both.reports) == [REPAIRED, PUBLISHED]
    alone = coherence.analyze(named, **options).results
    assert both.reports[REPAIRED].results["pvalue"].tolist() == alone["pvalue"].tolist()
    extra = {result.check: result for _, _, result in both.supplements[REPAIRED]}
    assert not np.isnan(extra["cmi:isotonic"].statistic)


# The supplement: scatter, errors and calibrated tests


@pytest.fixture(scope="module")
def runs():
    return coherence.simulate("noisy", n_contexts=40, n_reps=3, rng=2).round({"p_true": 9})


def results_of(runs, **options):
    return {result.check: result for _, _, result in supplement(runs, rng=1, **options)}


@pytest.fixture(scope="module")
def results(runs):
    return results_of(runs)


def test_scatter_and_errors_are_those_of_their_formulas(runs, results):
    plain = runs[runs["z_state"].isna() & (runs["prompt"] == "mse")]
    answers = plain.groupby("context")["p"]
    truth = plain.groupby("context")["p_true"].first()
    single = np.sqrt(((plain["p"] - plain["p_true"]) ** 2).mean())
    assert results["truth_rmse:mse"].statistic == pytest.approx(single, rel=1e-12)
    squares = (answers.mean() - truth) ** 2 - answers.var() / answers.count()
    noiseless = results["truth_rmse_noise_removed:mse"]
    assert noiseless.statistic == pytest.approx(np.sqrt(max(squares.mean(), 0)), abs=1e-12)
    standard = runs[runs["z_state"].isna() & (runs["prompt"] == "standard")]
    scatter = np.sqrt(standard.groupby("context")["p"].var().mean())
    assert results["repetition_sd"].statistic == pytest.approx(scatter, rel=1e-12)
    interval = results["repetition_sd"].interval
    assert interval.low < scatter < interval.high
    # The noisy agent reports the truth with scatter: only the single answers miss it by much.
    assert results["truth_rmse:standard"].statistic == pytest.approx(scatter, rel=0.25)
    assert results["truth_rmse_noise_removed:standard"].statistic < scatter / 2


# Every cell equals what plain pandas makes of results.parquet, and every caption of its counts.


PAIRS = ("yes/no", "yes/defer", "defer/no")
PROMPTS = ("mse", "absolute", "bayes")
# Table -> its results, and whether a published procedure stands beside.
SHOWN = {
    "table1": {"cmi": True, "predictive_gain": True, "predictive_gain:features": True},
    "table2": {f"monotone_choice:{pair}": True for pair in PAIRS},
    "table3": {"repetition_sd": False} | {f"prompt_consistency:{name}": True for name in PROMPTS},
    "table4": {
        f"truth_rmse{name}:{prompt}": False
        for name in ("", "_noise_removed")
        for prompt in ("standard", *PROMPTS)
    },
    "table5": {"cmi": True, "cmi:isotonic": True},
}


@pytest.fixture(scope="module")
def tables(paper_results):
    return {table.name: table for table in paper_tables(paper_results)}


@pytest.fixture(scope="module")
def stored(paper_results, tmp_path_factory):
    path = tmp_path_factory.mktemp("paper") / "results.parquet"
    paper_results.frame().to_parquet(path)
    return pd.read_parquet(path)


@pytest.mark.lengthy
@pytest.mark.parametrize("name", SHOWN)
def test_numbers_equal_those_of_the_results(name, tables, stored):
    table = pd.read_csv(io.StringIO(render_csv(tables[name]))).set_index(["task", "model"])
    units = stored[["task", "model"]].drop_duplicates()
    numbers = {column for column in table if not column.endswith(".why")}
    for check, with_published in SHOWN[name].items():
        for procedure in ("published", "repaired") if with_published else ("repaired",):
            rows = stored[(stored["check"] == check) & (stored["procedure"] == procedure)]
            rows = rows.set_index(["task", "model"]).reindex(pd.MultiIndex.from_frame(units))
            column = f"{check}.{procedure}"
            if rows["estimate"].isna().all():
                assert column not in numbers or table[column].isna().all()
                numbers -= {key for key in numbers if key.startswith(f"{column}")}
                continue
            others = ("low", "high", "pvalue", "pvalue_holm", "n_rows", "n_contexts", "n_dropped")
            for of_csv, of_results in (("", "estimate"), *((f".{key}", key) for key in others)):
                shown = table.loc[rows.index, f"{column}{of_csv}"].to_numpy(dtype=float)
                np.testing.assert_array_equal(shown, rows[of_results].to_numpy(dtype=float))
                numbers -= {f"{column}{of_csv}"}
    assert numbers == set()  # no column that was not compared


@pytest.mark.lengthy
@pytest.mark.parametrize("name", ["table3", "table4"])
def test_means_are_those_of_pandas(name, tables, stored):
    table = pd.read_csv(io.StringIO(render_csv(tables[name])))
    means = table[table["task"].str.startswith("mean")].set_index(["task", "model"])
    for check in SHOWN[name]:
        rows = stored[(stored["check"] == check) & (stored["procedure"] == "repaired")]
        by_model = rows.groupby("model")["estimate"].mean()
        for model, mean in by_model.items():
            shown = means.loc[("mean over tasks", model), f"{check}.repaired"]
            # Of an agent whose reports come again as they are no scatter is known.
            assert shown == pytest.approx(mean, rel=1e-12, nan_ok=check == "repetition_sd")
        shown = means.loc[("mean over all", "all"), f"{check}.repaired"]
        assert shown == pytest.approx(rows["estimate"].mean(), rel=1e-12)
    # One task of this model has no exact posterior and no third wording: the row says so.
    partial = means.loc[("mean over tasks", "tidy")]
    assert "Mean of the 1 of 2 that have a number." in partial.to_list()
    assert tables[name].n_last == 3


# The folder of a paper. Breaks if equal calls write other bytes, or if a table stays empty without
# a reason.


@pytest.fixture(scope="module")
def small():
    return coherence.simulate("noisy", n_contexts=20, n_reps=2, rng=1)


@pytest.mark.lengthy
def test_the_command_writes_the_bytes_that_the_function_writes(small, tmp_path, run):
    path = tmp_path / "runs.parquet"
    small.to_parquet(path)
    folders = tmp_path / "paper", tmp_path / "again"
    options = ["--checks", "cmi", "--published", "--seed", "1", "--paper", folders[0]]
    status, _, err = run("analyze", path, *options)
    assert status == 0
    assert "see " in err
    report = coherence.analyze(small, checks=["cmi"], rng=1)
    write_paper(report, folders[1], runs=small, published=True)
    first, second = ({each.name: each.read_bytes() for each in f.iterdir()} for f in folders)
    assert first == second
    assert b"cmi.published.low" in first["table1.csv"]
    for wrong, said in (
        (["--out", tmp_path, "--paper", f"{tmp_path}/."], "--paper and --out must be different"),
        (["--paper", path], "--paper must be a folder"),
    ):
        status, _, err = run("analyze", path, *wrong)
        assert status == 2
        assert said in err


# Figures of a paper. Breaks if a mark, a bar or a baseline is not a number of the results.
