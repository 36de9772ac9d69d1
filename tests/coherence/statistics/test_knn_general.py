"""The general nearest-neighbour estimate against a distance matrix, knncmi, and the sorted one."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from coherence.statistics.knn import RESOLUTION, as_levels, conditional_information
from coherence.statistics.knn_general import general_information, neighbour_table

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "knncmi_several_columns.json").read_text(encoding="utf-8")
)


def brute_force(continuous, stratum, action, truth, k):
    """Mesner and Shalizi (2021), algorithm 1, from the full distance matrices."""

    def differ(codes):
        return RESOLUTION * (codes[:, None] != codes[None, :])

    levels = as_levels(continuous)
    given_only = np.maximum(np.abs(levels[:, None] - levels[None, :]).max(axis=2), differ(stratum))
    with_action, with_truth = (
        np.maximum(given_only, differ(action)),
        np.maximum(given_only, differ(truth)),
    )
    joint = np.maximum(with_action, with_truth)
    total = 0.0
    for row in range(len(levels)):
        radius = np.sort(joint[row])[k]  # position 0 is the row itself
        joint_n, action_n, truth_n, given_n = (
            (d[row] <= radius).sum() - 1 for d in (joint, with_action, with_truth, given_only)
        )
        total += digamma(joint_n) - digamma(action_n) - digamma(truth_n) + digamma(given_n)
    return total / len(levels)


@given(
    n=st.integers(9, 60),
    k=st.integers(1, 7),
    n_columns=st.integers(1, 3),
    n_strata=st.integers(1, 3),
    n_states=st.integers(2, 3),
    grid=st.sampled_from([None, 4, 20]),
    scale=st.sampled_from([0.3, 1.0, 3.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=100, deadline=None)
def test_trees_and_table_equal_brute_force(n, k, n_columns, n_strata, n_states, grid, scale, seed):
    """Breaks if ties count on one side only, or neighbours at distance 1 or more as near."""
    rng = np.random.default_rng(seed)
    continuous = rng.normal(size=(n, n_columns)) * scale
    if grid:
        on_grid = rng.random(n) < 0.7
        continuous[on_grid] = np.round(continuous[on_grid] * grid) / grid
    stratum, action, truth = (rng.integers(0, codes, n) for codes in (n_strata, 3, n_states))
    exact = brute_force(continuous, stratum, action, truth, k)
    assert general_information(continuous, stratum, action, truth, k) == pytest.approx(
        exact, abs=1e-10
    )
    first, again = neighbour_table(continuous, stratum, action).information(truth, (k, k))
    assert first == again == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['kind']}-{case['k']}")
def test_equals_the_reference_implementation(case):
    """Made by knncmi; see golden/README.md."""
    columns = (np.array(case[name]) for name in ("z", "s", "a", "t"))
    assert general_information(*columns, case["k"]) == pytest.approx(case["nats"], abs=1e-10)


@pytest.mark.parametrize("grid", [None, 20])
def test_equals_the_sorted_estimate_given_one_belief(grid):
    rng = np.random.default_rng(1)
    belief, action, truth = (
        np.sort(rng.random(500)),
        rng.integers(0, 3, 500),
        rng.integers(0, 2, 500),
    )
    belief = np.round(belief * grid) / grid if grid else belief
    both = np.stack(
        [belief, 1 - belief], axis=1
    )  # the second column repeats the distances of the first
    expected = conditional_information(as_levels(belief), action, truth, 3)
    assert general_information(both, np.zeros(500, dtype=int), action, truth, 3) == pytest.approx(
        expected, abs=1e-12
    )


def test_table_answers_for_every_arrangement_of_the_truth():
    """The table is built once; a truth that leaked into it would show here."""
    rng = np.random.default_rng(2)
    continuous, stratum, action = (
        rng.random((80, 2)),
        np.zeros(80, dtype=int),
        rng.integers(0, 3, 80),
    )
    table = neighbour_table(continuous, stratum, action)
    for _ in range(5):
        truth = rng.integers(0, 2, 80)
        expected = [general_information(continuous, stratum, action, truth, k) for k in (2, 9)]
        assert table.information(truth, (2, 9)) == pytest.approx(expected, abs=1e-12)
