import numpy as np
import pytest

from coherence import simulate
from coherence.analysis.comparison.measured import Unfit
from coherence.analysis.comparison.shift_effects import held_shift, judged_cases, stated_difference


@pytest.mark.parametrize("estimate", [stated_difference, held_shift])
def test_influences_have_the_spread_that_the_interval_has(estimate, about):
    """With 200 cases the interval is about two standard errors of the influences wide."""
    runs = simulate("leaky", n_contexts=200, n_reps=3, rng=4, iterated=False, prompts=["standard"])
    found = estimate(about(runs), 5)
    error = found.cases.std(ddof=1) / np.sqrt(len(found.cases))
    half = (found.interval.high - found.interval.low) / 2
    assert half == pytest.approx(1.97 * error, rel=0.15)
    assert found.value == pytest.approx(0.4, abs=4 * error)


def test_equal_answers_and_seeds_have_equal_influences(asked, about):
    twice = [stated_difference(about(asked["rational"]), 9).cases for _ in range(2)]
    assert np.array_equal(*twice)


def test_models_without_a_shift_say_why(asked, about):
    runs = asked["rational"]
    idle = about(runs.assign(action=None))
    with pytest.raises(Unfit, match="no readable belief with a readable action"):
        judged_cases(idle)
    rng = np.random.default_rng(0)
    acts = runs["action"].notna()
    random = runs.assign(action=runs["action"].where(~acts, rng.choice(["no", "yes"], len(runs))))
    with pytest.raises(Unfit):
        held_shift(about(random), 1)
