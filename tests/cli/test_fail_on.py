"""``--fail-on``. Breaks if a condition that is met passes, or one that nothing can meet."""

import pytest

from coherence import InputError, analyze, simulate
from coherence.analysis.conditions import parse_condition
from coherence.cli.fail_on import judge


@pytest.fixture(scope="module")
def report():
    runs = simulate("leaky", n_contexts=80, n_reps=3, rng=1)
    return analyze(runs, checks=["residual_covariance", "calibration"], rng=1)


def judged(report, *texts):
    return judge([parse_condition(text) for text in texts], report)


def test_what_is_met_is_said_and_ends_with_1(report, capsys):
    assert judged(report, "pvalue<.05") == 1
    assert "--fail-on 'pvalue<.05' holds: " in capsys.readouterr().err
    assert judged(report, "pvalue<1e-9") == 0
    assert capsys.readouterr().err == ""
    # One of several is enough.
    assert judged(report, "pvalue<1e-9", "residual_covariance.statistic<9") == 1
    assert judged(report) == 0


def test_what_nothing_could_meet_lets_nothing_pass(report):
    with pytest.raises(InputError, match="had nothing to compare"):
        judged(report, "cmi.pvalue<.05")
