"""What regressions on the belief leave: sums of zero, closed forms, and nothing but rounding."""

import numpy as np
import pytest

from coherence.statistics.choices import as_choices
from coherence.statistics.residuals import in_several_states, residuals, separated


def drawn(n=200, n_states=2, seed=0):
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet(np.ones(n_states), n)
    truth = (rng.random(n)[:, None] > belief.cumsum(axis=1)[:, :-1]).sum(axis=1)
    action = (rng.random(n)[:, None] > belief.cumsum(axis=1)[:, :-1]).sum(axis=1)
    action[:2] = 0, n_states - 1
    return (belief[:, 1] if n_states == 2 else belief), action, truth


def remains_of(belief, action, truth, context=None):
    return residuals(as_choices(belief, action, truth, context))


def test_one_belief_throughout_leaves_the_distance_from_the_share():
    """Ten of forty act in the one state and fifteen of twenty in the other: 25 of 60 in all."""
    truth = np.repeat([0, 1], [40, 20])
    action = np.concatenate([np.repeat(["a", "b"], [10, 30]), np.repeat(["a", "b"], [15, 5])])
    remains, chooser = remains_of(np.full(60, 0.3), action, truth)
    assert chooser is None
    assert remains.action[:, 0] == pytest.approx((action == "a") - 25 / 60, abs=1e-6)
    assert remains.truth == pytest.approx((truth - 1 / 3)[:, None], abs=1e-6)
    assert (remains.action_fit.n_coefficients, remains.truth_fit.n_coefficients) == (1, 1)


def test_a_line_is_that_of_least_squares(monkeypatch):
    monkeypatch.setattr("coherence.statistics.smoothing.SIZES", (2,))
    monkeypatch.setattr("coherence.statistics.smoothing.JUMP_SIZES", ())
    belief, action, truth = drawn()
    remains, chooser = remains_of(belief, action, truth)
    design = np.stack([np.ones(200), belief], axis=1)
    for columns, values in ((remains.action[:, 1], action), (remains.truth[:, 0], truth)):
        fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
        assert columns == pytest.approx(values - fitted, abs=1e-5)
    assert chooser.belief == pytest.approx(belief, abs=1e-9)


@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_residuals_sum_to_zero_over_rows_and_over_actions(n_states):
    """An intercept takes out the mean; indicators of all actions sum to 1, and so do their fits."""
    remains, chooser = remains_of(*drawn(300, n_states))
    assert remains.action.shape == (300, n_states)
    assert remains.truth.shape == (300, 1 if n_states == 2 else n_states)
    assert np.abs(remains.action.sum(axis=0)).max() < 1e-3
    assert np.abs(remains.truth.sum(axis=0)).max() < 1e-3
    assert np.abs(remains.action.sum(axis=1)).max() < 1e-4
    assert (chooser is None) == (n_states > 2)
    assert remains.action_fit.jump is None or n_states == 2


def test_with_two_states_the_truth_is_the_second_one():
    belief, action, truth = drawn()
    remains, _ = remains_of(belief, action, np.where(truth == 1, "sun", "rain"))
    assert np.corrcoef(remains.truth[:, 0], truth)[0, 1] > 0.5


def test_labels_rows_and_the_side_of_the_belief_do_not_matter():
    """Folds are dealt by context number, so that rows of a context may come in any order."""
    belief, action, truth = drawn()
    context = np.arange(200) // 2
    truth = truth[2 * context]
    first, chooser = remains_of(belief, action, truth, context)
    order = np.random.default_rng(1).permutation(200)
    moved, _ = remains_of(belief[order], action[order], truth[order], context[order])
    assert moved.action == pytest.approx(first.action[order], abs=1e-7)
    assert moved.truth == pytest.approx(first.truth[order], abs=1e-7)
    other, turned = remains_of(1 - belief, action, truth, context)
    assert other.action == pytest.approx(first.action, abs=1e-4)
    assert turned.choice.degree == chooser.choice.degree
    named, _ = remains_of(belief, np.array(["go", "stay"])[action], truth, context)
    assert named.action.tolist() == first.action.tolist()
    paired, _ = remains_of(np.stack([1 - belief, belief], axis=1), action, truth, context)
    assert paired.action.tolist() == first.action.tolist()


def test_what_is_left_by_rounding_is_nothing():
    """Choices that the belief settles: three beliefs, one action each."""
    place = np.arange(90) % 3
    truth = np.random.default_rng(0).integers(0, 2, 90)
    remains, _ = remains_of(np.array([0.1, 0.5, 0.9])[place], place, truth)
    assert (remains.action == 0).all()
    assert remains.truth.any()
    # One surprise in ninety is more than rounding.
    surprised = np.where(np.arange(90) == 4, 0, place)
    assert remains_of(np.array([0.1, 0.5, 0.9])[place], surprised, truth)[0].action.any()


def test_few_beliefs_leave_the_distance_from_the_mean_of_each():
    """Three beliefs whose shares are on no line, many rows of each: one mean per belief."""
    rng = np.random.default_rng(5)
    place = np.arange(600) % 3
    action = (rng.random(600) < np.array([0.1, 0.9, 0.2])[place]).astype(int)
    truth = (rng.random(600) < np.array([0.8, 0.1, 0.7])[place]).astype(int)
    remains, _ = remains_of(np.array([0.2, 0.5, 0.6])[place], action, truth)
    for columns, values in ((remains.action[:, 1], action), (remains.truth[:, 0], truth)):
        means = np.bincount(place, weights=values) / 200
        assert columns == pytest.approx(values - means[place], abs=1e-5)


def test_the_last_of_several_beliefs_adds_nothing():
    """It is one minus the others: straight lines in two of three are lines in any other two.

    Thirty contexts carry three coefficients and no more.
    """
    belief, action, truth = drawn(30, 3)
    order = [2, 0, 1]
    first, other = (
        remains_of(stated, action, states)[0]
        for stated, states in ((belief, truth), (belief[:, order], np.argsort(order)[truth]))
    )
    assert first.action_fit.n_coefficients == other.action_fit.n_coefficients == 2
    design = np.column_stack([np.ones(30), belief[:, :2]])
    indicators = np.eye(3)[action]
    fitted = design @ np.linalg.lstsq(design, indicators, rcond=None)[0]
    for remains in (first, other):
        assert remains.action == pytest.approx(indicators - fitted, abs=1e-5)
    assert other.truth == pytest.approx(first.truth[:, order], abs=1e-5)


@pytest.mark.parametrize(
    ("belief", "truth", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], True),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], True),
        ([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1], False),
        ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1], False),
        ([0.5, 0.5, 0.1, 0.9], [0, 1, 1, 0], False),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 2], False),
        ([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.9, 0.1]], [0, 1, 1, 0], True),
        ([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], [0, 1, 2], True),
        ([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.6, 0.2]], [0, 1, 2], False),
        # A state that was never seen leaves open which belief is in which.
        ([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.7, 0.2, 0.1]], [0, 1, 0], False),
    ],
)
def test_states_are_separated_where_no_belief_is_shared(belief, truth, expected):
    data = as_choices(belief, ["a"] * len(truth), truth, None)
    assert separated(data) is expected
    assert in_several_states(data) is (np.shape(belief)[1:] == (3,))


def test_beliefs_in_two_columns_are_in_two_states():
    data = as_choices([[0.4, 0.6], [0.7, 0.3]] * 6, ["a", "b"] * 6, [1, 0] * 6, None)
    assert not in_several_states(data)
    assert separated(data)
    assert residuals(data)[0].truth.shape == (12, 1)
