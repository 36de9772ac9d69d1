"""Figures of a report. Breaks if one shows or links what its caption does not say, or if what a
label holds becomes markup."""

import xml.etree.ElementTree as ElementTree
from functools import partial

import pandas as pd
import pytest

from coherence import Interval, Report
from coherence.checks.monotone import MonotoneResult
from coherence.checks.sufficiency_result import Sufficiency
from coherence.plots import plot_pairwise_choice
from coherence.report.document import Figure
from coherence.report.figures import evaluation_figures, forest_figures
from coherence.report.page import render_parts, render_svg

LEAD = "Choices at equal belief"
NO_RESULTS = {"results": (), "verdicts": ()}


def titles(figures):
    return [figure.title for figure in figures]


def test_what_can_be_drawn_is_drawn_in_order(unit, choices):
    figures = evaluation_figures(unit(), "k")
    own = ["Share of yes among yes and no", "Beliefs by action", "Belief and exact posterior"]
    assert titles(figures) == [LEAD, *own]
    assert all("<figure>\n<svg" in render_parts([figure]) for figure in figures)
    assert {figure.width for figure in figures} == {Figure.width}
    beliefs = choices(p_true=False)
    plain = evaluation_figures(unit(beliefs=beliefs, **NO_RESULTS), "k")
    assert titles(plain) == [LEAD, "Beliefs by action", "Calibration"]
    bare = unit(beliefs=beliefs[["belief", "context"]], **NO_RESULTS)
    alone = evaluation_figures(bare, "k")
    assert titles(alone) == ["Stated beliefs"]


def choices_by_state(unit, **changes):
    (figure,) = [f for f in evaluation_figures(unit(**changes), "k") if f.title == LEAD]
    return figure


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"state": "exact"}, "where the exact posterior is above, and below, what it is"),
        ({"left_out": "9 of 80 cases say 50"}, "9 of 80 cases say 50: left out."),
    ],
)
def test_the_caption_says_what_the_test_compares(unit, choices, settings, said):
    fields = ("sufficiency", "null", 0.05, "probability", Interval(0.0, 0.09), 0.03, 300, 60)
    result = Sufficiency(*fields, action="yes", **settings)
    beliefs = choices(actions=("no", "yes"))
    figure = choices_by_state(unit, beliefs=beliefs, results=(result,), verdicts=("V.",))
    assert said in figure.caption


def test_effects_of_one_unit_share_a_figure_and_a_single_one_has_none(unit, ax, drawn):
    nothing = {"beliefs": pd.DataFrame({"context": []}), "verdicts": ("V.",)}

    def of(value, measured="belief"):
        fields = ("sufficiency", "null", value, measured, None, 0.5, 300, 60)
        return unit(model=f"m{value}", results=(Sufficiency(*fields, action="yes"),), **nothing)

    units = (of(1.0), of(3.0), of(2.0), of(4.0, "share"))
    (forest,) = forest_figures(units)
    forest.draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert points.get_offsets()[:, 0].tolist() == [3.0, 2.0, 1.0]
    assert forest.title in Report(units, {"seed": 0}).to_html()


# The pictures themselves


def test_svg_is_deterministic_scalable_and_free_of_outside_references(pairs):
    pair = ["<script>alert('x')</script>", 'a & b" id="z']
    fields = ("monotone_choice", "", 0.1, "", None, 0.5, 9, 9)
    draw = partial(plot_pairwise_choice, MonotoneResult(*fields, pair=pair, details=pairs()))
    figure = Figure("one", "Shares <b> & more", "Of all", draw)
    first = render_svg(figure)
    assert first == render_svg(figure)
    assert "http" not in first
    root = ElementTree.fromstring(first)
    tags = {element.tag for element in root.iter()}
    assert not tags & {"script", "style", "metadata", "image", "a", "foreignObject"}
    assert {"viewBox", "role", "aria-labelledby"} <= set(root.attrib)
    assert "width" not in root.attrib
    assert root.find("title").text == "Shares <b> & more. Of all"
    assert any("<script>" in (element.text or "") for element in root.iter("text")), "as text"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("one-") for name in ids)
    uses = {element.get("href") for element in root.iter("use")}
    assert uses
    assert uses <= {f"#{name}" for name in ids}
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
