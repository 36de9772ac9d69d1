"""Fit of the choice curve: breaks if a step passes for a smooth curve, or a true curve does not."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from coherence.statistics.choice_fit import choice_misfit
from coherence.statistics.choice_model import fit_choice_model
from coherence.statistics.resample import context_folds


def misfit(belief, first, context, n_contexts):
    share = np.stack([first, 1 - first], axis=1).astype(float)
    folds = context_folds(context, n_contexts, 5, np.random.default_rng(0))[: len(belief)]
    model = fit_choice_model(belief, share, folds)
    return choice_misfit(belief, share, context, n_contexts, model)


def test_a_smooth_curve_is_seldom_called_a_misfit():
    """Contexts of five choices that share a taste: rows are not independent."""
    pvalues = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        context = np.repeat(np.arange(100), 5)
        belief = rng.random(100)[context]
        taste = rng.normal(size=100)[context]
        first = rng.random(500) < expit(4 * (2 * belief - 1) + taste)
        pvalues.append(misfit(belief, first, context, 100))
    assert np.mean(np.array(pvalues) <= 0.05) <= stats.binom.ppf(0.995, 200, 0.05) / 200


@pytest.mark.parametrize("slip", [0.02, 0.1])
def test_a_step_with_slips_is_a_misfit(slip):
    rng = np.random.default_rng(3)
    belief = rng.random(1000)
    first = (belief > 0.5) ^ (rng.random(1000) < slip)
    assert misfit(belief, first, np.arange(1000), 1000) < 0.01


def test_nothing_left_is_no_misfit():
    belief = np.repeat([0.2, 0.8], 50)
    assert misfit(belief, belief > 0.5, np.arange(100), 100) > 0.05
