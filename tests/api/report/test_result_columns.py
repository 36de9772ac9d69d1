"""Breaks if a column of the page is known in more than one place, or its text is not escaped."""

import pytest

from coherence import CheckResult, Report
from coherence.report import unit_html
from coherence.report.result_columns import COLUMNS, ResultColumn


def test_the_sample_names_what_was_left_out():
    (sample,) = COLUMNS
    result = CheckResult("cmi", "n", 0.1, "nats", None, 0.5, 40, 10)
    assert sample.cell(result) == "40 rows, 10 contexts"
    left_out = CheckResult("cmi", "n", 0.1, "nats", None, 0.5, 40, 10, n_dropped=3)
    assert sample.cell(left_out) == "40 rows, 10 contexts, 3 left out"


@pytest.mark.lengthy
def test_a_column_of_the_list_is_a_column_of_the_page(unit, monkeypatch):
    report = Report((unit(),), {})
    extra = ResultColumn("its <unit>", lambda result: f"<b>{result.unit}</b>")
    assert "its &lt;unit" not in report.to_html()
    monkeypatch.setattr(unit_html, "COLUMNS", (*COLUMNS, extra))
    page = report.to_html()
    assert page.count('<th scope="col">its &lt;unit&gt;</th>') == 1
    shown = page.count("&lt;b&gt;")
    assert shown == len(report.units[0].results) > 0
    assert "<b>" not in page
