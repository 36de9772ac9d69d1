"""What every view shows of a unit: its numbers as text, counts of answers, bounds and twins."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from coherence.rational.sensitivity import Sensitivity
from coherence.report.html import render_html
from coherence.report.terminal import render_report
from coherence.report.view import view
from coherence.result import Twins

BAND = Twins(200, 0.0312, 0.0156, 0.001, 0.03, 0.0249, 0.5)


@pytest.fixture
def twinned(report):
    first = report.evaluations[0]
    results = list(first.results)
    results[0] = replace(results[0], twins=BAND)
    results[1] = replace(results[1], twins=replace(BAND, noise_share=1.3, pvalue=0.7))
    results[2] = replace(results[2], twins=replace(BAND, noise_share=math.nan))
    curve = pd.DataFrame(
        {"shared_noise": [0.0, 0.1], "hidden_shift": [0.3, 0.1], "low": [0.2, -0.1], "high": 0.4}
    )
    return replace(first, results=tuple(results), sensitivity=Sensitivity(curve, 0.08, 0.15))


def test_a_row_for_each_result_with_twins(twinned):
    twins = view(twinned).twins
    assert twins.title == "Beside 200 rational twins"
    texts = [[cell.text for cell in row] for row in twins.rows]
    assert texts[0] == ["cmi", "0.0312", "0.0156 [0.0010, 0.0300]", "0.025", "50%"]
    assert [row[-1] for row in texts] == ["50%", "all", "–"]
    assert "noise of these reports" in twins.caption
    # It stands near the p-value of the check, which is another.
    assert twins.columns[3].title == "p of twins"
    assert "It is not the p-value of the check" in twins.caption


def test_terminal_and_page_show_the_same_rows(twinned):
    text = render_report([twinned], width=120, full=True)
    page = render_html([twinned], {"twins": 200})
    for said in ("Beside 200 rational twins", "[0.0010, 0.0300]"):
        assert said in text
        assert said in page
    assert "standard deviation of 0.080 to leave no sign" in " ".join(text.split())
    assert "standard deviation of 0.080 to leave no sign" in page
    assert "coherence analyze RUNS --twin 200" in page
    assert page.count("<figcaption><strong>Beside rational twins.") == 1
    assert page.count("<figcaption><strong>Noise that would explain it.") == 1
