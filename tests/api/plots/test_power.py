"""The picture of power. Breaks if a line has the numbers of another signal."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence import InputError
from coherence.plots import plot_power
from tests.api.tables import make_power


def test_a_line_for_each_signal_through_its_numbers():
    rows = make_power()
    ax = plot_power(rows, alpha=0.05, ax=Figure().add_subplot())
    drawn = [container.lines[0] for container in ax.containers]
    assert len({line.get_color() for line in drawn}) == 3
    for line, (_, wanted) in zip(drawn, rows.groupby("signal"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), wanted["n_contexts"])
        np.testing.assert_array_equal(line.get_ydata(), wanted["power"])
    bars = ax.containers[1].lines[2][0].get_segments()
    wanted = rows[rows["signal"] == 0.1]
    np.testing.assert_allclose([bar[:, 1] for bar in bars], wanted[["low", "high"]])
    assert ax.get_xscale() == "log"


def test_level_and_power_wanted_are_drawn():
    ax = plot_power(make_power(), alpha=0.01, target=0.9, ax=Figure().add_subplot())
    heights = {line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert heights == {0.01, 0.9}


def test_estimates_show_their_widths():
    rows = make_power(quantity="precision")
    ax = plot_power(rows, alpha=0.05, ax=Figure().add_subplot())
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1 / 25, 1 / 50, 1 / 100])
    assert ax.get_ylabel() == "half the width of the interval"


def test_one_result_is_drawn_at_a_time():
    both = make_power(("cmi", "monotone_choice"))
    assert plot_power(both, check="cmi").get_title(loc="left") == "cmi: power by number of contexts"
    with pytest.raises(InputError, match="check must name one result of the table; received None"):
        plot_power(both)
    with pytest.raises(InputError, match="lacking the columns check, signal"):
        plot_power(pd.DataFrame())
