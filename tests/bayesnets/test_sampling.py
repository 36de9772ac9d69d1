import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from bayesnets import Network, Node, load_network, posterior, sample
from bayesnets.cases.design import even_allocation, inclusion_probabilities, systematic_sample
from coherence.errors import InputError


@pytest.mark.parametrize("seed", range(3))
def test_frequencies_match_the_exact_probabilities(seed, random_network):
    network = random_network(seed, n_nodes=6)
    records = sample(network, 20_000, rng=seed)
    assert tuple(records.columns) == network.names
    for variable in network.names:
        exact = posterior(network, pd.DataFrame(index=[0]), variable).loc[0]
        for state, probability in exact.items():
            assert (
                binomtest(
                    int((records[variable] == state).sum()), len(records), min(probability, 1)
                ).pvalue
                > 1e-5
            )
    # A conditional frequency breaks if the parents' axes are mixed up.
    child = next(node for node in network.nodes if node.parents)
    common = records[list(child.parents)].value_counts().index[0]
    rows = records[(records[list(child.parents)] == list(common)).all(axis=1)]
    codes = tuple(
        network.states(parent).index(state)
        for parent, state in zip(child.parents, common, strict=True)
    )
    assert (
        binomtest(
            int((rows[child.name] == child.states[0]).sum()), len(rows), child.table[(0, *codes)]
        ).pvalue
        > 1e-5
    )


def test_states_of_probability_zero_are_never_drawn():
    # The first column stops just short of one before a last state that is impossible.
    table = np.array([0.3, 0.7 - 9e-9, 0.0])
    network = Network("n", "n", "test", True, (Node("a", ("x", "y", "z"), (), table),))
    assert set(sample(network, 10_000, rng=0)["a"]) == {"x", "y"}
    records = sample(load_network("asia"), 10_000, rng=0)
    assert (
        records["either"] == np.where((records[["tub", "lung"]] == "yes").any(axis=1), "yes", "no")
    ).all()


def test_a_seed_fixes_the_records_and_none_does_not():
    network = load_network("asia")
    pd.testing.assert_frame_equal(
        sample(network, 50, rng=4), sample(network, 50, rng=np.random.default_rng(4))
    )
    assert not sample(network, 50).equals(sample(network, 50))
    assert sample(network, 0).shape == (0, 8)


@pytest.mark.parametrize("n", [-1, 2.5, True, "3"])
def test_a_wrong_number_of_records_is_refused(n):
    with pytest.raises(InputError, match="n must be a number of records"):
        sample(load_network("asia"), n)


@pytest.mark.parametrize("seed", range(20))
def test_allocation_is_as_even_as_capacity_allows(seed):
    rng = np.random.default_rng(seed)
    capacity = rng.integers(0, 15, size=20)
    n = int(rng.integers(0, capacity.sum() + 1))
    filled = even_allocation(n, capacity, rng)
    assert filled.sum() == n
    assert (filled <= capacity).all()
    below = filled[filled < capacity]
    if below.size:
        assert below.max() - below.min() <= 1
        assert filled.max() <= below.min() + 1


def test_inclusion_frequencies_are_the_stated_probabilities():
    rng = np.random.default_rng(5)
    size = np.array([40.0, 9.0, 7.0, 3.0, 2.0, 1.0, 0.5, 1e-6])
    probabilities = inclusion_probabilities(size, 4)
    assert probabilities.sum() == pytest.approx(4)
    assert probabilities[0] == 1
    open_ones = probabilities < 1
    assert np.ptp(probabilities[open_ones] / size[open_ones]) == pytest.approx(0, abs=1e-12)
    counts = np.zeros(len(size), dtype=int)
    for _ in range(4_000):
        drawn = systematic_sample(probabilities, rng)
        assert len(drawn) == len(set(drawn)) == 4
        counts[drawn] += 1
    assert all(
        binomtest(int(count), 4_000, min(p, 1)).pvalue > 1e-4
        for count, p in zip(counts, probabilities, strict=True)
    )


def test_all_units_are_drawn_when_all_are_asked_for():
    probabilities = inclusion_probabilities(np.array([1e-12, 1.0, 1e6]), 3)
    assert sorted(systematic_sample(probabilities, np.random.default_rng(0))) == [0, 1, 2]
