"""Pictures: breaks if something is not shown, overlaps, or cannot be read on white."""

from itertools import pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesnets import Network, Node, draw
from bayesnets.pictures.layout import layered

SVG = "{http://www.w3.org/2000/svg}"


def words(path):
    return ["".join(element.itertext()) for element in ElementTree.parse(path).iter(f"{SVG}text")]


def test_names_are_neither_mathematics_nor_markup(tmp_path):
    odd = Node("$\\frac{1}$ <script>", ("a\x07b", "&amp;", "漢字"), (), np.full(3, 1 / 3))
    path = tmp_path / "odd.svg"
    draw(Network("n", "5 % of $x", "", False, (odd,)), path)
    assert {"$\\frac{1}$", "<script>", "ab · &amp; · 漢字", "5 % of $x"} <= set(words(path))
    draw(Network("n", "t", "", False, (odd,)), tmp_path / "odd.png")


def test_many_states_and_long_names_stay_in_their_boxes():
    states = tuple(f"state number {number}" for number in range(30))
    long = Node("an_extraordinarily_long_name_of_a_variable" * 2, states, (), np.full(30, 1 / 30))
    figure = draw(Network("n", "t", "", False, (long, Node("b", ("x",), (), np.array([1.0])))))
    figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches]
    texts = figure.axes[0].texts
    assert any("and 25 more" in text.get_text() for text in texts)
    for text in texts:
        x0, y0, x1, y1 = text.get_window_extent().extents
        within = [b.x0 <= x0 and x1 <= b.x1 and b.y0 <= y0 and y1 <= b.y1 for b in boxes]
        assert any(within), text.get_text()


@st.composite
def parent_lists(draw):
    names = [f"v{number}" for number in range(draw(st.integers(1, 9)))]
    return {
        name: draw(st.lists(st.sampled_from(names[:position]), unique=True, max_size=3))
        if position
        else []
        for position, name in enumerate(names)
    }


@pytest.mark.lengthy
@settings(max_examples=60, deadline=None)
@given(parents=parent_lists(), seed=st.integers(0, 1000))
def test_arrows_point_down_and_boxes_do_not_overlap(parents, seed):
    sizes = np.random.default_rng(seed).integers(20, 90, len(parents)).astype(float)
    widths = dict(zip(parents, sizes.tolist(), strict=True))
    layout = layered(parents, widths, gap=10.0, waypoint=8.0)
    for child, its_parents in parents.items():
        for parent in its_parents:
            layers = [point.layer for point in layout.route(parent, child)]
            assert layers == list(range(layers[0], layers[-1] + 1))
            assert len(layers) > 1
    for row in layout.layers:
        sizes = [widths[point.name] if layout.home[point.name] == point else 8.0 for point in row]
        for left, right, first, second in zip(row, row[1:], sizes, sizes[1:], strict=False):
            assert layout.x[right] - layout.x[left] >= (first + second) / 2 + 10 - 1e-6
    assert min(layout.x.values()) >= 0


def test_a_graph_that_needs_no_crossing_has_none():
    """Counted by definition: pieces between the same layers whose ends are ordered differently."""
    # Declared in an order that crosses: 1 -> b, 2 -> a, and so on.
    of = "1: 2: 3: c:1 b:2 a:3 x:a y:c z:b1"
    parents = {name: list(above) for name, above in (one.split(":") for one in of.split())}
    layout = layered(parents, dict.fromkeys(parents, 50.0), gap=10.0, waypoint=10.0)
    routes = (layout.route(parent, child) for child in parents for parent in parents[child])
    pieces = {pair for route in routes for pair in pairwise(route)}
    place = {point: position for row in layout.layers for position, point in enumerate(row)}
    for (a, b), (c, d) in permutations(pieces, 2):
        assert a.layer != c.layer or place[a] >= place[c] or place[b] <= place[d]
