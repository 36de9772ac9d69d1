"""Oblivious trees: break if they are not CatBoost's, if fits that grow side by side touch each
other, or if the order in which rows are summed decides a tree."""

import numpy as np
import pytest
from catboost import CatBoostClassifier, FeaturesData, Pool

from coherence.statistics import oblivious_trees
from coherence.statistics.oblivious_trees import PENALTY, Columns, ObliviousTrees


def cells(rng, n_bins=(9, 20), n_levels=(3, 2), n_rows=300, n_actions=3, noise=1.0):
    """Merged rows whose actions depend on all columns, and their weights of two fits."""
    columns = np.column_stack([rng.integers(0, size, n_rows) for size in (*n_bins, *n_levels)])
    effect = rng.normal(size=(columns.shape[1], n_actions))
    margins = ((columns - columns.mean(axis=0)) / columns.std(axis=0)) @ effect
    action = (margins + noise * rng.gumbel(size=margins.shape)).argmax(axis=1)
    seen, cell = np.unique(columns, axis=0, return_inverse=True)
    weights = np.zeros((n_actions, 2, len(seen)))
    np.add.at(weights, (action, np.arange(n_rows) % 3 // 2, cell.ravel()), 1.0)
    spelled = np.arange(columns.shape[1]) >= len(n_bins)
    return Columns(seen[None], spelled), weights


def catboost_chances(columns, weights, depth, iterations):
    """Chances of a CatBoost model of one fit, shape (n_actions, n_cells)."""
    codes = columns.codes[0]
    names = np.array([str(code).encode() for code in range(codes.max() + 1)], dtype=object)

    def pool(rows, action=None, weight=None):
        numbers = codes[rows][:, ~columns.spelled].astype(np.float32)
        words = names[codes[rows][:, columns.spelled]]
        seen = FeaturesData(numbers, words if words.shape[1] else None)
        return Pool(seen, action, weight=weight)

    action, cell = np.nonzero(weights)
    weight = weights[action, cell]
    model = CatBoostClassifier(
        loss_function="MultiClass" if len(weights) > 2 else "Logloss",
        depth=depth,
        iterations=iterations,
        learning_rate=oblivious_trees.LEARNING_RATE,
        # CatBoost scales the penalty by the mean weight, which merging rows has made larger.
        l2_leaf_reg=PENALTY * cell.size / weight.sum(),
        one_hot_max_size=255,
        bootstrap_type="No",
        random_strength=0,
        leaf_estimation_iterations=1,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
    )
    model.fit(pool(cell, action, weight))
    return model.predict_proba(pool(np.arange(len(codes)))).T


def grown(columns, weights, depth, iterations):
    trees = ObliviousTrees(columns, weights, depth)
    for _ in range(iterations):
        trees.grow()
    return trees


@pytest.mark.parametrize("n_actions", [2, 3, 5])
@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("kind", ["rows", "policies", "settled", "numbers", "few"])
def test_trees_are_those_of_catboost(n_actions, depth, kind):
    """To the rounding of its fast exponentials, in cells without a training row as well."""
    rng = np.random.default_rng([n_actions, depth])
    shape = {"numbers": {"n_levels": ()}, "few": {"n_bins": (3,), "n_levels": (2,)}}.get(kind, {})
    columns, weights = cells(
        rng, n_actions=n_actions, noise=0.0 if kind == "settled" else 1.0, **shape
    )
    if kind == "policies":
        policy = rng.dirichlet(np.ones(n_actions), weights.shape[-1]).T
        weights = policy[:, None] * weights.sum(axis=0)
    trees = grown(columns, weights, depth, 50)
    for fit in range(2):
        wanted = catboost_chances(columns, weights[:, fit], depth, 50)
        np.testing.assert_allclose(np.exp(trees.log_chances[:, fit]), wanted, atol=1e-6)
    # Where the two fits learn from different rows they are different models.
    assert np.abs(trees.log_chances[:, 0] - trees.log_chances[:, 1]).max() > 0.01


def test_fits_side_by_side_are_those_by_themselves():
    columns, weights = cells(np.random.default_rng(0))
    together = grown(columns, weights, 4, 20)
    for fit in range(2):
        alone = grown(columns, weights[:, [fit]], 4, 20)
        np.testing.assert_allclose(
            together.log_chances[:, fit], alone.log_chances[:, 0], atol=1e-12
        )


def test_each_fit_may_see_columns_of_its_own():
    rng = np.random.default_rng(1)
    columns, weights = cells(rng)
    other = rng.permuted(columns.codes[0], axis=0)
    both = Columns(np.stack([columns.codes[0], other]), columns.spelled)
    together = grown(both, weights, 4, 10)
    for fit in range(2):
        own = Columns(both.codes[[fit]], columns.spelled)
        alone = grown(own, weights[:, [fit]], 4, 10)
        np.testing.assert_allclose(
            together.log_chances[:, fit], alone.log_chances[:, 0], atol=1e-12
        )


def test_columns_may_be_counted_one_by_one(monkeypatch):
    columns, weights = cells(np.random.default_rng(2))
    wanted = grown(columns, weights, 4, 20)
    assert len(wanted._blocks) == 1
    monkeypatch.setattr(oblivious_trees, "BLOCK", 1)
    found = grown(columns, weights, 4, 20)
    assert len(found._blocks) == 4
    np.testing.assert_allclose(found.log_chances, wanted.log_chances, atol=1e-12)


def test_first_trees_predict_as_they_did_when_they_were_the_last():
    columns, weights = cells(np.random.default_rng(3))
    trees, after = ObliviousTrees(columns, weights, 4), []
    for _ in range(12):
        trees.grow()
        after.append(np.exp(trees.log_chances))
    np.testing.assert_allclose(trees.predicted(np.array([12, 12])), after[-1], atol=1e-12)
    found = trees.predicted(np.array([5, 0]))
    np.testing.assert_allclose(found[:, 0], after[4][:, 0], atol=1e-12)
    np.testing.assert_allclose(found[:, 1], 1 / 3)


def test_questions_with_equal_answers_are_a_tie_that_the_order_of_cells_does_not_break():
    """Two columns part the training rows alike and differ in a cell that only predicts."""
    rng = np.random.default_rng(4)
    codes = np.array([[0, 0], [1, 1], [2, 2], [2, 0], [3, 3]])
    for _ in range(30):
        weights = rng.random((2, 1, 5))
        weights[:, :, 3] = 0
        wanted = grown(Columns(codes[None], np.zeros(2, bool)), weights, 4, 8).log_chances
        # The first column is asked, by which the fourth cell is like the third.
        np.testing.assert_allclose(wanted[..., 3], wanted[..., 2])
        order = rng.permutation(5)
        other = grown(Columns(codes[order][None], np.zeros(2, bool)), weights[..., order], 4, 8)
        np.testing.assert_allclose(other.log_chances, wanted[..., order], atol=1e-12)


def test_a_border_lies_halfway_between_bins_that_hold_training_rows():
    codes = np.array([0, 1, 2, 3, 4])
    weights = np.zeros((2, 1, 5))
    weights[0, 0, 0] = weights[1, 0, 4] = 10
    (log_chances,) = grown(
        Columns(codes[None, :, None], np.zeros(1, bool)), weights, 1, 3
    ).log_chances[1]
    np.testing.assert_allclose(log_chances[[1, 2]], log_chances[0])
    np.testing.assert_allclose(log_chances[3], log_chances[4])


def test_a_level_that_parts_no_rows_ends_the_tree():
    """Two cells take one question; a fit beside it that can ask more goes on."""
    codes = np.array([[0, 0], [1, 0], [2, 0], [2, 1]])
    weights = np.array([[[3.0, 1, 0, 0], [3, 1, 2, 1]], [[1.0, 5, 0, 0], [1, 5, 1, 4]]])
    trees = grown(Columns(codes[None], np.zeros(2, bool)), weights, 4, 1)
    (questions,) = trees._questions_asked
    assert (questions[0] >= 0).sum() == 1
    assert (questions[1] >= 0).sum() == 3
