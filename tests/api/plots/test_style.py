"""What figures share. Breaks if an axis cuts off what it shows or loses the null, or if settings
or bytes of a file depend on what was drawn before."""

import math

import numpy as np
import pytest

from coherence.plots.style import fit_effects, shared_spans


def limits(ax, axis):
    return ax.get_xlim() if axis == "x" else ax.get_ylim()


def labels(ax, axis):
    ticks = ax.get_xticklabels() if axis == "x" else ax.get_yticklabels()
    return [label.get_text() for label in ticks]


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


def test_panels_share_a_scale_but_for_those_that_would_be_specks_on_it():
    assert shared_spans([(0.1, 0.3), (0.2, 0.4)]) == [(0.1, 0.4)] * 2
    wide, speck = shared_spans([(0.1, 0.9), (0.01, 0.02)])
    assert (wide, speck) == ((0.01, 0.9), (0.01, 0.02))
    # A quarter of the scale that is drawn, which is all of [0, 1] from half of it on.
    assert shared_spans([(0.3, 0.85), (0.3, 0.5)])[1] == (0.3, 0.5)
    assert shared_spans([(0.3, 0.85), (0.3, 0.56)])[1] == (0.3, 0.85)
