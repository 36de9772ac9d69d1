import numpy as np
import pytest

from coherence import AGENTS, simulate
from coherence.analysis.comparison.gap_effects import gap_beyond, repeated_gaps, signed_gap
from coherence.analysis.comparison.measured import Unfit
from coherence.checks.iterated import iterated_expectation_test


def test_gaps_of_cases_average_to_the_statistic_of_the_test(asked, about):
    gaps = signed_gap(about(asked["wordbound"]))
    test = iterated_expectation_test(asked["wordbound"], rng=1)
    assert gaps.mean() == pytest.approx(test.statistic)


def test_reports_without_a_grid_need_no_rounding_removed(about):
    runs = simulate("wordbound", n_contexts=40, n_reps=3, rng=2)
    rng = np.random.default_rng(0)
    smooth = runs.assign(p=(runs["p"] + rng.uniform(-0.02, 0.02, len(runs))).clip(0, 1))
    smooth["p_z"] = (smooth["p_z"] + rng.uniform(-0.001, 0.001, len(runs))).clip(0, 1)
    found = gap_beyond(about(smooth), 0)
    assert found.value**2 == pytest.approx(found.cases.mean())


@pytest.mark.lengthy
def test_what_rounding_makes_of_a_coherent_agent_is_taken_off(about):
    """Squares with rounding would be far above 0 in every study."""
    exact, means = AGENTS["rational"].with_parameters(grid=0.0), []
    for seed in range(12):
        runs = simulate(exact, n_contexts=60, n_reps=2, rng=seed, prompts=["standard"])
        step = runs.assign(p=(runs["p"] / 0.1).round() * 0.1)
        means.append(gap_beyond(about(step), 0).cases.mean())
    raw = (signed_gap(about(step)) ** 2).mean()
    assert abs(np.mean(means)) < raw / 5
    assert min(means) < 0  # below 0 by chance, and kept


def test_models_without_gaps_say_why(asked, about):
    runs = asked["rational"]
    plain = about(runs[runs["z_state"].isna()])
    with pytest.raises(Unfit, match="not asked of every model"):
        signed_gap(plain)
    once = about(runs[runs["rep"] == 0])
    with pytest.raises(Unfit, match="two repetitions"):
        repeated_gaps(once)
    assert len(repeated_gaps(about(runs))) == 100
