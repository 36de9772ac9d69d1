"""scatter_within: pooled standard deviation, by hand and against numpy."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence.statistics.scatter import MISLEADING, Scatter, scatter_within


def test_equals_the_pooled_variance_of_groups_of_unequal_size():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    belief = rng.random(len(group))
    groups = [g for _, g in pd.Series(belief).groupby(group) if len(g) > 1]
    pooled = sum(g.var() * (len(g) - 1) for g in groups) / sum(len(g) - 1 for g in groups)
    scatter = scatter_within(belief, group)
    assert scatter.sd == pytest.approx(math.sqrt(pooled), rel=1e-12)
    assert scatter.n_groups == len(groups)
    mixed = rng.permutation(len(group))
    assert scatter_within(belief[mixed], group[mixed]).sd == pytest.approx(scatter.sd, rel=1e-12)


def test_of_several_states_the_one_that_scatters_most_counts():
    first = np.array([0.2, 0.4, 0.5, 0.5])
    beliefs = np.column_stack([first, 0.5 * (1 - first), 0.5 * (1 - first)])
    group = [0, 0, 1, 1]
    assert scatter_within(beliefs, group).sd == pytest.approx(scatter_within(first, group).sd)


def test_without_repetitions_nothing_is_known_and_nothing_misleads():
    scatter = scatter_within(np.array([0.1, 0.9]), ["a", "b"])
    assert math.isnan(scatter.sd)
    assert (scatter.n_groups, scatter.misleads) == (0, False)
    assert math.isnan(scatter_within(np.empty(0), []).sd)


def test_the_limit_itself_does_not_mislead():
    assert not Scatter(MISLEADING, 10).misleads
    assert Scatter(np.nextafter(MISLEADING, 1), 10).misleads


def test_ids_may_be_of_any_type():
    """Ids of several types have no order, and tuples are no array of two columns."""
    ids = [1, 1, "b", "b", (2, 3), (2, 3)]
    assert scatter_within(np.array([0.2, 0.4, 0.5, 0.5, 0.9, 0.7]), ids).n_groups == 3
