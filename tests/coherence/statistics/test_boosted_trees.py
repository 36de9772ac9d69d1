"""Boosted trees: breaks if they grow where there is nothing to learn, or published ones stop."""

import numpy as np

from coherence import predictive_gain_test, simulate
from coherence.choices import as_choices
from coherence.statistics import boosted_trees
from coherence.statistics.boosted_trees import depth_and_iterations
from coherence.statistics.learners import designs


def columns(name, n_contexts=200, n_reps=5, seed=1):
    runs = simulate(
        name, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed
    )
    return runs, (runs["p"], runs["action"], runs["theta"])


def test_trees_without_anything_to_learn_from_are_the_smallest():
    """One belief throughout, one action, or no row held out: one stump, which is the share."""
    belief, held = np.linspace(0, 1, 20), np.arange(20) % 4 == 0
    truth, action = np.arange(20) % 2, np.arange(20) // 2 % 2
    varied = designs(as_choices(belief, action, truth, None), None)[0]
    constant = designs(as_choices(np.full(20, 0.5), action, truth, None), None)[0]
    for design, actions, judged in (
        (constant, action, held),
        (varied, np.zeros(20, dtype=int), held),
        (varied, action, np.zeros(20, dtype=bool)),
    ):
        assert depth_and_iterations(design, actions, judged, 0) == (1, 1)


def test_published_models_are_deep_and_never_stop_early(monkeypatch):
    """Depth 6 and 1000 iterations against a depth and a number chosen on held-out contexts."""
    built = []

    def classifier(seed, n_actions, **options):
        built.append(options)
        return known(seed, n_actions, **(options | {"iterations": 2}))

    known = boosted_trees._classifier
    monkeypatch.setattr(boosted_trees, "_classifier", classifier)
    _, arrays = columns("leaky", 12, 1)
    predictive_gain_test(*arrays, published=True, n_folds=2, n_seeds=1, n_bootstraps=2, rng=0)
    assert built == [{"depth": 6, "iterations": 1000}] * 4
    built.clear()
    predictive_gain_test(*arrays, n_folds=2, n_seeds=1, rng=0)
    chosen = [options for options in built if "early_stopping_rounds" not in options]
    assert len(chosen) == 4
    for options in built:
        assert options["depth"] in (1, 4)
        # Without row sampling and score noise the nested fits share their randomness.
        assert (options["bootstrap_type"], options["random_strength"]) == ("No", 0)
