"""What cmi_test conditions on: which columns, which bins, which estimate and which statistic."""

import numpy as np
import pandas as pd
import pytest

from coherence.errors import InputError
from coherence.statistics.bins import belief_bins
from coherence.statistics.choice_segments import segment_bins, segment_blocks
from coherence.statistics.choices import as_choices
from coherence.statistics.cmi_problem import (
    neighbours_for_general_test,
    neighbours_for_test,
    pose,
)
from coherence.statistics.cmi_statistics import TABLE_ROWS, calibrated, sorted_information
from coherence.statistics.grouping import vector_bins
from coherence.statistics.information import BinnedCounts, information_bins
from coherence.statistics.knn_general import general_information
from coherence.statistics.resample import context_blocks


def choices(n_states=2, n_contexts=40, n_reps=3, seed=0):
    """Validated random data; beliefs scatter within a context."""
    rng = np.random.default_rng(seed)
    context = np.repeat(np.arange(n_contexts), n_reps)
    truth = rng.permutation(np.arange(n_contexts) % n_states)[context]
    action = rng.integers(0, 3, context.size)
    belief = rng.dirichlet(np.ones(n_states), context.size)
    return as_choices(belief[:, 1] if n_states == 2 else belief, action, truth, context)


def features(data, seed=1):
    rng = np.random.default_rng(seed)
    columns = {
        "size": rng.normal(size=data.n_contexts),
        "word": rng.choice(["low", "high"], data.n_contexts),
    }
    return pd.DataFrame(columns).iloc[data.context].reset_index(drop=True)


def same_counts(data, blocks, bins, counts):
    """Bins of whole blocks: each block has one, and the counts are those of these bins."""
    assert all(np.unique(bins[blocks == block]).size == 1 for block in blocks)
    state = np.zeros(data.n_contexts, dtype=int)
    state[data.context] = data.truth
    by_hand = BinnedCounts(blocks, bins, data.context, data.share, len(data.states))
    assert counts.n_bins == by_hand.n_bins > 1
    assert counts.estimate(state) == by_hand.estimate(state)


@pytest.mark.parametrize(("n_rows", "k", "expected"), [(20, 3, 3), (100, 3, 15), (100, 40, 40)])
def test_the_test_looks_at_a_share_of_the_rows_and_never_at_fewer_than_the_estimate(
    n_rows, k, expected
):
    assert neighbours_for_test(n_rows, k) == expected


def test_given_several_columns_it_looks_at_a_share_of_a_cell():
    """.6 of the mean number of rows with one action and one truth: 600 rows in 6 cells of 100."""
    assert neighbours_for_general_test(600, 6, 3) == 60
    assert neighbours_for_general_test(600, 6, 61) == 61
    assert neighbours_for_general_test(1200, 12, 3) == 60


def test_one_belief_is_compared_by_its_mean_and_cut_into_quantile_bins():
    data = choices()
    problem = pose(data, None, False)
    means = [data.belief[data.context == code].mean() for code in range(data.n_contexts)]
    assert problem.summary == pytest.approx(means)
    assert problem.segments.tolist() == [0] * data.n_contexts  # random choices have no steps
    blocks = problem.blocks
    assert blocks.tolist() == segment_blocks(problem.summary, problem.segments).tolist()
    centres = np.array([problem.summary[blocks == block].mean() for block in blocks])
    bins = segment_bins(centres, problem.segments, information_bins(data.n_contexts))
    same_counts(data, blocks, bins, problem.counts)
    same_counts(data, blocks, belief_bins(centres, 2), problem.halves)


def test_steps_of_choices_bound_blocks_and_bins():
    """All choose one action below .52 and another above: the block that would straddle is cut."""
    belief = np.arange(100) / 100
    action, truth = (belief >= 0.52).astype(int), np.tile([0, 1], 50)
    problem = pose(as_choices(belief, action, truth, None), None, False)
    assert problem.segments.tolist() == action.tolist()
    straddled = context_blocks(problem.summary)
    assert straddled[51] == straddled[52]
    assert problem.blocks[51] != problem.blocks[52]
    assert problem.counts.n_bins == 12


def test_two_columns_pose_the_problem_of_the_second():
    data = choices()
    pair = np.stack([1 - data.belief, data.belief], axis=1)
    two = pose(as_choices(pair, data.action, data.truth, data.context), None, False)
    assert two.belief.tolist() == data.belief.tolist()
    assert two.summary.tolist() == pose(data, None, False).summary.tolist()


@pytest.mark.parametrize("named", [False, True])
def test_several_columns_are_compared_in_all_of_them(named):
    """Beliefs over three states, or one belief with features: no single belief is left."""
    data = choices(2 if named else 3)
    problem = pose(data, features(data) if named else None, False)
    assert problem.belief is None
    assert problem.summary.shape == (data.n_contexts, problem.given.summary.shape[1])
    blocks = problem.blocks
    assert blocks.tolist() == context_blocks(problem.summary).tolist()
    centres = [problem.summary[blocks == block].mean(axis=0) for block in blocks]
    same_counts(data, blocks, vector_bins(np.array(centres), 5), problem.counts)
    same_counts(data, blocks, vector_bins(np.array(centres), 2), problem.halves)
    assert problem.given.numeric == (("size",) if named else ())
    assert problem.given.discrete == (("word",) if named else ())


def test_estimates_are_those_of_the_chosen_rows():
    """Rows may repeat, as they do in a bootstrap; an action that is not drawn leaves no gap."""
    data = choices()
    problem = pose(data, None, False)
    rows = np.flatnonzero(data.action != 1)[::-1].repeat(2)
    chosen = data.belief[rows], np.where(data.action[rows] == 2, 1, 0), data.truth[rows]
    assert problem.estimate(rows, 5) == sorted_information(*chosen, 5)
    everything = np.arange(data.n_rows)
    moved = np.random.default_rng(2).permutation(everything)
    assert problem.estimate(moved, 5) == pytest.approx(problem.estimate(everything, 5), abs=1e-12)
    with_features = pose(data, features(data), False)
    given = with_features.given
    expected = general_information(
        given.continuous[rows], given.stratum[rows], chosen[1], chosen[2], 5
    )
    assert with_features.estimate(rows, 5) == expected


def test_calibration_is_fitted_to_the_chosen_rows():
    data = choices()
    problem, rows = pose(data, None, True), np.arange(0, data.n_rows, 2)
    again = calibrated(data.belief[rows], data.truth[rows])
    expected = sorted_information(again, data.action[rows], data.truth[rows], 4)
    assert problem.estimate(rows, 4) == expected
    assert problem.estimate(rows, 4) != pose(data, None, False).estimate(rows, 4)


@pytest.mark.parametrize("isotonic", [False, True])
def test_statistic_of_one_belief(isotonic):
    data = choices()
    problem = pose(data, None, isotonic)
    statistic, k_test = problem.statistic(3)
    assert k_test == 18  # .15 of 120 rows
    rows = np.arange(data.n_rows)
    expected = problem.estimate(rows, 3), problem.estimate(rows, 18)
    assert statistic(data.truth, True) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("isotonic", [False, True])
def test_many_rows_of_one_belief_have_an_estimate_alone(isotonic, monkeypatch):
    data = choices()
    problem, rows = pose(data, None, isotonic), np.arange(data.n_rows)
    name = "coherence.statistics.cmi_problem.TABLE_ROWS"
    monkeypatch.setattr(name, data.n_rows)
    assert problem.statistic(3)[1] == 18
    monkeypatch.setattr(name, data.n_rows - 1)
    statistic, none = problem.statistic(3)
    assert none is None
    estimate, left_out = statistic(data.truth, True)
    assert estimate == pytest.approx(problem.estimate(rows, 3), abs=1e-12)
    assert np.isnan([left_out, *statistic(data.truth, False)]).all()


def test_statistic_given_several_columns(monkeypatch):
    """A search with many neighbours up to a number of rows, none beyond it."""
    data = choices(3)
    problem = pose(data, None, False)
    rows = np.arange(data.n_rows)
    statistic, k_test = problem.statistic(3)
    assert k_test == 8  # .6 of 120 rows over three actions and three truths
    expected = problem.estimate(rows, 3), problem.estimate(rows, 8)
    assert statistic(data.truth, True) == pytest.approx(expected, abs=1e-12)
    name = "coherence.statistics.cmi_problem.TABLE_ROWS"
    monkeypatch.setattr(name, data.n_rows)
    assert problem.statistic(3)[1] == 8
    monkeypatch.setattr(name, data.n_rows - 1)
    searched, none = problem.statistic(3)
    estimate, left_out = searched(data.truth, True)
    assert none is None
    assert estimate == problem.estimate(rows, 3)
    assert np.isnan(left_out)
    assert TABLE_ROWS == 2_000


@pytest.mark.parametrize("n_states", [2, 3])
def test_neighbours_of_the_test_are_fewer_than_the_rows(n_states):
    """Twelve rows and eleven neighbours for the estimate leave no more for the test."""
    data = choices(n_states, n_contexts=12, n_reps=1)
    problem = pose(data, None, False)
    assert problem.statistic(11)[1] == 11
    assert problem.statistic(20)[1] == 11


def test_only_one_belief_in_one_of_two_states_can_be_calibrated():
    pose(choices(), None, True)
    data = choices()
    three_seen = as_choices(data.belief, data.action, data.context % 3, data.context)
    for refused, condition_on in ((choices(3), None), (data, features(data)), (three_seen, None)):
        with pytest.raises(InputError, match="isotonic=True calibrates the belief in one of two"):
            pose(refused, condition_on, True)
