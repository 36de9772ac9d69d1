import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.analysis.paper.figures import MOST_UNITS, plot_gaps, write_paper_figures
from coherence.analysis.paper.results import PaperResults


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def figures(paper_results, folder):
    return write_paper_figures(paper_results, folder)


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("name", "procedure"), [("figure1", "repaired"), ("figure1-published", "published")]
)
def test_as_many_violations_are_marked_as_the_results_have(
    name, procedure, figures, folder, paper_results
):
    marked = re.findall(r'id="reversal', (folder / f"{name}.svg").read_text(encoding="utf-8"))
    details = [
        result.details
        for unit in paper_results.reports[procedure].evaluations
        for result in unit.results
        if result.check.startswith("monotone_choice:") and not result.details.empty
    ]
    n_violations = sum(int((table["violation"] & table["significant"]).sum()) for table in details)
    n_pairs = sum(map(len, details))
    assert n_violations > 0
    assert len(marked) == n_violations
    caption = next(figure.caption for figure in figures if figure.name == name)
    assert f"{n_violations} of {n_pairs} pairs of bins" in caption
    assert "4 rows had no parsed belief and action" in caption


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


@pytest.mark.lengthy
def test_many_units_are_parted_over_files(paper_results, tmp_path):
    (name, report), *_ = paper_results.reports.items()
    others = [replace(unit, model=f"other {unit.model}") for unit in report.evaluations]
    many = replace(report, evaluations=(*report.evaluations, *others))
    figures = write_paper_figures(PaperResults({name: many}, {}), tmp_path)
    assert len(many.evaluations) > MOST_UNITS
    assert [figure.name for figure in figures] == ["figure1-1", "figure1-2", "figure2"]


@pytest.mark.lengthy
def test_names_are_text_and_not_formulas(figures, folder):
    svg = (folder / "figure1.svg").read_text(encoding="utf-8")
    assert "a|b_$1$" in svg
    assert "50% &amp; &lt;b&gt;" in svg


def test_the_baseline_has_a_legend_where_the_first_model_has_no_gap():
    gap = {"procedure": "repaired", "model": "b", "estimate": 0.2, "low": 0.1, "high": 0.3}
    forests = pd.DataFrame([{**gap, "model": name} for name in ("a", "b")])
    ax = plot_gaps(pd.DataFrame([gap]), forests, Figure().add_subplot())
    assert ax.get_legend_handles_labels()[1].count("forests, with their interval") == 1
