"""A reduced form of the validity table: sizes and power within wide exact binomial bounds, seeds fixed."""

import sys
from pathlib import Path

import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from designs import NULLS, SIGNALS, exact_information
from simulate import covers, rejects

N = 60
QUICK = ("residual_covariance", "cmi", "monotone yes/no", "iterated_expectation")
HARD = [
    design
    for design in NULLS
    if design.name in ("200 x 5, taste of contexts", "200 x 5, action fixed in context", "60 contexts x 3", "theta rare (5%)")
]
SIGNAL = {design.signal: design for design in SIGNALS}


@pytest.mark.parametrize("check", QUICK)
@pytest.mark.parametrize("design", HARD, ids=lambda design: design.name)
def test_true_nulls_are_rejected_about_as_often_as_promised(check, design):
    """At a true rate of .05, more rejections than the bound happen once in ten thousand runs; a row-level test reaches .5."""
    rejected = sum(rejects(check, design, 1, number) for number in range(N))
    assert rejected <= stats.binom.ppf(0.9999, N, 0.05)


@pytest.mark.parametrize(
    ("check", "signal", "power", "n"),
    [
        ("residual_covariance", 0.1, 0.70, N),
        ("residual_covariance", 0.2, 0.97, N),
        ("cmi", 0.1, 0.40, N),
        ("cmi", 0.2, 0.80, N),
        ("predictive_gain", 0.2, 0.70, 12),
    ],
)
def test_hidden_signals_are_found(check, signal, power, n):
    """Fails once in ten thousand runs at the promised power."""
    rejected = sum(rejects(check, SIGNAL[signal], 1, number) for number in range(n))
    assert rejected >= stats.binom.ppf(0.0001, n, power)


@pytest.mark.parametrize("check", ["residual_covariance", "cmi"])
def test_intervals_cover(check):
    design = SIGNAL[0.2]
    truth = design.signal if check == "residual_covariance" else exact_information(design)
    covered = sum(covers(check, design, truth, 1, number) for number in range(N))
    assert covered >= stats.binom.ppf(0.0001, N, 0.95)


def test_information_is_integrated_right():
    """Known values of the planted design: .0072, .028 and .103 nats at signals .1, .2 and .4."""
    assert [round(exact_information(SIGNAL[signal]), 4) for signal in (0.1, 0.2, 0.4)] == pytest.approx([0.0072, 0.028, 0.103], rel=0.02)
