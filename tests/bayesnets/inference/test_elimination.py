import numpy as np
import pytest

from bayesnets import Network, Node
from bayesnets.inference import elimination
from bayesnets.inference.factors import Table, relevant_tables, state_numbers


def chain(*numbers):
    """v0 -> v1 -> ..., with so many states each."""
    rng = np.random.default_rng(0)
    nodes = []
    for position, number in enumerate(numbers):
        parents = (position - 1,) if position else ()
        table = rng.dirichlet(np.ones(number), size=tuple(numbers[parent] for parent in parents))
        states = tuple(map(str, range(number)))
        names = tuple(f"v{parent}" for parent in parents)
        nodes.append(Node(f"v{position}", states, names, np.moveaxis(table, -1, 0)))
    return Network("chain", "chain", "seeded", True, tuple(nodes))


def planned(network, codes, targets):
    tables, numbers = relevant_tables(network, codes, targets), state_numbers(network)
    return elimination.plan(tables, codes, targets, numbers), tables, numbers


def test_the_variable_with_the_smallest_step_goes_first_and_ties_go_to_the_first_node():
    codes = np.full((1, 4), -1)
    codes[0, 3] = 0
    codes = np.concatenate([codes, codes])
    codes[1, 3] = 1  # observed in two states, so that it is not sliced away
    plan, _, _ = planned(chain(2, 2, 5, 2), codes, [1])
    # By products of states: v0 joins v1 (4), v2 joins v1 and v3 (20), v3 joins v2 (10).
    assert [step.variable for step in plan.steps] == [0, 3, 2]
    assert plan.largest == 5  # the message of v3, over v2


def test_rows_with_the_same_pattern_share_their_messages():
    network = chain(2, 3, 2)
    few = np.array([[-1, -1, 0], [-1, -1, 1]])
    many = np.repeat(few, 500, axis=0)
    # The cost counts patterns of evidence, of which there are two however many rows there are.
    assert planned(network, many, [0])[0].cost == planned(network, few, [0])[0].cost


def test_a_chain_by_matrix_products():
    network = chain(2, 3, 4)
    codes = np.array([[-1, -1, -1], [-1, -1, 2], [-1, 1, 3]])
    plan, tables, numbers = planned(network, codes, [0])
    result = elimination.eliminate(plan, tables, codes, [0], numbers)
    prior, second, third = (node.table for node in network.nodes)
    expected = [prior, prior * (third[2] @ second), prior * second[1] * third[3, 1]]
    np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.lengthy
def test_a_cost_beyond_floating_point_is_a_number_still():
    # 10 ** 400 operations would overflow; the tables themselves are never looked at.
    n = 400
    tables = [Table(tuple(range(n)), np.zeros(0))]
    plan = elimination.plan(tables, np.full((1, n), -1), [], [10] * n)
    assert elimination.HOPELESS <= plan.cost < np.inf
