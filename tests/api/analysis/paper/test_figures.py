"""Figures of a paper. Breaks if a mark, a bar or a baseline is not a number of the results."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from coherence.analysis.paper.figures import plot_gaps


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
