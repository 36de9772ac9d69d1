from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.analysis.comparison.rank_plot import draw_effect, render_comparison
from coherence.plots.ranks import height_for
from coherence.plots.style import figure_style


def rows_of(compared, effect):
    return compared.estimates[compared.estimates["effect"] == effect].reset_index(drop=True)


def drawn(rows, **options):
    with figure_style():
        ax = Figure().add_subplot()
        return draw_effect(rows, ax=ax, **options)


def test_dots_and_lines_are_estimates_and_intervals(compared):
    rows = rows_of(compared, "calibration:rmse")
    ax = drawn(rows)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    assert dots.get_xdata().tolist() == rows["estimate"].tolist()
    ends = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    known = rows.dropna(subset="low")
    assert ends == [list(pair) for pair in zip(known["low"], known["high"], strict=True)]
    assert [label.get_text() for label in ax.get_yticklabels()] == rows["model"].tolist()
    assert ax.get_title(loc="left") == "calibration:rmse"
    assert drawn(rows, title="").get_title(loc="left") == ""


def test_bars_are_rank_intervals_with_letters(compared):
    rows = rows_of(compared, "report_noise")
    ax = drawn(rows)
    beside = next(child for child in ax.child_axes if child.collections)
    bars = [
        line.get_segments()[0][:, 0] for line in beside.collections if line.get_linewidth()[0] > 1
    ]
    ranks = rows[["rank_low", "rank_high"]].to_numpy(dtype=float)
    assert np.array(bars) == pytest.approx(ranks + np.array([-0.3, 0.3]))


def test_a_model_without_an_estimate_is_named_as_such(compared):
    rows = rows_of(compared, "calibration:rmse")
    rows.loc[1, ["estimate", "low", "high"]] = np.nan
    rows["rank_low"] = rows["rank_low"].mask(rows.index == 1)
    ax = drawn(rows)
    assert "not estimated" in [text.get_text() for text in ax.texts]


@pytest.mark.lengthy
def test_the_picture_is_the_same_for_equal_tables_and_holds_no_markup(compared):
    evil = "<script>alert(1)</script> $x^2$"
    named = compared.estimates.replace({"model": {"heaping": evil}})
    svg = render_comparison(named)
    assert svg == render_comparison(named)
    assert "<script" not in svg
    root = ElementTree.fromstring(svg)
    texts = "".join(root.itertext())
    assert "<script>" in texts
    assert height_for(10) > height_for(3)


@pytest.mark.lengthy
def test_several_tasks_have_their_names(compared):
    other = compared.estimates.assign(task="other")
    both = pd.concat([compared.estimates, other])
    texts = "".join(ElementTree.fromstring(render_comparison(both)).itertext())
    assert "other · unreadable" in texts
    assert "simulated · unreadable" in texts
