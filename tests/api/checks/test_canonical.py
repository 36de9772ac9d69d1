"""Canonical order: breaks if a name or the order of rows decides where a context comes."""

import numpy as np
import pytest

from coherence.checks.predictive import in_canonical_order
from coherence.statistics.choices import as_choices


def drawn(policies=False, n_contexts=30):
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(n_contexts), rng.integers(1, 5, n_contexts))
    belief = rng.integers(0, 4, context.size) / 4
    truth = rng.integers(0, 2, n_contexts)[context]
    action = rng.integers(0, 3, context.size)
    if policies:
        action = rng.dirichlet([1, 1, 1], context.size).round(1)
        action[:, 2] = 1 - action[:, :2].sum(axis=1)
    numbers = np.where(rng.random((n_contexts, 1)) < 0.3, np.nan, rng.integers(0, 2))[context]
    words = np.array(["dry", "wet"], dtype=object)[rng.integers(0, 2, (n_contexts, 1))][context]
    return belief, action, truth, context, (numbers, words)


def contents(data, evidence):
    truth = data.truth[:, None]
    return [data.context, data.belief, truth, data.share, evidence[0], evidence[1].astype(str)]


@pytest.mark.parametrize("policies", [False, True])
def test_shuffled_rows_and_renamed_contexts_are_the_same_data(policies):
    belief, action, truth, context, (numbers, words) = drawn(policies)
    first = contents(
        *in_canonical_order(as_choices(belief, action, truth, context), (numbers, words))
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(belief.size)
        names = np.array([f"c{k}" for k in rng.permutation(30)])[context]
        data = as_choices(belief[order], action[order], truth[order], names[order])
        again = contents(*in_canonical_order(data, (numbers[order], words[order])))
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_labels_of_actions_and_states_do_not_matter_and_move_along():
    belief, action, truth, context, _ = drawn()
    names, other = np.array(["no", "yes", "wait"]), np.array(["z", "b", "a"])
    one = in_canonical_order(as_choices(belief, names[action], truth, context))[0]
    two = in_canonical_order(as_choices(belief, other[action], 7 - truth, context))[0]
    for field in ("belief", "action", "truth", "context"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    meaning = dict(zip(names, other, strict=True))
    assert [meaning[label] for label in one.actions] == list(two.actions)
    assert [7 - label for label in one.states] == list(two.states)
    counts = np.bincount(one.action)
    assert (np.diff(counts) <= 0).all()  # frequent ones first


def test_rows_stay_with_their_context_and_labels_with_their_codes():
    belief, action, truth, context, evidence = drawn()
    data = as_choices(belief, action, truth, context)
    ordered, moved = in_canonical_order(data, evidence)
    assert sorted(ordered.contexts) == list(range(30))

    def rows(choices, numbers, words):
        return sorted(
            (
                choices.contexts[c],
                b,
                choices.states[t],
                choices.actions[a],
                str(n[0]),
                w[0],
            )
            for c, b, t, a, n, w in zip(
                choices.context,
                choices.belief,
                choices.truth,
                choices.action,
                numbers,
                words,
                strict=True,
            )
        )

    assert rows(ordered, *moved) == rows(data, *evidence)
    assert (np.diff(ordered.context) >= 0).all()


def test_beliefs_over_states_and_no_evidence():
    rng = np.random.default_rng(1)
    belief = rng.dirichlet([1, 1, 1], 40)
    action, truth = rng.integers(0, 2, 40), rng.integers(0, 3, 40)
    one, nothing = in_canonical_order(as_choices(belief, action, truth, None))
    assert nothing is None
    order = rng.permutation(40)
    two, _ = in_canonical_order(as_choices(belief[order], action[order], truth[order], None))
    np.testing.assert_array_equal(one.belief, two.belief)
    np.testing.assert_array_equal(one.action, two.action)
    np.testing.assert_array_equal(one.truth, two.truth)
