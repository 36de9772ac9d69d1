"""Information in windows against scikit-learn's of the contexts that a window holds."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import rel_entr
from sklearn.metrics import mutual_info_score

from coherence.statistics.windows import chosen, local_information, moved, ranked


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_states", [2, 3])
def test_information_is_the_mean_over_windows_of_that_of_their_tables(n_columns, n_states):
    """Breaks if a window loses ties or its farthest context, or a level counts once."""
    rng = np.random.default_rng(n_columns)
    summary = np.sort(rng.integers(0, 11, (50, n_columns)) / 10, axis=0)
    action, states = rng.integers(0, 3, 50), rng.integers(0, n_states, (4, 50))
    found = local_information(summary, chosen(np.eye(3)[action]), n_states)(states)
    expected = np.zeros(4)
    for centre in summary:
        distance = np.abs(summary - centre).max(axis=1).round(9)
        near = distance <= np.sort(distance)[14]  # 30% of 50
        expected += [mutual_info_score(state[near], action[near]) for state in states]
    assert found[:, 0] == pytest.approx(expected / 50, abs=1e-12)


def test_what_is_left_of_shares_is_counted_about_their_mean():
    """Breaks if what lies further from the polynomial than a share can gives no number."""
    share, left = np.full((20, 2), 0.5), np.tile([0.2, -0.2], (20, 1))
    left[:9] = (-0.3, 0.3)  # of states 0
    states = np.repeat([1, 0], [11, 9])[::-1][None]
    of_first = np.array([0.225, 0.725])  # less the mean of what is left, -.025
    counts = np.stack([of_first, 1 - of_first], axis=1) * [[9], [11]] / 20
    apart = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    found = local_information(np.zeros(20), moved(share, left), 2)(states)
    assert found == pytest.approx(np.full((1, 1), rel_entr(counts, apart).sum()), abs=1e-12)
    assert np.isfinite(local_information(np.zeros(20), moved(share, 4 * left), 2)(states)).all()


def test_repetitions_share_the_weight_of_their_context():
    """Every row twice, or a context three times as often: the same information."""
    rng = np.random.default_rng(3)
    summary, states = np.sort(rng.random(40)), rng.integers(0, 2, (3, 40))
    policy, context = rng.dirichlet([1, 1, 1], 40), np.arange(40)
    once = local_information(summary, ranked(policy, context), 2)(states)
    times = rng.integers(1, 4, 40)
    often = ranked(np.repeat(policy, times, axis=0), np.repeat(context, times))
    assert local_information(summary, often, 2)(states) == pytest.approx(once, abs=1e-12)


def test_policies_are_told_apart_by_the_quarters_of_their_window():
    rng = np.random.default_rng(4)
    policy = rng.dirichlet([1, 1, 1], 40)
    states = rng.integers(0, 2, (3, 40))
    quarters = pd.DataFrame(policy).apply(lambda share: pd.qcut(share, 4, labels=False))
    expected = [
        np.mean([mutual_info_score(state, quarters[action]) for action in quarters])
        for state in states
    ]
    one_belief = local_information(np.zeros(40), ranked(policy, np.arange(40)), 2)(states)
    assert one_belief == pytest.approx(np.array([expected]).T, abs=1e-12)
