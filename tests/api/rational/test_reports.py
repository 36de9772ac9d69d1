"""reports: the noise model is a distribution, and the one that reports are drawn from."""

import numpy as np
import pytest

from coherence.rational.reports import (
    LEAST_SD,
    MOST_SD,
    MOST_TAILS,
    ReportScale,
    report_table,
    round_shares,
    scale_of,
    shape_of_spread,
    spread_at,
    tail_share,
)

POINTS = np.linspace(0, 1, 41)


def parameters(scale, sd, *, tails=-12.0, rounder=-12.0):
    values = np.full(scale.n_parameters, rounder)
    values[:3], values[-1] = (np.log(sd), 0.0, 0.0), tails
    return values


@pytest.mark.parametrize("spacing", [0.01, 0.05, 0.1, 0.25])
@pytest.mark.parametrize("sd", [0.01, 0.1, 0.5])
def test_reports_of_every_belief_add_up_to_one(spacing, sd):
    scale = scale_of(np.arange(round(1 / spacing) + 1) * spacing)
    values = parameters(scale, sd, tails=0.3, rounder=-1.0)
    table, _ = report_table(scale, values, POINTS)
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(POINTS.size), abs=1e-9)


def test_frequencies_of_drawn_reports_follow_the_table():
    rng = np.random.default_rng(1)
    scale = ReportScale(0.05, (0.1,))
    values = parameters(scale, 0.12, tails=0.0)
    values[3] = 0.0  # half of the reports are multiples of .1
    n, belief = 200_000, 0.3
    far = rng.random(n) < tail_share(values)
    noisy = np.clip(belief + 0.12 * np.where(far, 3, 1) * rng.normal(size=n), 0, 1)
    coarse = rng.random(n) < 0.5
    report = np.where(coarse, np.rint(noisy / 0.1) * 0.1, np.rint(noisy / 0.05) * 0.05)
    seen = np.bincount(scale.codes(report), minlength=21) / n
    expected = np.exp(report_table(scale, values, np.array([belief]))[0][:, 0])
    assert np.abs(seen - expected).max() < 5 * np.sqrt(0.25 / n)
    assert round_shares(values) == pytest.approx([0.5, 0.5])


def test_derivatives_are_those_of_the_table():
    scale = ReportScale(0.05, (0.1, 0.25))
    values = np.array([np.log(0.1), 0.2, -0.3, -1.0, -2.0, -1.5])
    _, slopes = report_table(scale, values, POINTS)
    step = 1e-6
    for position in range(values.size):
        move = np.zeros(values.size)
        move[position] = step
        upper, lower = (report_table(scale, values + s * move, POINTS)[0] for s in (1, -1))
        by_spread = slopes[0] * shape_of_spread(POINTS)[:, min(position, 2)]
        wanted = by_spread if position < 3 else slopes[position - 2]
        assert (upper - lower) / (2 * step) == pytest.approx(wanted, rel=1e-3, abs=1e-4)


def test_the_grid_of_reports_is_found():
    assert scale_of(np.array([0.0, 0.25, 1.0])).spacing == 0.25
    assert scale_of(np.array([0.2, 0.4])).spacing == 0.2
    assert scale_of(np.array([0.1, 0.4])).spacing == 0.1
    assert scale_of(np.array([0.3, 0.35])) == ReportScale(0.05, (0.1, 0.25))
    # Continuous beliefs are counted in hundredths.
    scale = scale_of(np.array([0.123456, 0.9]))
    assert scale.spacing == 0.01
    assert scale.codes(np.array([0.123456, 0.996, 1.0])).tolist() == [12, 100, 100]


def test_spread_and_tails_stay_in_their_range():
    wild = np.array([50.0, 0, 0, 50.0])
    assert spread_at(wild, POINTS).max() == pytest.approx(MOST_SD)
    assert spread_at(-wild, POINTS).min() == pytest.approx(LEAST_SD)
    assert tail_share(wild) == pytest.approx(MOST_TAILS)
