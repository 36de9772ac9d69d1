"""The statistic alone is that of the check, of the effect that the original shows."""

import numpy as np
import pandas as pd
import pytest

from coherence import residual_covariance_test, simulate
from coherence.checks.check import Original
from coherence.checks.covariance import residual_covariance_of_means
from coherence.checks.covariance_effect import (
    means_of_contexts,
    residual_covariance_effect,
    shows_largest,
)
from coherence.result import CheckResult
from coherence.statistics.choices import as_choices

NAME = "residual_covariance"


@pytest.fixture(scope="module")
def leaky():
    runs = simulate("leaky", n_contexts=200, n_reps=3, prompts=["standard"], iterated=False, rng=1)
    return runs["p"].to_numpy(), runs["action"], runs["theta"], runs["context"]


def original(result, name=NAME):
    return Original({name: result}, agent=None)


def test_the_hidden_shift_is_that_of_the_check(leaky):
    *arrays, context = leaky
    result = residual_covariance_test(*arrays, context=context, rng=np.random.default_rng(1))
    assert not shows_largest(result)
    effect = residual_covariance_effect(
        *arrays, original(result), np.random.default_rng(1), name=NAME, context=context
    )
    assert effect == {NAME: pytest.approx(result.statistic, abs=1e-9)}


def test_an_original_that_shows_the_surest_difference_has_the_size_of_it(leaky):
    belief, action, truth, context = leaky
    # Choices that are no smooth function of the belief, so that there is no shift to report.
    odd = np.where(np.round(belief * 20) % 2 == 1, "yes", action)
    result = residual_covariance_test(belief, odd, truth, context=context, rng=1)
    assert shows_largest(result)
    effect = residual_covariance_effect(
        belief, odd, truth, original(result), np.random.default_rng(1), name=NAME, context=context
    )
    assert effect[NAME] == pytest.approx(abs(result.statistic))
    # Smooth choices beside it have their surest difference too, and not their shift.
    other = residual_covariance_effect(
        belief,
        action,
        truth,
        original(result),
        np.random.default_rng(1),
        name=NAME,
        context=context,
    )
    components = residual_covariance_test(belief, action, truth, context=context, rng=1).details
    surest = components.iloc[:-1].sort_values("pvalue_single").iloc[0]
    assert other[NAME] == pytest.approx(abs(surest["estimate"]))


def test_means_of_contexts_are_what_the_estimate_on_means_takes(leaky):
    *arrays, context = leaky
    name = "residual_covariance:context_means"
    result = residual_covariance_of_means(*arrays, context=context, rng=np.random.default_rng(2))
    effect = residual_covariance_effect(
        *arrays,
        original(result, name),
        np.random.default_rng(2),
        name=name,
        context=context,
        of_means=True,
    )
    assert abs(effect[name]) == pytest.approx(abs(result.statistic))


def test_averages_are_by_context():
    belief, action, truth = [0.2, 0.4, 0.9], ["a", "b", "b"], [0, 0, 1]
    data = as_choices(belief, action, truth, ["x", "x", "y"], oriented=True)
    means, shares, states = means_of_contexts(data, belief, truth)
    assert means == pytest.approx([0.3, 0.9])
    assert shares.to_dict("list") == {"a": [0.5, 0.0], "b": [0.5, 1.0]}
    assert states.tolist() == [0, 1]


def test_nothing_to_covary_is_nan_or_nothing():
    result = CheckResult(NAME, "", 0.1, "belief", None, 0.5, 40, 40)
    belief = np.linspace(0, 1, 40)
    settled = pd.Series(np.where(belief > 0.5, "a", "b"))
    alone = residual_covariance_effect(
        belief, ["a"] * 40, [0, 1] * 20, original(result), np.random.default_rng(1), name=NAME
    )
    assert np.isnan(alone[NAME])
    foretold = residual_covariance_effect(
        belief,
        settled,
        (belief > 0.5).astype(int),
        original(result),
        np.random.default_rng(1),
        name=NAME,
    )
    assert np.isnan(foretold[NAME])
