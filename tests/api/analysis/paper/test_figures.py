"""Figures of a paper. Breaks if a mark, a bar or a baseline is not a number of the results."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from coherence.analysis.paper.figures import plot_gaps, write_paper_figures


@pytest.mark.lengthy
def test_as_many_violations_are_marked_as_the_results_have(paper_results, tmp_path):
    figures = write_paper_figures(paper_results, tmp_path)
    for name, procedure in (("figure1", "repaired"), ("figure1-published", "published")):
        svg = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        units = paper_results.reports[procedure].evaluations
        pairs = [r for u in units for r in u.results if r.check.startswith("monotone_choice:")]
        details = [result.details for result in pairs if not result.details.empty]
        reversals = (table["violation"] & table["significant"] for table in details)
        n_violations = sum(map(int, map(sum, reversals)))
        assert len(re.findall(r'id="reversal', svg)) == n_violations > 0
        caption = next(figure.caption for figure in figures if figure.name == name)
        assert f"{n_violations} of {sum(map(len, details))} pairs of bins" in caption
        assert "4 rows had no parsed belief and action" in caption
        # Names are text and not formulas.
        assert "a|b_$1$" in svg
        assert "50% &amp; &lt;b&gt;" in svg


@pytest.mark.lengthy
def test_bars_and_baseline_are_the_numbers_of_the_results(paper_results):
    frame = paper_results.frame()
    gaps = frame[(frame["task"] == "heart") & frame["estimate"].notna()]
    chosen = (gaps["procedure"] == "repaired") & (gaps["check"] == "iterated_expectation:relative")
    chosen |= (gaps["procedure"] == "published") & (gaps["check"] == "iterated_expectation")
    forests = gaps[gaps["check"] == "iterated_expectation:random_forest"]
    ax = plot_gaps(gaps[chosen], forests, Figure().add_subplot())
    shown = {round(float(bar.get_height()), 12) for bar in ax.patches}
    assert shown == {round(value, 12) for value in gaps[chosen]["estimate"]}
    levels = {float(line.get_ydata()[0]) for line in ax.lines}
    assert levels == set(forests["estimate"])
    ends = np.concatenate([part.get_segments() for part in ax.collections[:2]])[:, :, 1]
    assert sorted(ends.ravel()) == sorted(gaps[chosen][["low", "high"]].to_numpy().ravel())
