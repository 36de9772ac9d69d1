"""Boosted trees: breaks if merged rows give another model than all rows, if constants are chosen by
the contexts that they are judged on, or if published models stop."""

import math

import numpy as np
import pytest

from coherence import predictive_gain_test, simulate
from coherence.statistics import boosted_trees
from coherence.statistics.boosted_trees import (
    DEPTHS,
    PATIENCE,
    TreeCrossFit,
    _Fold,
    chosen_constants,
    stop,
)
from coherence.statistics.cells import cells_of
from coherence.statistics.choices import as_choices
from coherence.statistics.learners import designs


def columns(name, n_contexts=200, n_reps=5, seed=1):
    runs = simulate(
        name, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed
    )
    return runs, (runs["p"], runs["action"], runs["theta"])


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


def spelled_out(cells):
    """Every row as numbers, with an indicator of each level of each category."""
    columns = [cells.numbers]
    for codes in cells.categories.T:
        columns += [(codes == level)[:, None] for level in sorted(set(codes))]
    return np.hstack(columns).astype(np.float32)[cells.of_row]


def words_of(data, seed=4):
    """Words of two and of three levels, the same in every row of a context."""
    rng = np.random.default_rng(seed)
    levels = rng.choice(["no", "yes", "(not shown)"], (data.n_contexts, 3))
    levels[:, 0] = rng.choice(["no", "yes"], data.n_contexts)
    return np.empty((data.n_rows, 0)), levels[data.context].astype(object)


@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("evidence", [False, True])
def test_merged_rows_give_the_model_that_all_rows_give(n_actions, depth, evidence):
    """CatBoost fitted to 400 rows with the same borders, at its own penalty, against some 100
    weighted ones: equal but for rounding, which a penalty that is not scaled misses by far."""
    data = choices(n_actions=n_actions)
    design = designs(data, words_of(data) if evidence else None)[1]
    fit = TreeCrossFit(design, data)
    assert fit._entries[0].size < data.n_rows * (0.7 if evidence else 0.5)
    weights = np.bincount(fit._entry).astype(float)
    merged = _Fold(fit.cells, fit._entries, weights, weights, n_actions)
    path = merged.path(depth, 40)
    rows = spelled_out(fit.cells)
    of_rows = boosted_trees._classifier(
        5, n_actions, depth=depth, iterations=40, **boosted_trees.FAST_OPTIONS
    )
    of_rows.fit(rows, data.action)
    every = np.arange(len(fit.cells.numbers))
    for iterations in (1, 17, 40):
        wanted = of_rows.predict_proba(rows, ntree_end=iterations)
        predicted = merged.predicted(fit.cells, every, depth, iterations)[fit.cells.of_row]
        np.testing.assert_allclose(predicted, wanted, atol=1e-7)
        # The path is the loss of these predictions on what judges them: here, on the same rows.
        losses = -np.log(wanted[np.arange(data.n_rows), data.action])
        assert path[iterations - 1] == pytest.approx(losses.sum(), rel=1e-6)
    merged = _Fold(fit.cells, fit._entries, weights, weights, n_actions)
    merged.penalty = boosted_trees.PENALTY
    merged.path(depth, 40)
    unscaled = merged.predicted(fit.cells, every, depth, 40)[fit.cells.of_row]
    assert np.abs(unscaled - of_rows.predict_proba(rows)).max() > 0.01


def test_policies_of_zero_and_one_are_learnt_as_choices_are():
    data = choices(30)
    greedy = as_choices(data.belief, np.eye(3)[data.action], data.truth, data.context)
    losses = []
    for kind in (data, greedy):
        fit = TreeCrossFit(designs(kind, None)[1], kind)
        losses.append(fit.losses(4, 0))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


def test_losses_are_those_of_trees_that_saw_no_row_of_the_fold(monkeypatch):
    """One fold's trees, fitted again by hand to the rows of the others."""
    data = choices(40)
    design = designs(data, None)[1]
    monkeypatch.setattr(boosted_trees, "chosen_constants", lambda fits, *_: grown(fits))

    def grown(fits):
        for fit in fits:
            fit.path(4, 12)
        return [(4, 7)] * len(fits)

    losses = TreeCrossFit(design, data).losses(5, 3)
    folds = boosted_trees.context_folds(data.context, 40, 5, np.random.default_rng(3))
    cells = cells_of(design)
    rows = spelled_out(cells)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        model = boosted_trees._classifier(
            0, 3, depth=4, iterations=7, **boosted_trees.FAST_OPTIONS
        ).fit(rows[train], data.action[train])
        n = int(train.sum())
        mixed = (n * model.predict_proba(rows[test]) + 1) / (n + 3)
        wanted = -np.log(mixed[np.arange(test.sum()), data.action[test]])
        np.testing.assert_allclose(losses[test], wanted, atol=1e-6)


class Paths:
    """A fold whose losses are given for each depth."""

    def __init__(self, **paths):
        self.paths, self.asked = paths, []

    def path(self, depth, iterations):
        self.asked.append((depth, iterations))
        known = np.asarray(self.paths[f"d{depth}"], dtype=float)
        return np.concatenate([known, np.full(max(0, iterations - known.size), known[-1] + 1)])[
            :iterations
        ]


def test_constants_are_those_that_lose_least_on_the_other_folds():
    """The first fold itself would be best served by depth 4 and one iteration: it has no say."""
    folds = [
        Paths(d1=[50, 50, 50], d4=[0, 90, 90]),
        Paths(d1=[9, 3, 8], d4=[9, 8, 7]),
        Paths(d1=[9, 4, 8], d4=[9, 8, 7]),
    ]
    assert chosen_constants(folds, 100, DEPTHS, {}) == [(1, 2), (4, 1), (4, 1)]
    # Ties go to the smaller trees and the fewer of them.
    same = [Paths(d1=[5, 5], d4=[5, 5]) for _ in range(2)]
    assert chosen_constants(same, 100, DEPTHS, {}) == [(1, 1), (1, 1)]
    assert chosen_constants(folds, 100, (4,), {}) == [(4, 3), (4, 1), (4, 1)]


def test_later_repetitions_keep_the_depth_of_most_folds(monkeypatch):
    data, asked = choices(20), []

    def constants(fits, limit, depths, grown):
        asked.append(depths)
        for fit in fits:
            for depth in DEPTHS:
                fit.path(depth, 2)
        return [(4, 2), (1, 2), (4, 2), (4, 1), (1, 1)]

    monkeypatch.setattr(boosted_trees, "chosen_constants", constants)
    trees = TreeCrossFit(designs(data, None)[1], data)
    for repetition in range(2):
        trees.losses(5, repetition)
    assert asked == [(1, 4), (4,)]


def test_trees_grow_until_the_losses_stop_falling_or_the_limit():
    falling = np.arange(5000, 0, -1.0)
    folds = [Paths(d1=falling, d4=falling[-100:]) for _ in range(2)]
    grown = {}
    assert chosen_constants(folds, 1000, DEPTHS, grown) == [(4, 100)] * 2
    assert [n for depth, n in folds[0].asked if depth == 1] == [32, 64, 128, 256, 512, 1000]
    # The next repetition begins where this one has ended, and finds the same.
    assert grown[4] == 100 + 2 * PATIENCE
    folds[0].asked.clear()
    assert chosen_constants(folds, 1000, DEPTHS, grown) == [(4, 100)] * 2
    assert folds[0].asked == [(1, 1000), (4, 120)]


@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("evidence", [False, True])
def test_trees_that_grow_on_are_those_of_one_long_fit(n_actions, evidence, monkeypatch):
    """To the last bit, and without growing anything twice."""
    data, grown, known = choices(40, n_actions=n_actions), [], boosted_trees._classifier

    def classifier(*args, **options):
        grown.append(options["iterations"])
        return known(*args, **options)

    monkeypatch.setattr(boosted_trees, "_classifier", classifier)
    fit = TreeCrossFit(designs(data, words_of(data) if evidence else None)[1], data)
    weights = np.bincount(fit._entry).astype(float)
    at_once, by_steps = (
        _Fold(fit.cells, fit._entries, weights, weights, n_actions) for _ in range(2)
    )
    wanted = at_once.path(4, 90)
    for iterations in (20, 50, 50, 30, 90):
        np.testing.assert_array_equal(by_steps.path(4, iterations), wanted[:iterations])
    assert grown == [90, 20, 30, 40]
    every = np.arange(len(fit.cells.numbers))
    for iterations in (7, 33, 90):
        np.testing.assert_array_equal(
            by_steps.predicted(fit.cells, every, 4, iterations),
            at_once.predicted(fit.cells, every, 4, iterations),
        )


def test_trees_of_large_categories_grow_as_one_long_fit_would():
    rng = np.random.default_rng(0)
    word, action = rng.integers(0, 300, 600), rng.integers(0, 2, 600)
    data = as_choices(rng.random(600), action, rng.integers(0, 2, 600), None)
    words = np.array([f"w{k}" for k in word], dtype=object)[:, None]
    fit = TreeCrossFit(designs(data, (np.empty((600, 0)), words))[0], data)
    weights = np.ones(fit._entries[0].size)
    at_once, by_steps = (_Fold(fit.cells, fit._entries, weights, weights, 2) for _ in range(2))
    by_steps.path(1, 10)
    np.testing.assert_array_equal(by_steps.path(1, 30), at_once.path(1, 30))


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
    monkeypatch.setattr(boosted_trees, "_classifier", None)
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


def test_published_models_are_deep_and_never_stop_early(monkeypatch):
    """Depth 6 and 1000 iterations against depths and numbers chosen on other folds."""
    built = []

    def classifier(seed, n_actions, **options):
        built.append(options)
        return known(seed, n_actions, **(options | {"iterations": min(options["iterations"], 64)}))

    known = boosted_trees._classifier
    monkeypatch.setattr(boosted_trees, "_classifier", classifier)
    _, arrays = columns("leaky", 12, 1)
    predictive_gain_test(*arrays, published=True, n_folds=2, n_seeds=1, n_bootstraps=2, rng=0)
    assert built == [{"depth": 6, "iterations": 1000}] * 4
    built.clear()
    predictive_gain_test(*arrays, n_folds=2, n_seeds=1)
    assert {options["depth"] for options in built} == {1, 4}
    for options in built:
        # Without row sampling and score noise the nested fits share their randomness.
        assert (options["bootstrap_type"], options["random_strength"]) == ("No", 0)
        assert options["learning_rate"] == 0.3


def test_importances_are_not_computed():
    assert boosted_trees._classifier(0, 2, iterations=1).get_feature_importance() is None
