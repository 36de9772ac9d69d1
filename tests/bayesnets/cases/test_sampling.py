import pandas as pd
import pytest
from scipy.stats import binomtest

from bayesnets import load_network, posterior, sample
from coherence import InputError


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


@pytest.mark.parametrize("n", [-1, 2.5, True, "3"])
def test_a_wrong_number_of_records_is_refused(n):
    with pytest.raises(InputError, match="n must be a number of records"):
        sample(load_network("asia"), n)
