"""Shares at the levels of large categories: break if a context is told what it chose itself."""

import numpy as np

from coherence.statistics.level_shares import level_shares

LEVELS = np.array([0, 0, 0, 1, 1, 2])
PART = np.array([0, 1, 1, 0, 1, 0])
ACTION = np.array([1, 1, 0, 0, 1, 1])


def shares(training, action=ACTION):
    training = np.asarray(training, dtype=bool)
    return level_shares(LEVELS, np.eye(2)[action] * training[:, None], PART, training)[:, 0]


def test_rows_that_train_get_the_shares_of_the_other_parts():
    mean = 4 / 6
    np.testing.assert_allclose(
        shares(np.ones(6)),
        [
            (1 + mean) / 3,  # of the two rows at its level in the other part, one chose 1
            (1 + mean) / 2,
            (1 + mean) / 2,
            (1 + mean) / 2,
            (0 + mean) / 2,
            mean,  # nobody else has this level
        ],
    )


def test_rows_that_are_judged_get_the_shares_of_all_that_train():
    found = shares([1, 1, 1, 0, 1, 0])
    mean = 3 / 4
    np.testing.assert_allclose(found[3], (1 + mean) / 2)
    np.testing.assert_allclose(found[5], mean)


def test_no_row_hears_what_its_own_part_chose():
    """Whatever the rows of a part choose, given the mean share, they are told the same."""
    turned = ACTION.copy()
    turned[[0, 3]] = turned[[3, 0]]
    assert turned.mean() == ACTION.mean()
    own = PART == 0
    np.testing.assert_array_equal(shares(np.ones(6))[own], shares(np.ones(6), turned)[own])
    assert not np.array_equal(shares(np.ones(6))[~own], shares(np.ones(6), turned)[~own])


def test_all_actions_but_the_first_have_a_column():
    weights = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    found = level_shares(LEVELS, weights, PART, np.ones(6, dtype=bool))
    assert found.shape == (6, 3)
    assert (found.sum(axis=1) <= 1).all()
