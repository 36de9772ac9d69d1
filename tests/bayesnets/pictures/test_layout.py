import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesnets.pictures.layout import Point, layered


def graph(parents):
    return layered(parents, dict.fromkeys(parents, 50.0), gap=10.0, waypoint=10.0)


def crossings(layout, parents):
    """Count by definition: pieces between the same layers whose ends are ordered differently."""
    pieces = {
        pair
        for child in parents
        for parent in parents[child]
        for pair in zip(layout.route(parent, child), layout.route(parent, child)[1:], strict=False)
    }
    place = {point: position for row in layout.layers for position, point in enumerate(row)}
    return sum(
        place[a] < place[c] and place[b] > place[d]
        for a, b in pieces
        for c, d in pieces
        if a.layer == c.layer
    )


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
    widths = {
        name: float(width)
        for name, width in zip(
            parents, np.random.default_rng(seed).integers(20, 90, len(parents)), strict=True
        )
    }
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
    # Declared in an order that crosses: 1 -> b, 2 -> a, and so on.
    parents = {
        "1": [],
        "2": [],
        "3": [],
        "c": ["1"],
        "b": ["2"],
        "a": ["3"],
        "x": ["a"],
        "y": ["c"],
        "z": ["b", "1"],
    }
    assert crossings(graph(parents), parents) == 0


def test_a_cause_stands_right_above_its_first_effect():
    layout = graph({"a": [], "b": ["a"], "c": ["b"], "late": [], "d": ["c", "late"]})
    assert {name: point.layer for name, point in layout.home.items()} == {
        "a": 0,
        "b": 1,
        "c": 2,
        "late": 2,
        "d": 3,
    }


def test_long_arrows_of_a_parent_share_their_way():
    layout = graph({"a": [], "b": ["a"], "c": ["b", "a"], "d": ["b", "a"]})
    assert (
        layout.route("a", "c")[:-1] == layout.route("a", "d")[:-1] == [Point("a", 0), Point("a", 1)]
    )
