import math

import pytest

from coherence.analysis.comparison.effects import EFFECTS


@pytest.mark.lengthy
@pytest.mark.parametrize("name", EFFECTS)
def test_the_mean_over_cases_is_the_estimate(asked, name, about):
    """Else differences of means would not be differences of estimates."""
    effect = EFFECTS[name]
    for runs in asked.values():
        answers = about(runs)
        found = effect.estimate(answers, sorted(effect.usable(answers)), 3)
        assert len(found.cases) == len(set(effect.usable(answers)))
        mean = float(found.cases.mean())
        # Of rounded reports the estimate is a mean of two roots, not the root of a mean.
        near = 1e-3 if name == "iterated_expectation:noise_removed" else 1e-9
        value = math.sqrt(max(mean, 0.0)) if effect.squared else mean
        assert found.value == pytest.approx(value, abs=near)


@pytest.mark.lengthy
@pytest.mark.parametrize("name", EFFECTS)
def test_estimates_and_intervals_are_those_of_the_analysis(asked, reported, name, about):
    for model, runs in asked.items():
        if name not in reported[model].index:
            continue
        row = reported[model].loc[name]
        answers = about(runs)
        found = EFFECTS[name].estimate(answers, sorted(EFFECTS[name].usable(answers)), 3)
        # Folds are drawn at random, and move the hidden shift a little.
        near = 0.02 if name == "residual_covariance" else 1e-9
        assert found.value == pytest.approx(row["statistic"], abs=near)
        if found.interval is not None:
            assert found.interval.low == pytest.approx(row["low"], abs=near)
            assert found.interval.high == pytest.approx(row["high"], abs=near)


def test_every_result_of_the_analysis_that_is_compared_bears_its_name(reported):
    named = {name for name in EFFECTS if name in reported["rational"].index}
    others = {"prompt_consistency", "report_noise", "unreadable"}
    assert named | others == set(EFFECTS)


def test_squares_are_compared_where_the_estimate_is_a_root():
    assert EFFECTS["calibration:rmse"].scale == "mean square"
    assert EFFECTS["calibration:brier"].scale == "estimate"
