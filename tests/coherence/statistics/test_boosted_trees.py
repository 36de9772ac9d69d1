"""Boosted trees out of fold: break if merged rows give another model than all rows, if constants
are chosen by the contexts that they are judged on, or if trees grow twice."""

import math

import numpy as np
import pytest

from coherence.statistics import boosted_trees
from coherence.statistics.boosted_trees import (
    DEPTHS,
    PATIENCE,
    FoldTrees,
    TreeCrossFit,
    chosen_constants,
    stop,
)
from coherence.statistics.cells import cells_of
from coherence.statistics.choices import as_choices
from coherence.statistics.learners import designs
from coherence.statistics.oblivious_trees import Columns, ObliviousTrees


def choices(n_contexts=80, n_actions=3, n_reps=5, policies=False):
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(n_contexts), n_reps)
    belief = (rng.integers(0, 60, n_contexts) / 60)[context]
    truth = (rng.random(n_contexts) < 0.5).astype(int)[context]
    chance = np.exp(
        rng.normal(size=(context.size, n_actions)) + belief[:, None] * np.arange(3)[:n_actions]
    )
    chance /= chance.sum(axis=1, keepdims=True)
    if policies:
        return as_choices(belief, chance, truth, context)
    action = (rng.random(context.size)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return as_choices(belief, action, truth, context)


def words_of(data, seed=4):
    """Words of two and of three levels, the same in every row of a context."""
    rng = np.random.default_rng(seed)
    levels = rng.choice(["no", "yes", "(not shown)"], (data.n_contexts, 3))
    levels[:, 0] = rng.choice(["no", "yes"], data.n_contexts)
    return np.empty((data.n_rows, 0)), levels[data.context].astype(object)


def predicted_by_rows(cells, data, rows, depth, iterations):
    """Chances of all rows by trees fitted to some, each row by itself and nothing merged."""
    n_actions = len(data.actions)
    weights = (np.eye(n_actions)[data.action] * rows[:, None]).T[:, None]
    trees = ObliviousTrees(Columns(cells.codes[cells.of_row][None], cells.spelled), weights, depth)
    for _ in range(iterations):
        trees.grow()
    return np.exp(trees.log_chances[:, 0]).T


@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("evidence", [False, True])
def test_losses_are_those_of_trees_that_saw_no_row_of_the_fold(
    n_actions, depth, evidence, monkeypatch
):
    """Fitted again by hand to the rows of the other folds, none of them merged."""
    data = choices(40, n_actions=n_actions)
    design = designs(data, words_of(data) if evidence else None)[1]

    def constants(fits, *_):
        fits.path(depth, 12)
        return [(depth, 7)] * fits.n_folds

    monkeypatch.setattr(boosted_trees, "chosen_constants", constants)
    fit = TreeCrossFit(design, data)
    assert len(fit.cells.codes) < data.n_rows * (0.7 if evidence else 0.5)
    losses = fit.losses(5, 3)
    folds = boosted_trees.context_folds(data.context, 40, 5, np.random.default_rng(3))
    for fold in range(5):
        train, test = folds != fold, folds == fold
        chances = predicted_by_rows(cells_of(design), data, train, depth, 7)[test]
        n = int(train.sum())
        mixed = (n * chances + 1) / (n + n_actions)
        wanted = -np.log(mixed[np.arange(test.sum()), data.action[test]])
        np.testing.assert_allclose(losses[test], wanted, atol=1e-10)


def test_the_path_is_the_loss_on_the_folds_left_out():
    data = choices(40)
    cells = cells_of(designs(data, None)[1])
    folds = boosted_trees.context_folds(data.context, 40, 3, np.random.default_rng(0))
    weights = np.zeros((3, 3, len(cells.codes)))
    np.add.at(weights, (data.action, folds, cells.of_row), 1.0)
    path = FoldTrees(Columns(cells.codes[None], cells.spelled), weights).path(4, 20)
    for fold in range(3):
        for iterations in (1, 20):
            chances = predicted_by_rows(cells, data, folds != fold, 4, iterations)
            losses = -np.log(chances[np.arange(data.n_rows), data.action])[folds == fold]
            np.testing.assert_allclose(path[fold, iterations - 1], losses.sum())


@pytest.mark.parametrize("side_by_side", [1, 1 << 21])
def test_folds_may_be_grown_side_by_side_or_one_by_one(side_by_side, monkeypatch):
    data = choices(40)
    monkeypatch.setattr(boosted_trees, "SIDE_BY_SIDE", side_by_side)
    losses = TreeCrossFit(designs(data, None)[1], data).losses(5, 0)
    monkeypatch.undo()
    wanted = TreeCrossFit(designs(data, None)[1], data).losses(5, 0)
    np.testing.assert_allclose(losses, wanted, atol=1e-12)


def test_policies_of_zero_and_one_are_learnt_as_choices_are():
    data = choices(30)
    greedy = as_choices(data.belief, np.eye(3)[data.action], data.truth, data.context)
    losses = []
    for kind in (data, greedy):
        fit = TreeCrossFit(designs(kind, None)[1], kind)
        losses.append(fit.losses(4, 0))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


class Paths:
    """Folds whose losses are given for each depth."""

    def __init__(self, *folds):
        self.folds, self.n_folds, self.asked = folds, len(folds), []

    def path(self, depth, iterations):
        self.asked.append((depth, iterations))
        known = np.array([fold[depth] for fold in self.folds], dtype=float)
        rising = np.repeat(known[:, -1:] + 1, max(0, iterations - known.shape[1]), axis=1)
        return np.hstack([known, rising])[:, :iterations]


def test_constants_are_those_that_lose_least_on_the_other_folds():
    """The first fold itself would be best served by depth 4 and one iteration: it has no say."""
    folds = Paths(
        {1: [50, 50, 50], 4: [0, 90, 90]},
        {1: [9, 3, 8], 4: [9, 8, 7]},
        {1: [9, 4, 8], 4: [9, 8, 7]},
    )
    assert chosen_constants(folds, 100, DEPTHS, {}) == [(1, 2), (4, 1), (4, 1)]
    # Ties go to the smaller trees and the fewer of them.
    same = Paths(*[{1: [5, 5], 4: [5, 5]}] * 2)
    assert chosen_constants(same, 100, DEPTHS, {}) == [(1, 1), (1, 1)]
    assert chosen_constants(folds, 100, (4,), {}) == [(4, 3), (4, 1), (4, 1)]


def test_later_repetitions_keep_the_depth_of_most_folds(monkeypatch):
    data, asked = choices(20), []

    def constants(fits, limit, depths, grown):
        asked.append(depths)
        for depth in DEPTHS:
            fits.path(depth, 2)
        return [(4, 2), (1, 2), (4, 2), (4, 1), (1, 1)]

    monkeypatch.setattr(boosted_trees, "chosen_constants", constants)
    trees = TreeCrossFit(designs(data, None)[1], data)
    for repetition in range(2):
        trees.losses(5, repetition)
    assert asked == [(1, 4), (4,)]


def test_trees_grow_until_the_losses_stop_falling_or_the_limit():
    falling = np.arange(5000, 0, -1.0)
    folds = Paths(*[{1: falling, 4: falling[-100:]}] * 2)
    grown = {}
    assert chosen_constants(folds, 1000, DEPTHS, grown) == [(4, 100)] * 2
    asked = [n for depth, n in folds.asked if depth == 1]
    assert asked == [32, 48, 72, 108, 162, 243, 364, 546, 819, 1000]
    # The next repetition begins where this one has ended, and finds the same.
    assert grown[4] == 100 + 2 * PATIENCE
    folds.asked.clear()
    assert chosen_constants(folds, 1000, DEPTHS, grown) == [(4, 100)] * 2
    assert folds.asked == [(1, 1000), (4, 120)]


def test_trees_that_grow_on_are_those_of_one_long_fit(monkeypatch):
    """To the last bit, and without growing anything twice."""
    data, grown, known = choices(40), [], ObliviousTrees.grow
    cells = cells_of(designs(data, words_of(data))[1])
    weights = np.zeros((3, 2, len(cells.codes)))
    np.add.at(weights, (data.action, data.context % 2, cells.of_row), 1.0)

    def grow(self):
        grown.append(self)
        known(self)

    monkeypatch.setattr(ObliviousTrees, "grow", grow)
    at_once, by_steps = (
        FoldTrees(Columns(cells.codes[None], cells.spelled), weights) for _ in range(2)
    )
    wanted = at_once.path(4, 90)
    grown.clear()
    for iterations in (20, 50, 50, 30, 90):
        np.testing.assert_array_equal(by_steps.path(4, iterations), wanted[:, :iterations])
    assert len(grown) == 90
    for iterations in (7, 33, 90):
        np.testing.assert_array_equal(
            by_steps.predicted([(4, iterations)] * 2), at_once.predicted([(4, iterations)] * 2)
        )


def test_large_categories_are_seen_by_what_other_contexts_chose(monkeypatch):
    """The columns of a fold do not change with what it, or a context itself, chose."""
    rng = np.random.default_rng(0)
    word, action = rng.integers(0, 300, 600), rng.integers(0, 2, 600)
    words = np.array([f"w{k}" for k in word], dtype=object)[:, None]
    truth, belief = rng.integers(0, 2, 600), rng.random(600)
    folds = np.arange(600) % 5

    def columns(action):
        data = as_choices(belief, action, truth, None)
        fit = TreeCrossFit(designs(data, (np.empty((600, 0)), words))[0], data)
        return fit._columns(folds, 0)

    plain = columns(action)
    assert plain.codes.shape == (5, 600, 2)
    assert plain.spelled.tolist() == [False, False]
    turned = columns(np.where(folds == 2, 1 - action, action))
    np.testing.assert_array_equal(plain.codes[2], turned.codes[2])
    assert not np.array_equal(plain.codes[0], turned.codes[0])


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ([3.0, 2.0, 2.5, 1.0], (1.0, 4)),  # it may rise for a while
        ([3.0, 2.0, *[2.5] * (PATIENCE - 1), 1.0], (1.0, PATIENCE + 2)),
        ([3.0, 2.0, *[2.5] * PATIENCE, 1.0], (2.0, 2)),  # but not for that long
        ([1.0, 1.0, 1.0], (1.0, 1)),
        ([5.0], (5.0, 1)),
        ([5.0, *(5 - 6e-5 * np.arange(1, 10)), 3.0], (3.0, 11)),  # it falls, in ten steps
        ([5.0, *(5 - 4e-5 * np.arange(1, 13)), 3.0], (5.0, 1)),  # not enough to go on
        ([5e6, *(5e6 - 0.012 * np.arange(1, 10)), 3.0], (3.0, 11)),  # a tenth of a nat is
    ],
)
def test_the_search_stops_where_a_loss_has_not_fallen_for_a_while(path, found):
    assert stop(np.array(path)) == found


def test_nothing_is_fitted_where_there_is_nothing_to_learn(monkeypatch):
    """One belief throughout: the shares of the training rows, without a tree."""
    monkeypatch.setattr(boosted_trees, "ObliviousTrees", None)
    context = np.arange(40) // 2
    action = np.arange(40) % 4 // 3
    data = as_choices(np.full(40, 0.5), action, context % 2, context)
    losses = TreeCrossFit(designs(data, None)[0], data).losses(4, 0)
    folds = boosted_trees.context_folds(data.context, 20, 4, np.random.default_rng(0))
    share = action[folds != 0].mean()
    wanted = -math.log((30 * share + 1) / 32)
    np.testing.assert_allclose(losses[(folds == 0) & (action == 1)], wanted)


def test_an_action_that_only_the_judged_fold_holds_costs_a_finite_loss():
    rng = np.random.default_rng(0)
    action = rng.integers(0, 2, 60)
    action[7] = 2
    data = as_choices(rng.random(60), action, rng.integers(0, 2, 60), None)
    losses = TreeCrossFit(designs(data, None)[1], data).losses(5, 0)
    assert losses[7] == pytest.approx(math.log(48 + 3))


def test_categories_too_large_to_be_spelled_out_are_learnt():
    rng = np.random.default_rng(0)
    word = rng.integers(0, 300, 900)
    action = np.where(rng.random(900) < 0.9, word % 2, 1 - word % 2)
    data = as_choices(rng.random(900), action, rng.integers(0, 2, 900), None)
    words = np.array([f"w{k}" for k in word], dtype=object)[:, None]
    seen = designs(data, (np.empty((900, 0)), words))[0]
    assert TreeCrossFit(seen, data).losses(5, 0).mean() < 0.62  # log 2 without the word
