import numpy as np
import pytest

from bayesnets.inference import joint_table
from bayesnets.inference.factors import relevant_tables, state_numbers


def brute(network, codes, target):
    """P(target, evidence) from the whole joint table."""
    numbers = state_numbers(network)
    states = np.indices(numbers).reshape(len(numbers), -1)
    probability = np.ones(states.shape[1])
    for position, node in enumerate(network.nodes):
        parents = [states[network.index(parent)] for parent in node.parents]
        probability *= node.table[(states[position], *parents)]
    result = np.zeros((len(codes), numbers[target]))
    for row, stated in enumerate(codes):
        agrees = ((stated[:, None] < 0) | (stated[:, None] == states)).all(axis=0)
        result[row] = np.bincount(states[target][agrees], probability[agrees], numbers[target])
    return result


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("buffer", [1, 2**19])
def test_sums_are_those_of_the_joint_table_whatever_the_buffer_holds(
    seed, buffer, random_network, monkeypatch
):
    monkeypatch.setattr(joint_table, "BUFFER", buffer)
    network = random_network(seed, n_nodes=6)
    numbers = state_numbers(network)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1, number, size=200) for number in numbers], axis=1)
    codes[:, 2] = -1
    tables = relevant_tables(network, codes, [2])
    route = joint_table.walk(tables, codes, [2], numbers)
    result = joint_table.sums(tables, route, [2], numbers)
    np.testing.assert_allclose(result, brute(network, codes, 2), rtol=1e-12)


def test_a_row_that_observes_all_picks_its_entry_at_once(random_network):
    network = random_network(1, n_nodes=5)
    numbers = state_numbers(network)
    codes = np.zeros((2, 5), dtype=np.int64)
    codes[1] = 1
    codes[:, 0] = -1
    tables = relevant_tables(network, codes, [0])
    route = joint_table.walk(tables, codes, [0], numbers)
    assert route.depth.tolist() == [0, 0]
    made = joint_table.MADE * joint_table.joint_states(tables, [], numbers)
    assert route.cost == made + joint_table.PICKED * 2 * numbers[0]
