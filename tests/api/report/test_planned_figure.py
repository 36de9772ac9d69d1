from xml.etree import ElementTree

from coherence.report.planned_figure import Figure, own_scale


def test_a_figure_is_drawn_when_its_svg_is_asked_for():
    drawn = []

    def draw(ax):
        drawn.append(ax)
        return ax

    figure = Figure("unit-1-x", "Title <b>", "A caption.", draw, 2.0)
    assert drawn == []
    root = ElementTree.fromstring(figure.svg)
    assert len(drawn) == 1
    assert root.find("title").text == "Title <b>. A caption."
    assert root.get("aria-labelledby") == "unit-1-x-title"
    width, height = map(float, root.get("viewBox").split()[2:])
    assert round(width / height, 6) == 2.5 == figure.size[0] / figure.size[1]


def test_a_caption_says_where_the_axis_is_another_than_beside():
    assert own_scale((0.0, 0.9), [(0.0, 0.9), (0.1, 0.2)]) == ""
    assert "axis of shares is not that" in own_scale((0.1, 0.2), [(0.0, 0.9), (0.1, 0.2)])
