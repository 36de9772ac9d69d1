"""The figure of sensitivity: the curve as far as anything is told, tipping points as lines."""

import math

import pandas as pd
import pytest

from coherence import InputError
from coherence.plots import plot_sensitivity
from coherence.rational.sensitivity import Sensitivity


def sensitivity(*, shift=(0.3, 0.2, -0.1, -0.2), interval=0.08, everything=0.15, bound=False):
    curve = pd.DataFrame(
        {
            "shared_noise": [0.0, 0.05, 0.1, 0.2],
            "hidden_shift": shift,
            "low": [value - 0.1 for value in shift],
            "high": [value + 0.1 for value in shift],
        }
    )
    return Sensitivity(curve, interval, everything, all_is_bound=bound)


def lines(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


def test_curve_and_tipping_points(ax):
    plot_sensitivity(sensitivity(), ax=ax)
    (curve,) = lines(ax, "curve")
    assert curve.get_xydata()[:, 1] == pytest.approx([0.3, 0.2, -0.1, -0.2])
    (first,), (second,) = lines(ax, "explains interval"), lines(ax, "explains all")
    assert first.get_xdata()[0] == 0.08
    assert second.get_xdata()[0] == 0.15
    assert [note.get_text() for note in ax.texts] == [
        "0.080: no sign is left",
        "0.150: all is explained",
    ]


def test_what_is_not_told_ends_the_curve_and_a_bound_is_called_so(ax):
    plot_sensitivity(sensitivity(shift=(0.3, 0.2, math.nan, -0.2), bound=True), ax=ax)
    (curve,) = lines(ax, "curve")
    assert curve.get_xdata().tolist() == [0.0, 0.05]
    assert "above 0.150: all is explained" in [note.get_text() for note in ax.texts]


def test_what_is_no_curve_is_refused():
    with pytest.raises(InputError, match="noise_sensitivity returns; received float"):
        plot_sensitivity(0.3)


def test_no_shift_is_in_sight_however_large_the_shift(ax, drawn):
    plot_sensitivity(sensitivity(shift=(0.6, 0.5, 0.5, 0.4)), ax=ax)
    assert len(drawn(ax, "null")) == 1
    assert ax.get_ylim()[0] < 0 < 0.7 < ax.get_ylim()[1]
