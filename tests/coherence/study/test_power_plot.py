import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.report.figures import ACTION_COLOURS, FAINT
from coherence.study.power_plot import plot_power, render_power


def table(checks=("residual_covariance",), reps=(5,), quantity="power"):
    rows = [
        {
            "check": check,
            "signal": signal,
            "n_reps": n_reps,
            "n_contexts": size,
            "quantity": quantity if signal or quantity == "precision" else "size",
            "power": min(1.0, 0.05 + signal * size / 40),
            "low": max(0.0, signal * size / 40 - 0.02),
            "high": min(1.0, 0.1 + signal * size / 40),
            "half_width": 1 / size,
        }
        for check in checks
        for signal in (0.0, 0.1, 0.2)
        for n_reps in reps
        for size in (25, 50, 100)
    ]
    return pd.DataFrame(rows)


SETTINGS = {"alpha": 0.05, "target": None, "population": "agent a", "planted": "hidden_signal"}


def test_a_line_for_each_signal_through_its_numbers():
    rows = table()
    ax = plot_power(rows, Figure().add_subplot(), alpha=0.05)
    drawn = [container.lines[0] for container in ax.containers]
    assert [line.get_color() for line in drawn] == [FAINT, *ACTION_COLOURS[:2]]
    for line, (_, wanted) in zip(drawn, rows.groupby("signal"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), wanted["n_contexts"])
        np.testing.assert_array_equal(line.get_ydata(), wanted["power"])
    bars = ax.containers[1].lines[2][0].get_segments()
    wanted = rows[rows["signal"] == 0.1]
    np.testing.assert_allclose([bar[:, 1] for bar in bars], wanted[["low", "high"]])
    assert ax.get_xscale() == "log"


def test_level_and_power_wanted_are_drawn():
    ax = plot_power(table(), Figure().add_subplot(), alpha=0.01, target=0.9)
    heights = {line.get_ydata()[0] for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert heights == {0.01, 0.9}


def test_estimates_show_their_widths():
    rows = table(quantity="precision")
    ax = plot_power(rows, Figure().add_subplot(), alpha=0.05)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1 / 25, 1 / 50, 1 / 100])
    assert ax.get_ylabel() == "half the width of the interval"


@pytest.mark.parametrize("n_checks", [1, 2, 4, 7])
def test_a_panel_for_each_result_and_equal_bytes(n_checks):
    checks = tuple(f"check_{number}" for number in range(n_checks))
    rows = table(checks, reps=(1, 5))
    svg = render_power(rows, SETTINGS)
    assert svg == render_power(rows, SETTINGS)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert [text for text in texts if text.startswith("check_")] == list(checks)
    assert "signal 0.2, 5 repetitions" in texts
    assert "agent a, hidden_signal planted" in texts


def test_names_from_files_are_no_mathematics_and_no_commands():
    rows = table(("monotone_choice:$x$/\x1b[31my",))
    svg = render_power(rows, SETTINGS | {"population": "an agent like $m_1$"})
    assert "monotone_choice:$x$/y" in svg
    assert "an agent like $m_1$" in svg
