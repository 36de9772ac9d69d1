import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.analysis.paper.results import COLUMNS, PUBLISHED, REPAIRED, collect_results


@pytest.fixture(scope="module")
def small():
    runs = coherence.simulate("leaky", n_contexts=20, n_reps=2, rng=1)
    return runs[runs["z_state"].isna()].drop(columns=["z", "z_state", "p_z"])


@pytest.mark.lengthy
def test_the_frame_holds_every_result_of_every_procedure(paper_results):
    frame = paper_results.frame()
    assert tuple(frame) == COLUMNS
    sizes = frame["procedure"].value_counts()
    for procedure, report in paper_results.reports.items():
        extra = len(paper_results.supplements[procedure])
        assert sizes[procedure] == len(report.results) + extra
        rows = frame[frame["procedure"] == procedure].head(len(report.results))
        shared = [name for name in COLUMNS if name in report.results]
        assert len(shared) == len(COLUMNS) - 2  # the procedure, and nearest neighbours
        told = report.results[shared].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[shared].reset_index(drop=True), told, check_dtype=False)
        estimates = [
            result.also["nearest_neighbours"].value
            for unit in report.evaluations
            for result in unit.results
            if "nearest_neighbours" in result.also
        ]
        shown = rows["nearest_neighbours"].dropna()
        assert shown.tolist() == estimates
        assert set(rows["check"][shown.index]) == ({"cmi"} if estimates else set())
    assert not frame.duplicated(["procedure", "task", "model", "check"]).any()


@pytest.mark.lengthy
def test_a_published_report_gets_the_repaired_numbers_beside_it(small):
    report = coherence.analyze(small, checks=["cmi"], published=True, rng=3)
    both = collect_results(report, runs=small)
    assert list(both.reports) == [REPAIRED, PUBLISHED]
    alone = coherence.analyze(small, checks=["cmi"], rng=3).results
    assert both.reports[REPAIRED].results["pvalue"].tolist() == alone["pvalue"].tolist()


@pytest.mark.lengthy
def test_options_of_the_report_hold_for_what_is_added(small):
    named = small.assign(theta=small["theta"].map({0: "well", 1: "ill"}))
    report = coherence.analyze(named, checks=["cmi"], positive="ill", rng=3)
    extra = collect_results(report, runs=named).supplements[REPAIRED]
    isotonic = {result.check: result for _, _, result in extra}["cmi:isotonic"]
    assert not np.isnan(isotonic.statistic)
