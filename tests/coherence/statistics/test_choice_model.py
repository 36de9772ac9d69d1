"""The choice model: a stationary point of its likelihood, true slopes, the degree that predicts."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax

from coherence.statistics import choice_model
from coherence.statistics.choice_model import (
    N_LEVELS,
    RIDGE,
    ChoiceModel,
    fit_choice_model,
    fit_to_counts,
    merge_levels,
)


def log_share(coefficients, belief):
    """Multinomial logit in powers of 2b - 1, term by term."""
    powers = np.stack([(2 * belief - 1) ** j for j in range(len(coefficients))], axis=1)
    return log_softmax(powers @ coefficients, axis=1)


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    belief = np.linspace(0.05, 0.95, 12)
    chances = np.exp(log_share(np.array([[0.3, 0, 0], [2, 0.5, -1], [0.4, 0, 0.8]]), belief))
    return belief, np.array([rng.multinomial(30, row) for row in chances]).astype(float)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_fit_is_the_penalised_maximum(counts, degree):
    """Against a general minimiser of the same loss, which knows no second derivative."""
    belief, chosen = counts
    shape = (degree + 1, 3)

    def loss(flat):
        coefficients = flat.reshape(shape)
        return -(chosen * log_share(coefficients, belief)).sum() + RIDGE / 2 * (flat**2).sum()

    model = fit_to_counts(belief, chosen, degree)
    assert model.degree == degree
    assert np.abs(approx_fprime(model.coefficients.ravel(), loss, 1e-6)).max() < 1e-3
    best = minimize(loss, np.zeros(shape).ravel(), method="BFGS", options={"gtol": 1e-6}).x
    np.testing.assert_allclose(model.coefficients, best.reshape(shape), atol=2e-3)
    np.testing.assert_allclose(model.coefficients.sum(axis=1), 0, atol=1e-6)


def test_shares_and_slopes_are_those_of_the_formula():
    model = ChoiceModel(
        np.array([[0.2, -0.1, 0.0], [3.0, -1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0, 1]])
    )
    belief, step = np.linspace(0.02, 0.98, 25), 1e-6
    np.testing.assert_allclose(
        model.share(belief), np.exp(log_share(model.coefficients, belief)), rtol=1e-12
    )
    above, below = (log_share(model.coefficients, belief + sign * step) for sign in (1, -1))
    np.testing.assert_allclose(model.log_slope(belief), (above - below) / (2 * step), atol=1e-6)


def test_separated_choices_give_finite_slopes():
    """Without the penalty, and without halved steps, the coefficients run away."""
    belief = np.linspace(0, 1, 20)
    chosen = np.stack([belief < 0.5, belief >= 0.5], axis=1) * 50.0
    model = fit_to_counts(belief, chosen, 3)
    assert np.abs(model.coefficients).max() < 1e3
    assert model.share(belief)[[0, -1], [0, 1]] == pytest.approx(1, abs=1e-3)

    def loss(coefficients):
        penalty = RIDGE / 2 * (coefficients**2).sum()
        return -(chosen * log_share(coefficients, belief)).sum() + penalty

    for scale in (0.99, 1.01):
        assert loss(model.coefficients) < loss(scale * model.coefficients)


def test_levels_are_kept_while_they_are_few():
    cell, centre = merge_levels(np.array([0.5, 0.1, 0.5, 0.9]))
    assert cell.tolist() == [1, 0, 1, 2]
    assert centre.tolist() == [0.1, 0.5, 0.9]
    distinct = np.arange(N_LEVELS) / N_LEVELS
    np.testing.assert_array_equal(merge_levels(distinct)[1], distinct)


def test_many_levels_are_merged_into_equally_full_cells():
    rng = np.random.default_rng(1)
    belief = rng.random(5 * N_LEVELS)
    cell, centre = merge_levels(belief)
    assert np.bincount(cell).tolist() == [5] * N_LEVELS
    order = np.argsort(belief)
    np.testing.assert_array_equal(cell[order], np.repeat(np.arange(N_LEVELS), 5))
    np.testing.assert_allclose(centre, np.sort(belief).reshape(-1, 5).mean(axis=1))


def held_out(belief, action, folds, degree):
    """Log-likelihood of held-out rows, fold by fold and row by row."""
    total = 0.0
    levels = np.unique(belief)
    for fold in np.unique(folds):
        train = folds != fold
        counts = np.array(
            [[((belief == b) & (action == a) & train).sum() for a in range(3)] for b in levels]
        )
        model = fit_to_counts(levels, counts.astype(float), degree)
        shares = model.share(belief[~train])
        total += np.log(shares[np.arange((~train).sum()), action[~train]]).sum()
    return total


@pytest.mark.parametrize(("peak", "turn"), [(0, 0), (3, 0), (12, 0), (0, 40)])
def test_degree_is_the_one_that_predicts_held_out_contexts(peak, turn):
    """A line, curves of two heights, and one that turns twice."""
    rng = np.random.default_rng(2)
    belief = rng.integers(0, 11, 300) / 10
    curve = peak * belief * (1 - belief)
    cubic = turn * (belief - 0.1) * (belief - 0.5) * (belief - 0.9)
    utility = np.stack([3 * belief + cubic, curve, np.zeros(300)], axis=1)
    action = np.argmax(utility + rng.gumbel(size=(300, 3)), axis=1)
    folds = np.arange(300) % 5
    scores = [held_out(belief, action, folds, degree) for degree in (1, 2, 3)]
    model = fit_choice_model(belief, np.eye(3)[action], folds)
    assert model.degree == 3 or not turn
    assert model.degree == 1 + int(np.argmax(scores))
    counts = np.array(
        [[((belief == b) & (action == a)).sum() for a in range(3)] for b in np.unique(belief)]
    )
    again = fit_to_counts(np.unique(belief), counts.astype(float), model.degree)
    np.testing.assert_allclose(model.coefficients, again.coefficients, atol=1e-9)


@pytest.mark.parametrize(("n_levels", "most"), [(1, 1), (2, 1), (3, 2)])
def test_no_polynomial_passes_through_every_level(n_levels, most, monkeypatch):
    """Degrees are tried as long as a level is left to predict, and the first is always there."""
    tried = []
    fit = choice_model._fit
    monkeypatch.setattr(
        choice_model,
        "_fit",
        lambda design, counts: tried.append(design.shape[1]) or fit(design, counts),
    )
    rng = np.random.default_rng(3)
    belief = rng.integers(0, n_levels, 60) / 4
    model = fit_choice_model(belief, np.eye(2)[rng.integers(0, 2, 60)], np.arange(60) % 3)
    assert max(tried) <= most + 1
    assert 1 <= model.degree <= most


def test_sets_of_counts_that_are_fitted_together_are_fitted_each_for_itself(counts):
    """One set is nearly separated and takes many halved steps, while the others have arrived."""
    belief, drawn = counts
    separated = np.where(belief[:, None] > 0.5, [0.0, 0.0, 30.0], [30.0, 0.0, 0.0])
    sets = np.stack([drawn, separated, drawn[::-1]])
    design = (2 * belief - 1)[:, None] ** np.arange(3)
    together = choice_model._fit(design, sets)
    for alone, fitted in zip(sets, together, strict=True):
        (expected,) = choice_model._fit(design, alone[None])
        np.testing.assert_allclose(fitted, expected, rtol=1e-9, atol=1e-9)
