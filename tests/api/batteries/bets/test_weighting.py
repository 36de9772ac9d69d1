"""The line of implied on stated log odds: by hand, and that of a known agent."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from coherence import fit_ladder
from coherence.batteries.bets.ladder import weighting_line


def test_weighting_is_that_of_the_agent(climb):
    stated, even, taken, high, low = climb(
        0.1 * np.diag([-2.0, -1.0, 0.0, 1.0, 2.0]), elevation=0.3, sensitivity=0.5, slope=20
    )
    line = fit_ladder(stated, even, taken, first=high, second=low).weighting
    assert line.elevation == pytest.approx(0.3, abs=0.08)
    assert line.sensitivity == pytest.approx(0.5, abs=0.08)
    assert line.elevation_interval.low <= 0.3 <= line.elevation_interval.high
    assert line.sensitivity_interval.high < 1
    assert line.pvalue < 0.05
    honest = fit_ladder(*climb(np.zeros((5, 5)))[:3]).weighting
    assert (honest.elevation, honest.sensitivity) == (
        pytest.approx(0, abs=0.03),
        pytest.approx(1, abs=0.03),
    )
    assert honest.pvalue > 0.5


@pytest.mark.parametrize(
    "rungs", [np.linspace(0.1, 0.9, 9), np.linspace(0.05, 0.95, 19)], ids=["nine", "nineteen"]
)
@pytest.mark.parametrize("n_pairs", [1, 5])
@pytest.mark.parametrize("takes_nothing", [False, True])
def test_who_is_rational_where_stated_chances_are_rungs_is_not_called_otherwise(
    rungs, n_pairs, takes_nothing
):
    """At the stated chance a bet gains nothing: taken or not throughout, all switches lie on one
    side of what was stated.
    """
    stated, even, pair = (
        x.ravel()
        for x in np.meshgrid(
            np.linspace(0.1, 0.9, 9).round(3), rungs.round(3), np.arange(n_pairs), indexing="ij"
        )
    )
    taken = even < stated + (1e-9 if takes_nothing else -1e-9)
    things = {"first": pair, "second": pair} if n_pairs > 1 else {}
    line = fit_ladder(stated, even, taken, **things).weighting
    assert abs(line.elevation) > 0.1
    assert line.pvalue == pytest.approx(1)
    assert line.elevation_interval.low <= 0 <= line.elevation_interval.high
    # Who shifts all chances by more than the rungs can is still found out.
    optimist = fit_ladder(stated, even, logit(even) < logit(stated) + 1.2, **things).weighting
    assert optimist.pvalue < 0.05


def test_weighting_by_hand():
    stated, leave_outs = np.array([-1.0, 1.0]), np.array([[-1.2, 0.8], [-0.8, 1.2]])
    line = weighting_line(stated, stated, np.full(2, 1e-9), np.zeros(2), [leave_outs], freedom=1.0)
    # Elevations without one thing are -.2 and .2: jackknife variance (1/2) (.04 + .04); slopes do
    # not move.
    assert line.elevation_interval.high == pytest.approx(0.2 * stats.t.ppf(0.975, 1))
    assert line.sensitivity_interval.high == pytest.approx(1.0)
    with_error = weighting_line(
        stated, stated + 0.5, np.full(2, 0.3), np.zeros(2), [], freedom=math.inf
    )
    assert with_error.elevation_interval.high - 0.5 == pytest.approx(1.959964 * 0.3 / math.sqrt(2))
    assert with_error.pvalue == pytest.approx(2 * 2 * stats.norm.sf(0.5 / (0.3 / math.sqrt(2))))
    # Leans of one size: their sum moves the elevation by that size, and the sensitivity too.
    leaning = weighting_line(
        stated, stated + 0.5, np.full(2, 0.3), np.full(2, 0.2), [], freedom=math.inf
    )
    assert leaning.elevation_interval.low == pytest.approx(0.3 - 1.959964 * 0.3 / math.sqrt(2))
    assert leaning.sensitivity_interval.high == pytest.approx(1.2 + 1.959964 * 0.3 / math.sqrt(2))
    assert leaning.pvalue == pytest.approx(2 * 2 * stats.norm.sf(0.3 / (0.3 / math.sqrt(2))))
    nothing = weighting_line(stated[:1], stated[:1], np.ones(1), np.zeros(1), [], freedom=4.0)
    assert math.isnan(nothing.elevation)
    assert nothing.n_chances == 1
