"""Figures of a fitted agent: its curve, its twins, and the noise that would explain a shift."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import coherence
from coherence import CheckResult, InputError
from coherence.plots import plot_choice_curve, plot_sensitivity, plot_twins
from coherence.rational.sensitivity import Sensitivity
from coherence.result import Twins

PLAIN = CheckResult("calibration:rmse", "", 0.1, "", None, None, 9, 9)


def result(name, observed, *, pvalue=0.5, low=0.1, high=0.5, median=0.2):
    twins = Twins(99, observed, median, low, high, pvalue)
    return CheckResult(name, "", observed, "nats", None, None, 9, 9, twins=twins)


def test_one_row_per_result_with_twins(ax, drawn):
    far = (result("rational_agent", 9.0, pvalue=0.02), result("a_$name$", -9.0, pvalue=0.02))
    plot_twins([result("cmi", 0.4), PLAIN, *far], ax=ax)
    inside, above, below = drawn(ax, "observed")
    places = [tuple(points.get_offsets()[0]) for points in (inside, above, below)]
    assert places == [(pytest.approx(1.0), 0), (5.0, 1), (-5.0, 2)]
    assert to_hex(inside.get_facecolor()[0]) == "#ffffff" != to_hex(above.get_facecolor()[0])
    assert [band.get_width() for band in drawn(ax, "band")] == pytest.approx([2.0] * 3)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["cmi", "rational_agent", "a_$name$"]
    assert {note.get_text() for note in ax.texts} == {"0.400", "9.00", "-9.00"}


@pytest.mark.parametrize(("observed", "place"), [(0.2, 0.0), (0.3, 5.0), (0.1, -5.0)])
def test_beside_twins_that_do_not_differ_what_differs_is_far_off(ax, drawn, observed, place):
    plot_twins(result("a", observed, low=0.2, high=0.2), ax=ax)
    (points,) = drawn(ax, "observed")
    assert tuple(points.get_offsets()[0]) == (place, 0)


def test_without_twins_nothing_is_drawn():
    with pytest.raises(InputError, match="none of 1 has any"):
        plot_twins(PLAIN)


def sensitivity(*shift, bound=False):
    noise, shift = [0.0, 0.05, 0.1, 0.2], np.array(shift)
    columns = {"hidden_shift": shift, "low": shift - 0.1, "high": shift + 0.1}
    curve = pd.DataFrame({"shared_noise": noise, **columns})
    return Sensitivity(curve, 0.08, 0.15, all_is_bound=bound)


def test_curve_and_tipping_points(ax, drawn):
    plot_sensitivity(sensitivity(0.3, 0.2, -0.1, -0.2), ax=ax)
    (curve,) = drawn(ax, "curve")
    assert curve.get_xydata()[:, 1] == pytest.approx([0.3, 0.2, -0.1, -0.2])
    (first,), (second,) = drawn(ax, "explains interval"), drawn(ax, "explains all")
    assert (first.get_xdata()[0], second.get_xdata()[0]) == (0.08, 0.15)
    notes = ["0.080: no sign is left", "0.150: all is explained"]
    assert [note.get_text() for note in ax.texts] == notes


def test_what_is_not_told_ends_the_curve_and_a_bound_is_called_so(ax, drawn):
    plot_sensitivity(sensitivity(0.3, 0.2, math.nan, -0.2, bound=True), ax=ax)
    (curve,) = drawn(ax, "curve")
    assert curve.get_xdata().tolist() == [0.0, 0.05]
    assert "above 0.150: all is explained" in [note.get_text() for note in ax.texts]


def test_no_shift_is_in_sight_however_large_the_shift(ax, drawn):
    plot_sensitivity(sensitivity(0.6, 0.5, 0.5, 0.4), ax=ax)
    assert len(drawn(ax, "null")) == 1
    assert ax.get_ylim()[0] < 0 < 0.7 < ax.get_ylim()[1]


def test_curves_and_thresholds_are_those_of_the_agent(ax, drawn):
    runs = coherence.simulate("rational", n_contexts=100, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    arrays = rows["p"], rows["action"], rows["theta"]
    agent = coherence.fit_rational_agent(*arrays, context=rows["context"])
    plot_choice_curve(agent, ax=ax)
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    curve = agent.choice_curve
    assert list(lines) == ["defer", "no", "yes"]
    for action, line in lines.items():
        of_action = curve[curve["action"] == action]
        np.testing.assert_array_equal(line.get_xydata(), of_action[["belief", "probability"]])
    upright = [line.get_xdata()[0] for line in drawn(ax, "threshold")]
    assert upright == agent.thresholds["belief"].tolist()
