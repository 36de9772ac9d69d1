"""Power. Breaks if a line has the numbers of another."""

import numpy as np
import pandas as pd

from coherence.plots import plot_power


def table_of(signal, share):
    columns = {"n_cases": [25, 50, 100], "power": share, "low": np.subtract(share, 0.1)}
    about = {"agent": "agent shaded", "check": "cmi", "signal": signal, "n_reps": 5}
    return pd.DataFrame({**columns, "high": np.add(share, 0.05)}).assign(**about)


def test_power_has_a_line_for_each_signal_through_its_numbers(ax):
    tables = [table_of(0.1, [0.2, 0.4, 0.6]), table_of(0.4, [0.3, 0.5, 0.9])]
    plot_power(pd.concat(tables), ax=ax)
    for line, table in zip(ax.containers, tables, strict=True):
        np.testing.assert_array_equal(line.lines[0].get_xdata(), table["n_cases"])
        np.testing.assert_array_equal(line.lines[0].get_ydata(), table["power"])
        bars = np.array([bar[:, 1] for bar in line.lines[2][0].get_segments()])
        np.testing.assert_allclose(bars, table[["low", "high"]])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[-2:] == ["signal .1", "signal .4"]
    heights = {line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert heights == {0.05, 0.8}
