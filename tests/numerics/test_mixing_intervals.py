"""Intervals: they cover, hold what they are about, and a sum by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence.batteries.mixing.answers import check_answers, count_checked
from coherence.batteries.mixing.losses import measures_of
from coherence.batteries.mixing.scores import Estimate, estimate, score_interval


def test_the_interval_of_a_sum_of_scores():
    """By hand, with resamples of a known spread: S beyond 1 is worth nothing however far; at 1 half
    of the estimates lie under the cap.
    """
    spread = np.array([-0.1, 0.1])  # standard deviation .1 sqrt(2), reach .277
    reach = 1.959963984540054 * 0.1 * math.sqrt(2)

    def one(loss, doubt=(0.0, 0.0), points=10.0):
        return Estimate(points, loss, loss + spread, doubt)

    assert score_interval([one(0.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    assert score_interval([one(0.5, (0.1, 0.2))]) == pytest.approx(
        (5 - 10 * reach - 2, 5 + 10 * reach + 1)
    )
    assert score_interval([one(0.5), one(2.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    # At and a little beyond the cap the upper end holds the whole reach; the lower one counts the
    # estimate as it is.
    assert score_interval([one(1.1)]) == pytest.approx((0, 10 * reach))
    assert score_interval([one(0.1), one(1.1)]) == pytest.approx((8 - 20 * reach, 9 + 20 * reach))
    # Chance above the points: the interval keeps its width below them.
    assert score_interval([one(-0.2)]) == pytest.approx((10 - 10 * reach, 10))
    # A loss that chance took below 0 is the lower end of its own interval.
    assert one(-0.2).interval == pytest.approx((-0.2, reach))
    assert one(0.1).interval == pytest.approx((0, 0.1 + reach))
    assert np.isnan(score_interval([one(0.5), one(math.nan)])).all()
    exact = Estimate(10.0, 0.3, np.array([0.3]), (0.0, 0.0))
    assert np.isnan(score_interval([exact])).all()


def flips_at(ones, n, p=(0.1, 0.3)):
    rows = [
        ("flip", x, label, count)
        for x, number in zip(p, ones, strict=True)
        for label, count in (("1", number), ("0", n - number))
    ]
    table = pd.DataFrame(rows, columns=["experiment", "p", "answer", "count"])
    return count_checked(check_answers(table))[""]["flip"]


@pytest.mark.parametrize("n", [20, 40])
def test_resampled_rates_vary_as_the_unbiased_estimate_of_their_variance_says(n):
    """All answers are 1, far above p, where the loss is linear in the rates.

    The prior of one answer takes the mean to m = (n + 1/2) / (n + 1); the variance of a rate around
    it is m (1 - m) / (n - 1). Both rates have a weight of 2.5 in the loss.
    """
    counts = flips_at((n, n), n)
    (rising,) = estimate(counts, measures_of(counts), 40_000, np.random.default_rng(0))
    mean = (n + 0.5) / (n + 1)
    spread = 2.5 * math.sqrt(2 * mean * (1 - mean) / (n - 1))
    assert rising.resampled.mean() == pytest.approx(2.5 * (2 * mean - 0.4), rel=2e-3)
    assert rising.resampled.std() == pytest.approx(spread, rel=0.02)
    assert rising.reach == pytest.approx(1.959964 * rising.resampled.std(), rel=1e-4)
    assert rising.loss == pytest.approx(2.5 * 1.6)
