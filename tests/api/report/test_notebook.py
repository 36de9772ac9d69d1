"""A report in a notebook. Breaks if a text of the table is taken for markup, or a repr fills it."""

import dataclasses

import pandas as pd
import pytest

from coherence import analyze, simulate
from coherence.report.notebook import MOST_UNITS, render_notebook


@pytest.fixture(scope="module")
def report():
    runs = simulate("leaky", n_contexts=40, n_reps=3, rng=1)
    hostile = runs.assign(model="<img src=x>", task="<b>")
    return analyze(hostile, checks=["residual_covariance", "calibration"], rng=1)


def test_a_repr_is_a_line_and_a_notebook_shows_the_results(report):
    assert repr(report) == f"<Report: task x model units 1, results {len(report.results)}>"
    page = report._repr_html_()
    assert "<img" not in page
    assert "<b>" not in page
    for check in report.results["check"]:
        assert f"<td>{check}</td>" in page
    for sentence in report.units[0].conclusion:
        assert sentence.split(":")[0][:30] in page


def test_brief_is_what_one_reads_first(report):
    columns = ["task", "model", "check", "statistic", "low", "high", "pvalue", "pvalue_holm"]
    pd.testing.assert_frame_equal(report.brief, report.results[columns])


def test_many_units_do_not_fill_a_notebook(report):
    page = render_notebook(report.units * (MOST_UNITS + 2))
    assert page.count("<h4>") == MOST_UNITS
    assert "2 more; to_html() has all." in page
    assert "no rows" in render_notebook([])


def test_an_alert_is_shown_with_the_answer(report):
    (unit,) = report.units
    page = render_notebook([dataclasses.replace(unit, alerts=("<b>no context",))])
    assert "<strong>Caution: &lt;b&gt;no context</strong>" in page
