"""Regression trees: those of scikit-learn where no two splits tie, and what holds where they do."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeRegressor

from coherence.statistics import regression_trees
from coherence.statistics.regression_trees import held_out_predictions


def predictions(features, target, parts, seed=0):
    features = np.asarray(features, dtype=np.float32)
    return held_out_predictions(features, target, parts, np.random.default_rng(seed))


def scikit_learns(features, target, parts, seed=0):
    features = np.asarray(features, dtype=np.float32)
    predicted = np.empty(parts.shape)
    for of_round, part in zip(predicted, parts, strict=True):
        for code in np.unique(part):
            tree = DecisionTreeRegressor(random_state=seed)
            tree.fit(features[part != code], target[part != code])
            of_round[part == code] = tree.predict(features[part == code])
    return predicted


def thirds(n, n_rounds, rng):
    return np.stack([rng.permutation(np.arange(n) % 3) for _ in range(n_rounds)])


def fitted(features, target, seed=0):
    """Predict the rows that trees are grown on: each has its like in the other part."""
    doubled = np.repeat(np.asarray(features), 2, axis=0)
    parts = np.tile([0, 1], len(target))[None]
    return predictions(doubled, np.repeat(target, 2), parts, seed)[0]


def box(rng, n_features):
    """All combinations of two or three values each, and a target: no two of its splits tie."""
    sizes = rng.integers(2, 4, size=n_features)
    cells = np.array(list(itertools.product(*map(range, sizes))), dtype=float)
    return cells, rng.random(len(cells))


@pytest.mark.parametrize("decimals", [1, 7])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_feature_is_split_as_scikit_learn_splits_it(decimals, missing):
    """Thresholds, means of like rows, and the side of missing values, by training and without."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(10, 150))
        feature = rng.normal(size=(n, 1)).round(decimals)
        feature[rng.random(n) < missing] = np.nan
        target, parts = rng.random(n), thirds(n, 2, rng)
        expected = scikit_learns(feature, target, parts)
        np.testing.assert_allclose(predictions(feature, target, parts), expected, atol=1e-10)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_several_features_are_split_as_scikit_learn_splits_them(noise):
    """A box that is cut is a box again, so that features tie nowhere."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        cells, target = box(rng, 4)
        if seed % 2:  # a missing value is a value like the others
            cells[cells[:, 0] == 1, 0] = np.nan
            cells[cells[:, 2] == 0, 2] = np.nan
        features = np.repeat(cells, 3, axis=0)
        target = np.repeat(target, 3) + noise * rng.random(3 * len(cells))
        parts = np.tile(np.arange(3), len(cells))[None]
        expected = scikit_learns(features, target, parts, seed)
        np.testing.assert_allclose(predictions(features, target, parts), expected, atol=1e-10)


def candidates(features, target):
    """Gain, column, threshold, and whether missing values go left, of every split of a node."""
    for column, values in enumerate(features.T):
        absent, by_side = np.isnan(values), {}
        cuts = np.unique(values[~absent])
        for missing_left in (False, True)[: 1 + absent.any()]:
            thresholds = [*(cuts[1:] / 2 + cuts[:-1] / 2)]
            thresholds += [np.inf] if absent.any() and cuts.size and not missing_left else []
            for threshold in thresholds:
                left = goes_left(values, threshold, missing_left)
                spread = sum(part.var() * part.size for part in (target[left], target[~left]))
                gain = target.var() * target.size - spread
                by_side.setdefault(missing_left, []).append((gain, column, threshold, missing_left))
        right, left = by_side.get(False, []), by_side.get(True, [])
        if absent.any():
            better = left and max(left)[0] > max(right)[0] * (1 + 1e-7)
            yield from left if better else right
        else:
            # Without missing values those of prediction go with most rows.
            for gain, _, threshold, _ in right:
                n_left = (values <= threshold).sum()
                yield gain, column, threshold, n_left > len(values) - n_left


def goes_left(values, threshold, missing_left):
    return np.where(np.isnan(values), missing_left, values <= threshold)


def attainable(features, target, row):
    """Predictions of a row by all trees that take a best split at every node, rounded."""
    splits = list(candidates(features, target)) if target.var() > 1e-15 else []
    if not splits:
        return {round(float(target.mean()), 9)}
    least = max(splits)[0] * (1 - 1e-7) - 1e-12
    predicted = set()
    for gain, column, threshold, missing_left in splits:
        if gain >= least:
            left = goes_left(features[:, column], threshold, missing_left)
            side = left == goes_left(row[column], threshold, missing_left)
            predicted |= attainable(features[side], target[side], row)
    return predicted


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("decimals", [0, 7])
def test_every_best_tree_is_drawn_and_no_other(decimals, missing):
    """Breaks if a split is not the best of its node, or one of several that tie is never taken."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(10, 3)).round(decimals)
        features[rng.random((10, 3)) < missing] = np.nan
        features = features.astype(np.float32).astype(float)
        target, part = rng.random(10).round(2), np.arange(10) % 2
        drawn = predictions(features, target, np.tile(part, (600, 1)), seed)
        for position, values in enumerate(drawn.T):
            seen = part != part[position]
            expected = attainable(features[seen], target[seen], features[position])
            assert set(values.round(9).tolist()) == expected


def test_features_that_part_rows_equally_well_are_drawn_equally_often():
    """Two of three features speak for the second row; the first feature has missing values, which
    must not count it twice. Exact binomial bounds."""
    features = np.array([[0.0, 0, 0], [1, 1, 1], [0, 1, 1], [np.nan, 0, 0]])
    parts = np.tile([0, 0, 1, 1], (2000, 1))
    for seed in range(3):
        drawn = predictions(features, np.array([0.0, 1.0, 0.5, 0.5]), parts, seed)
        assert set(drawn[:, 2]) == {0.0, 1.0}
        assert binomtest(int(drawn[:, 2].sum()), 2000, 2 / 3).pvalue > 1e-4


def test_a_split_without_any_gain_is_made_where_the_next_one_gains():
    """Neither feature helps by itself: breaks if such a node is a leaf."""
    features = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    target = np.array([0.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(
        fitted(np.repeat(features, 3, axis=0), np.repeat(target, 3)), np.repeat(target, 6)
    )


@given(st.data())
def test_rows_that_differ_are_fitted_exactly_and_like_rows_by_their_mean(data):
    values = st.sampled_from([-1.0, 0.0, 0.5, 2.0, np.nan])
    n, n_features = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 3))
    row = st.lists(values, min_size=n_features, max_size=n_features)
    features = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    target = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    predicted = fitted(features, target)
    alike = np.array([[np.array_equal(a, b, equal_nan=True) for b in features] for a in features])
    # A leaf may keep differences of 1.5e-8, the root of the variance that counts as none.
    means = (alike @ target) / alike.sum(axis=1)
    np.testing.assert_allclose(predicted, np.repeat(means, 2), atol=1e-6)


def test_columns_of_one_value_or_none_change_nothing():
    rng = np.random.default_rng(0)
    feature, target, parts = rng.normal(size=(60, 1)), rng.random(60), thirds(60, 2, rng)
    idle = np.column_stack([np.full(60, np.nan), feature, np.ones(60)])
    np.testing.assert_allclose(
        predictions(idle, target, parts), predictions(feature, target, parts), atol=1e-12
    )
    means = predictions(idle[:, [0, 2]], target, parts)
    for of_round, part in zip(means, parts, strict=True):
        expected = [target[part != code].mean() for code in part]
        np.testing.assert_allclose(of_round, expected, atol=1e-12)


def test_values_within_a_rounding_of_each_other_are_not_parted():
    feature = np.array([0.1, 0.1 + 5e-8, 0.1 + 1e-6])[:, None]
    target = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(fitted(feature, target), np.repeat([0.25, 0.25, 1.0], 2))


def test_trees_do_not_depend_on_those_grown_beside_them(monkeypatch):
    """No two splits tie: batches of one round must predict what one batch of all predicts."""
    rng = np.random.default_rng(2)
    feature, target, parts = rng.normal(size=(50, 1)), rng.random(50), thirds(50, 7, rng)
    together = predictions(feature, target, parts)
    for rows in (1, 350):
        monkeypatch.setattr(regression_trees, "BATCH_ROWS", rows)
        np.testing.assert_allclose(predictions(feature, target, parts), together, atol=1e-12)
    np.testing.assert_array_equal(
        predictions(feature, target, parts, 0), predictions(feature, target, parts, 0)
    )
