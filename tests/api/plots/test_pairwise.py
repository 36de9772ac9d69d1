"""The figure of monotone choice. Breaks if a reversal, a bar or a label is another bin's."""

import numpy as np
import pytest

from coherence.checks.monotone import MonotoneResult
from coherence.plots import plot_pairwise_choice


def result(details):
    fields = ("monotone_choice:yes/no", "", 0.1, "", None, 0.5, 9, 9)
    return MonotoneResult(*fields, pair=["yes", "no"], details=details)


def test_pairwise_choice_marks_exactly_the_significant_reversals(pairs, ax, drawn, ends):
    bars = {"low_j": 0.02, "high_j": 0.97, "low_k": 0.02, "high_k": 0.97}
    plot_pairwise_choice(result(pairs().assign(**bars)), ax=ax)
    (points,) = drawn(ax, "bins")
    shown = [(0.08, 0.10), (0.29, 0.35), (0.52, 0.80), (0.71, 0.45), (0.93, 0.90)]
    np.testing.assert_allclose(points.get_offsets(), shown)
    assert points.get_sizes()[2] / points.get_sizes()[4] == pytest.approx(200 / 120)
    (reversal,) = drawn(ax, "reversal")
    assert ends(reversal) == shown[2:4]
    assert reversal.is_dashed()
    steps = drawn(ax, "step")
    assert [ends(line) for line in steps] == [shown[:2], shown[1:3], shown[3:]]
    assert not any(line.is_dashed() for line in steps)
    # Bars are the intervals of the table and no other.
    lines = [line for drawn in ax.collections for line in drawn.get_paths() if len(line) == 2]
    assert {tuple(line.vertices[:, 1]) for line in lines} == {(0.02, 0.97)}


def test_a_significant_reversal_over_several_bins_is_drawn_more_lightly(pairs, ax, drawn, ends):
    details = pairs(shares=(0.6, 0.5, 0.4, 0.3, 0.2), significant=((0, 4), (1, 2)))
    plot_pairwise_choice(result(details), ax=ax)
    far, near = drawn(ax, "reversal")
    assert ends(far) == [(0.08, 0.6), (0.93, 0.2)]
    assert far.get_linewidth() < near.get_linewidth()
