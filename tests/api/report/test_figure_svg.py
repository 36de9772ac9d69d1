import xml.etree.ElementTree as ElementTree
from functools import partial

import matplotlib as mpl

from coherence import CheckResult
from coherence.plots import plot_beliefs, plot_calibration, plot_pairwise_choice
from coherence.report.figure_svg import render_svg


def test_svg_is_deterministic_scalable_and_free_of_outside_references(pairs):
    settings = {"pair": ["<script>alert('x')</script>", 'a & b" id="z']}
    result = CheckResult(
        "monotone_choice", "", 0.1, "", None, 0.5, 9, 9, settings=settings, details=pairs()
    )
    draw = partial(plot_pairwise_choice, result)

    first = render_svg(draw, key="one", title="Shares <b> & more")
    assert first == render_svg(draw, key="one", title="Shares <b> & more")
    assert "http" not in first
    root = ElementTree.fromstring(first)
    tags = {element.tag for element in root.iter()}
    assert not tags & {"script", "style", "metadata", "image", "a", "foreignObject"}
    assert {"viewBox", "role", "aria-labelledby"} <= set(root.attrib)
    assert "width" not in root.attrib
    assert root.find("title").text == "Shares <b> & more"
    assert any("<script>" in (element.text or "") for element in root.iter("text")), (
        "the label is there, as text"
    )
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("one-") for name in ids)
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)


def test_every_reference_inside_a_figure_has_its_target(choices):
    svg = render_svg(partial(plot_calibration, choices()), key="k", title="t")
    root = ElementTree.fromstring(svg)
    ids = {element.get("id") for element in root.iter()}
    uses = [element.get("href") for element in root.iter("use")]
    assert uses
    assert {use[1:] for use in uses} <= ids


def test_scripts_without_glyphs_here_are_drawn_without_a_warning(choices):
    svg = render_svg(
        partial(plot_beliefs, choices(actions=("決める", "待つ"))),
        key="k",
        title="t",
    )
    assert "決める (n = " in svg


def test_settings_of_matplotlib_are_left_as_they_were(choices):
    before = dict(mpl.rcParams)
    render_svg(partial(plot_calibration, choices()), key="k", title="t")
    assert dict(mpl.rcParams) == before
