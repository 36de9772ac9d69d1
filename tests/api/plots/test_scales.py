"""Axes. Breaks if one cuts off what it shows, loses the null, or shows small effects as specks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from coherence.plots.scales import (
    fit_effects,
    fit_probabilities,
    limits_with,
    null_line,
    shared_spans,
    span_of,
)


def limits(ax, axis):
    return ax.get_xlim() if axis == "x" else ax.get_ylim()


def labels(ax, axis):
    ticks = ax.get_xticklabels() if axis == "x" else ax.get_yticklabels()
    return [label.get_text() for label in ticks]


def test_what_is_not_a_number_is_not_shown():
    assert span_of([0.3, math.nan], [math.inf, 0.1]) == (0.1, 0.3)
    assert all(map(math.isnan, span_of([], [math.nan])))


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("span", [(0.0, 0.5), (0.2, 0.9), (math.nan, math.nan)])
def test_half_of_all_probabilities_or_more_are_shown_on_all_of_them(axis, span, ax):
    fit_probabilities(ax, axis, span)
    assert labels(ax, axis) == ["0", ".25", ".5", ".75", "1"]


@pytest.mark.lengthy
@given(
    st.floats(0, 1),
    st.one_of(st.just(0.0), st.floats(1e-4, 0.499)),
    st.sampled_from(["x", "y"]),
)
def test_fewer_fill_their_axis_and_none_is_cut_off(low, width, axis):
    high = min(low + width, 1.0)
    ax = Figure().add_subplot()
    fit_probabilities(ax, axis, (low, high))
    first, last = limits(ax, axis)
    assert first < low <= high < last
    assert high - low < 1e-6 or (high - low) / (last - first) > 0.8
    ticks = [float(text) for text in labels(ax, axis)]
    assert len(set(ticks)) == len(ticks) > 0
    assert all(0 <= tick <= 1 for tick in ticks)


def test_small_probabilities_are_written_as_the_large_ones_are(ax):
    fit_probabilities(ax, "y", (0.0, 0.011))
    assert labels(ax, "y") == ["0", ".0025", ".005", ".0075", ".01"]


@pytest.mark.parametrize("span", [(0.4, 0.5), (-0.02, -0.01), (-1e-4, 2e-4), (math.nan, math.nan)])
@pytest.mark.parametrize("axis", ["x", "y"])
def test_an_axis_of_effects_holds_the_null_and_what_is_shown(axis, span, ax):
    fit_effects(ax, axis, span)
    first, last = limits(ax, axis)
    assert first < np.nanmin([0, *span]) <= np.nanmax([0, *span]) < last
    ticks = [float(text.replace("−", "-")) for text in labels(ax, axis)]
    assert 0 in ticks
    assert len(set(ticks)) == len(ticks) > 2
    assert not any("e" in text for text in labels(ax, axis))
    (null,) = [line for line in ax.lines if line.get_gid() == "null"]
    assert null.is_dashed()


def test_the_null_need_not_be_nothing(ax):
    assert limits_with((2.0, 3.0), null=1.0)[0] < 1.0
    null_line(ax, "x", 1.0)
    assert ax.lines[0].get_xdata() == [1.0, 1.0]


def test_panels_share_a_scale_but_for_those_that_would_be_specks_on_it():
    assert shared_spans([(0.1, 0.3), (0.2, 0.4)]) == [(0.1, 0.4)] * 2
    wide, speck = shared_spans([(0.1, 0.9), (0.01, 0.02)])
    assert (wide, speck) == ((0.01, 0.9), (0.01, 0.02))
    # A quarter of the scale that is drawn, which is all of [0, 1] from half of it on.
    assert shared_spans([(0.3, 0.85), (0.3, 0.5)])[1] == (0.3, 0.5)
    assert shared_spans([(0.3, 0.85), (0.3, 0.56)])[1] == (0.3, 0.85)
