"""Sequential tests and power. Breaks if a path, a bound or a line has the numbers of another."""

import math

import numpy as np
import pytest

from coherence import sequential_test
from coherence.plots import plot_evidence, plot_power
from tests.api.tables import make_power

RNG = np.random.default_rng(1)
TRUTH = RNG.integers(0, 2, 150)
ACTION = np.where(RNG.random(150) < 0.8, TRUTH, 1 - TRUTH)
TABLE = {"belief": np.full(150, 0.5), "action": ACTION, "truth": TRUTH}


def drawn_of(ax):
    return {line.get_gid(): line for line in ax.lines}


def test_evidence_case_by_case(ax):
    result = sequential_test(**TABLE, evidence=20)
    plot_evidence(result, ax=ax)
    drawn = drawn_of(ax)
    assert drawn["path"].get_ydata() == pytest.approx(result.details["log_evidence"])
    assert drawn["bound"].get_ydata()[0] == math.log(20)
    assert drawn["stopped"].get_xdata()[0] == result.settings["stopped"] < 150
    ticks = {text.get_text(): text.get_position()[1] for text in ax.get_yticklabels()}
    assert ticks["10"] == pytest.approx(math.log(10))


def test_looks_with_the_levels_of_those_to_come(ax):
    result = sequential_test(**TABLE, looks=4, most=200, rng=1)
    plot_evidence(result, ax=ax, title="")
    drawn = drawn_of(ax)
    assert drawn["bound"].get_xdata().tolist() == [50, 100, 150, 200]
    assert drawn["path"].get_ydata()[:3] == pytest.approx(result.details["pvalue"][:3])
    low, high = ax.get_ylim()
    assert low > 1 > result.details["level"].min() > high


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
