"""The picture of a sequential test. Breaks if path, bound or stop are others than the result's."""

import math

import numpy as np
import pytest

from coherence import InputError, sequential_test, sufficiency_test
from coherence.plots import plot_evidence

RNG = np.random.default_rng(1)
TRUTH = RNG.integers(0, 2, 150)
TABLE = {"belief": np.full(150, 0.5), "action": np.where(RNG.random(150) < 0.8, TRUTH, 1 - TRUTH)}
TABLE["truth"] = TRUTH


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


def test_no_path_no_picture():
    with pytest.raises(InputError, match="sequential_test"):
        plot_evidence(sufficiency_test(**TABLE, rng=1))
    with pytest.raises(InputError, match="has a path"):
        plot_evidence(sequential_test(RNG.random(50), TRUTH[:50], TRUTH[:50], evidence=20))
