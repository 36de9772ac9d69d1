"""Power. Breaks if a line has the numbers of another."""

import numpy as np

from coherence.plots import plot_power
from tests.api.tables import make_power


def test_power_has_a_line_for_each_signal_through_its_numbers(ax):
    rows = make_power()
    plot_power(rows, alpha=0.01, target=0.9, ax=ax)
    drawn = [container.lines[0] for container in ax.containers]
    for line, (_, wanted) in zip(drawn, rows.groupby("signal"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), wanted["n_contexts"])
        np.testing.assert_array_equal(line.get_ydata(), wanted["power"])
    bars = ax.containers[1].lines[2][0].get_segments()
    wanted = rows[rows["signal"] == 0.1]
    np.testing.assert_allclose([bar[:, 1] for bar in bars], wanted[["low", "high"]])
    heights = {line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert heights == {0.01, 0.9}


def test_power_of_estimates_shows_their_widths(ax):
    plot_power(make_power(quantity="precision"), alpha=0.05, ax=ax)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1 / 25, 1 / 50, 1 / 100])
