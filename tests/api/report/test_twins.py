"""Twins in words: a row for each result that twins have, and a dash for what has no meaning."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from coherence.rational.sensitivity import Sensitivity
from coherence.report.html import render_html
from coherence.report.terminal import render_report
from coherence.report.twins import (
    noise_share,
    sensitivity_sentence,
    twin_cells,
    twin_note,
    twinned,
)
from coherence.result import Twins

BAND = Twins(200, 0.0312, 0.0156, 0.001, 0.03, 0.0249, 0.5)


@pytest.fixture
def unit(report):
    first = report.units[0]
    results = list(first.results)
    results[0] = replace(results[0], twins=BAND)
    results[1] = replace(results[1], twins=replace(BAND, noise_share=1.3, pvalue=0.7))
    results[2] = replace(results[2], twins=replace(BAND, noise_share=math.nan))
    curve = pd.DataFrame(
        {"shared_noise": [0.0, 0.1], "hidden_shift": [0.3, 0.1], "low": [0.2, -0.1], "high": 0.4}
    )
    return replace(first, results=tuple(results), sensitivity=Sensitivity(curve, 0.08, 0.15))


def test_a_row_for_each_result_with_twins(unit):
    headings, rows = twin_cells(unit)
    assert headings[0] == "beside 200 rational twins"
    assert rows[0] == ["cmi", "0.0312", "0.0156", "[0.0010, 0.0300]", "0.025", "50%"]
    assert [row[-1] for row in rows] == ["50%", "all", "–"]
    assert len(twinned(unit)) == 3
    assert "noise of these reports" in twin_note(unit)


@pytest.mark.lengthy
def test_without_twins_there_is_nothing_to_say(report):
    for unit in report.units:
        assert twin_cells(unit) == ([], [])
        assert twin_note(unit) == ""
        assert sensitivity_sentence(unit) == ""
    # "What next" may name the option.
    for said in (
        render_report(report.units, full=True),
        render_html(report.units, report.settings),
    ):
        assert "twin" not in said.replace("--twin", "")


def test_terminal_and_page_show_the_same_rows(unit):
    text, page = render_report([unit], width=120, full=True), render_html([unit], {"twins": 200})
    for said in ("beside 200 rational twins", "[0.0010, 0.0300]"):
        assert said in text
        assert said in page
    assert "standard deviation of 0.080 to leave no sign" in " ".join(text.split())
    assert "standard deviation of 0.080 to leave no sign" in page
    assert "coherence analyze RUNS --twin 200" in page
    assert page.count("<figcaption><strong>Beside rational twins.") == 1
    assert page.count("<figcaption><strong>Noise that would explain it.") == 1


def test_a_share_above_one_is_all():
    assert noise_share(BAND) == "50%"
    assert noise_share(replace(BAND, noise_share=1.01)) == "all"
