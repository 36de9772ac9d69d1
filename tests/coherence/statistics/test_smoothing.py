"""Smooth regressions: their bases, the size that cross-validation picks, jumps, and many values."""

import math

import numpy as np
import pytest
from scipy.interpolate import make_lsq_spline

from coherence.statistics import smoothing
from coherence.statistics.smoothing import CONTEXTS_PER_COEFFICIENT, SIZES, regress, spline_basis


def fit(values, column, n_folds=5, n_contexts=None):
    """Regress one column, a row per value, every row a context of its own."""
    values = np.asarray(values)
    distinct, value_of = np.unique(values, axis=0, return_inverse=True)
    columns = np.asarray(column, dtype=float).reshape(len(values), -1)
    folds = np.arange(len(values)) % n_folds
    return regress(distinct, value_of.ravel(), columns, folds, n_contexts or len(values))


@pytest.mark.parametrize("size", SIZES)
def test_bases_sum_to_one_and_hold_polynomials(size):
    values = np.sort(np.random.default_rng(0).random(60)) ** 2
    basis = spline_basis(values, size)
    assert basis.shape == (60, size)
    np.testing.assert_allclose(basis.sum(axis=1), 1)
    assert basis[0, 0] == pytest.approx(1)
    assert basis[-1, -1] == pytest.approx(1)
    power = values ** min(3, size - 1)
    coefficients = np.linalg.lstsq(basis, power, rcond=None)[0]
    np.testing.assert_allclose(basis @ coefficients, power, atol=1e-10)


@pytest.mark.parametrize("size", [5, 6, 8, 11])
def test_knots_lie_at_quantiles_of_the_distinct_values(size):
    """Against scipy's least-squares spline with these knots; repeated values must not move them."""
    rng = np.random.default_rng(1)
    distinct = np.sort(rng.random(50)) ** 3
    response = rng.normal(size=50)
    inner = np.quantile(distinct, np.arange(1, size - 3) / (size - 3))
    knots = np.r_[[distinct[0]] * 4, inner, [distinct[-1]] * 4]
    expected = make_lsq_spline(distinct, response, knots)(distinct)
    basis = spline_basis(np.sort(np.r_[distinct, distinct[:20]]), size)
    rows = np.searchsorted(np.sort(np.r_[distinct, distinct[:20]]), distinct)
    basis = basis[rows]
    fitted = basis @ np.linalg.lstsq(basis, response, rcond=None)[0]
    np.testing.assert_allclose(fitted, expected, atol=1e-8)


def held_out_error(values, columns, folds, basis_of):
    """Squared error of rows whose fold was left out, in units of the columns' variances."""
    error = 0.0
    basis = basis_of(values)
    for fold in np.unique(folds):
        train = folds != fold
        coefficients = np.linalg.lstsq(basis[train], columns[train], rcond=None)[0]
        residuals = columns[~train] - basis[~train] @ coefficients
        error += (residuals**2 / columns.var(axis=0)).sum()
    return error


@pytest.mark.parametrize(("waves", "n"), [(0, 150), (1, 150), (2, 300), (4, 400)])
def test_size_is_the_one_that_predicts_held_out_contexts(waves, n):
    rng = np.random.default_rng(waves)
    values = np.sort(rng.random(n))
    chances = 0.5 + 0.4 * np.sin(2 * np.pi * waves * values) + (0.3 * values if not waves else 0)
    columns = (rng.random((n, 2)) < chances[:, None]).astype(float)
    folds = rng.permutation(n) % 5
    errors = [
        held_out_error(values, columns, folds, lambda v, size=size: spline_basis(v, size))
        for size in SIZES
    ]
    result = regress(values, np.arange(n), columns, folds, n)
    best = SIZES[int(np.argmin(errors))]
    assert (result.n_coefficients, result.jump, result.products) == (best, None, False)
    basis = spline_basis(values, best)
    expected = basis @ np.linalg.lstsq(basis, columns, rcond=None)[0]
    np.testing.assert_allclose(result.fitted, expected, atol=1e-5)


def test_columns_count_in_units_of_their_variance():
    """A column on a scale a thousand times larger must not decide for the other."""
    rng = np.random.default_rng(5)
    values = np.sort(rng.random(200))
    wave = np.sin(9 * values) + rng.normal(size=200) / 5
    noise = rng.normal(size=200)
    sizes = {
        fit(values, np.stack([wave, scale * noise], axis=1)).n_coefficients
        for scale in (1e-3, 1.0, 1e3)
    }
    assert len(sizes) == 1
    assert sizes.pop() > 2


def test_few_beliefs_have_a_mean_each():
    rng = np.random.default_rng(2)
    values = np.repeat([0.1, 0.5, 0.9], 40)
    column = np.repeat([0.2, 0.9, 0.1], 40) + rng.normal(size=120) / 10
    result = fit(values, column)
    means = column.reshape(3, 40).mean(axis=1)
    np.testing.assert_allclose(result.fitted[:, 0], np.repeat(means, 40), atol=1e-6)
    assert result.n_coefficients == 3


def test_one_belief_has_the_mean():
    column = np.arange(12.0)
    result = fit(np.full(12, 0.3), column)
    np.testing.assert_allclose(result.fitted[:, 0], 5.5, atol=1e-6)
    assert result.n_coefficients == 1


@pytest.mark.parametrize("n_contexts", [8, 31, 32, 39, 40, 63, 64, 87, 88])
def test_few_contexts_carry_few_coefficients(n_contexts):
    """At most one coefficient per eight contexts, however many rows they hold; two at least."""
    rng = np.random.default_rng(3)
    values = np.sort(rng.random(200))
    columns = (np.exp(-(((values - 0.5) / 0.08) ** 2)) + rng.normal(size=200) / 20)[:, None]
    folds = rng.permutation(200) % 5
    sizes = [size for size in SIZES if size <= max(2, n_contexts // CONTEXTS_PER_COEFFICIENT)]
    errors = [
        held_out_error(values, columns, folds, lambda v, size=size: spline_basis(v, size))
        for size in sizes
    ]
    result = regress(values, np.arange(200), columns, folds, n_contexts)
    if result.jump is None:
        assert result.n_coefficients == sizes[int(np.argmin(errors))]
    assert result.n_coefficients <= sizes[-1]


def best_step(values, columns):
    """First value above the cut that leaves the least squared error around two means."""
    lowest, above = math.inf, None
    for cut in range(1, len(values)):
        share = cut / len(values)
        if 0.05 <= share <= 0.95:
            halves = np.split(columns, [cut])
            error = sum(
                (((half - half.mean(axis=0)) ** 2) / columns.var(axis=0)).sum() for half in halves
            )
            if error < lowest:
                lowest, above = error, cut
    return above


def stepped(values, size, edge):
    return np.column_stack([spline_basis(values, size), values >= edge])


def choice_with_jumps(values, columns, folds):
    """Size and jump as the module's docstring says, row by row."""
    smooth = [
        held_out_error(values, columns, folds, lambda v, size=size: spline_basis(v, size))
        for size in SIZES
    ]
    best, jump = SIZES[int(np.argmin(smooth))], None
    lowest = 0.98 * min(smooth)
    for size in (2, 4, 6):
        error = 0.0
        for fold in np.unique(folds):
            train = folds != fold
            cut = best_step(values[train], columns[train])
            edge = values[train][cut - 1 : cut + 1].mean()
            basis = stepped(values, size, edge)
            coefficients = np.linalg.lstsq(basis[train], columns[train], rcond=None)[0]
            residuals = columns[~train] - basis[~train] @ coefficients
            error += (residuals**2 / columns.var(axis=0)).sum()
        if error < lowest:
            lowest, best, jump = error, size, values[best_step(values, columns)]
    basis = spline_basis(values, best) if jump is None else stepped(values, best, jump)
    return best, jump, basis @ np.linalg.lstsq(basis, columns, rcond=None)[0]


@pytest.mark.parametrize(
    ("low", "high", "edge"),
    [
        (0.05, 0.95, 0.37),
        (0.1, 0.9, 0.5),
        (0.2, 0.8, 0.7),
        (0.25, 0.75, 0.4),
        (0.3, 0.7, 0.2),
        (0.35, 0.65, 0.6),
        (0.4, 0.6, 0.5),
        (0.1, 0.5, 0.06),
    ],
)
def test_a_jump_is_kept_where_it_predicts_by_two_in_a_hundred(low, high, edge):
    """Against the same choice made row by row; the larger steps are kept, the smaller are not."""
    rng = np.random.default_rng(4)
    values = np.sort(rng.random(300))
    chance = np.where(values > edge, high, low)[:, None]
    columns = (rng.random((300, 2)) < chance).astype(float)
    folds = rng.permutation(300) % 5
    size, jump, fitted = choice_with_jumps(values, columns, folds)
    result = regress(values, np.arange(300), columns, folds, 300)
    assert (result.n_coefficients, result.jump) == (size, jump)
    np.testing.assert_allclose(result.fitted, fitted, atol=1e-4)
    if high - low > 0.7:
        assert jump is not None
    if high - low < 0.3:
        assert jump is None


def test_a_jump_near_an_end_is_left_alone():
    """One row in twenty must lie on either side: of a hundred, four are no plateau, five are."""
    values = np.arange(100) / 100
    assert fit(values, values > 0.945).jump == 0.95
    assert fit(values, values > 0.955).jump != 0.96
    assert fit(values, values > 0.045).jump == 0.05
    assert fit(values, values > 0.035).jump != 0.04


def test_few_contexts_have_no_jump():
    values = np.arange(20) / 20
    assert fit(values, values > 0.5, n_contexts=23).jump is None
    assert fit(values, values > 0.5, n_contexts=24).jump == 0.55


def plane(n, seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet([1, 1, 1], n)[:, :2], rng.normal(size=n) / 20


def additive(values, size, products):
    parts = [np.ones((len(values), 1))]
    parts += [spline_basis(column, size)[:, 1:] for column in values.T]
    if products:
        parts.append(np.prod(values - values.mean(axis=0), axis=1)[:, None])
    return np.hstack(parts)


@pytest.mark.parametrize("product", [0.0, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("n_contexts", [40, 64, 300])
def test_several_beliefs_have_splines_and_products_where_they_predict(product, n_contexts):
    values, noise = plane(300, 8)
    order = np.lexsort(values.T[::-1])
    values = values[order]
    columns = values @ [0.4, -0.7] + product * np.prod(values, axis=1) + noise
    columns = (columns + np.sin(6 * values[:, 0]) * product / 4)[:, None]
    folds = np.arange(300) % 5
    most = n_contexts // CONTEXTS_PER_COEFFICIENT
    tried = [(2, False)] + [
        (size, products)
        for size in SIZES
        for products in (False, True)
        if (size, products) != (2, False) and 1 + 2 * (size - 1) + products <= most
    ]
    errors = [
        held_out_error(values, columns, folds, lambda v, choice=choice: additive(v, *choice))
        for choice in tried
    ]
    best = tried[int(np.argmin(errors))]
    result = regress(values, np.arange(300), columns, folds, n_contexts)
    assert (result.n_coefficients, result.products, result.jump) == (*best, None)
    basis = additive(values, *best)
    expected = basis @ np.linalg.lstsq(basis, columns, rcond=None)[0]
    np.testing.assert_allclose(result.fitted, expected, atol=1e-4)


def test_a_curve_in_one_of_several_beliefs_is_followed():
    values, noise = plane(400, 9)
    truth = np.sin(7 * values[:, 0]) + values[:, 1]
    result = fit(values, truth + noise)
    assert result.n_coefficients >= 4
    assert np.abs(result.fitted[:, 0] - truth).mean() < 0.03


def test_beliefs_that_do_not_vary_add_nothing():
    values, noise = plane(200, 10)
    values[:, 1] = 0.25
    result = fit(values, values[:, 0] + noise)
    design = np.column_stack([np.ones(200), values[:, 0]])
    expected = design @ np.linalg.lstsq(design, values[:, 0] + noise, rcond=None)[0]
    assert not result.products
    np.testing.assert_allclose(result.fitted[:, 0], expected, atol=1e-5)


def test_few_points_over_several_states_have_a_mean_each():
    """Four corners of a square, and a response that neither lines nor their product follow."""
    corners = np.array([[0.1, 0.1], [0.1, 0.4], [0.4, 0.1], [0.3, 0.3], [0.2, 0.2]])
    means = np.array([0.0, 1.0, 0.2, 0.9, 0.1])
    values, column = np.repeat(corners, 30, axis=0), np.repeat(means, 30)
    column = column + np.random.default_rng(11).normal(size=150) / 50
    result = fit(values, column)
    np.testing.assert_allclose(
        result.fitted[:, 0], np.repeat(column.reshape(5, 30).mean(axis=1), 30), atol=1e-5
    )
    assert result.n_coefficients == 5


def test_few_contexts_over_several_states_still_have_a_line_each():
    values, noise = plane(12, 12)
    result = fit(values, np.sin(9 * values[:, 0]) + noise)
    assert (result.n_coefficients, result.products) == (2, False)


@pytest.mark.parametrize("step", [0.0, 0.7])
def test_many_values_are_merged_before_the_choice_and_fitted_apart(step, monkeypatch):
    rng = np.random.default_rng(13)
    values = np.sort(rng.random(2000))
    chance = 0.15 + step * (values > 0.6)
    column = (rng.random(2000) < chance + 0.1 * np.sin(5 * values)).astype(float)
    whole = fit(values, column)
    monkeypatch.setattr(smoothing, "MANY_VALUES", 500)
    merged = fit(values, column)
    assert merged.n_coefficients == whole.n_coefficients
    assert np.unique(merged.fitted).size > 600
    far = np.abs(values - 0.6) > 0.01
    np.testing.assert_allclose(merged.fitted[far], whole.fitted[far], atol=0.01)
    if step:
        assert merged.jump == pytest.approx(0.6, abs=0.01)
        assert np.diff(merged.fitted[:, 0]).max() > 0.5
    else:
        assert merged.jump is None


def test_merged_values_are_means_of_their_rows(monkeypatch):
    monkeypatch.setattr(smoothing, "MANY_VALUES", 2)
    values, weight = np.array([0.1, 0.2, 0.3, 0.4, 0.9]), np.array([[1.0, 2, 3, 4, 5]])
    centres, rows, sums = smoothing._merged(values, weight, weight[:, :, None] * 10)
    np.testing.assert_allclose(centres, [0.15, 1.6 / 3])
    assert rows.tolist() == [[3, 12]]
    assert sums[..., 0].tolist() == [[30, 120]]
