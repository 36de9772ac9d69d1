"""What a paper's tables are made of. Breaks if a number is another than the report's or pandas'."""

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
