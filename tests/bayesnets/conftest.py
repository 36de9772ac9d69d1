"""Small networks and evidence from a seed, and the joint distribution by brute force."""

import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node


def _random_network(seed, n_nodes=None, max_states=4, max_parents=3, zeros=False):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 8)) if n_nodes is None else n_nodes
    numbers = rng.integers(2, max_states + 1, size=n_nodes)
    nodes = []
    for position in range(n_nodes):
        n_parents = min(position, int(rng.integers(0, max_parents + 1)))
        parents = np.sort(rng.choice(position, size=n_parents, replace=False))
        table = rng.dirichlet(np.ones(numbers[position]), size=tuple(numbers[parents]))
        if zeros:
            table = np.where(table < 0.25, 0.0, table)
            total = table.sum(axis=-1, keepdims=True)
            even = 1 / numbers[position]
            table = np.where(total > 0, table / np.where(total > 0, total, 1), even)
        states = tuple(f"s{state}" for state in range(numbers[position]))
        names = tuple(f"v{parent}" for parent in parents)
        nodes.append(Node(f"v{position}", states, names, np.moveaxis(table, -1, 0)))
    return Network(f"random-{seed}", "random", "seeded", True, tuple(nodes))


def _random_evidence(network, n, seed):
    rng = np.random.default_rng(seed)
    columns = {}
    for node in network.nodes:
        labels = np.array([*node.states, None], dtype=object)
        codes = np.where(rng.random(n) < 0.5, rng.integers(len(node.states), size=n), -1)
        columns[node.name] = pd.Series(labels[codes], dtype=object)
    return pd.DataFrame(columns)


def _full_joint(network):
    """Of all joint states: the number of every variable's state, and the probability."""
    shape = [len(node.states) for node in network.nodes]
    codes = np.indices(shape, dtype=np.int8).reshape(len(shape), -1)
    probability = np.ones(codes.shape[1])
    for node in network.nodes:
        at = (network.names.index(name) for name in (node.name, *node.parents))
        probability = probability * node.table[tuple(codes[position] for position in at)]
    return codes, probability


@pytest.fixture(scope="session")
def random_network():
    return _random_network


@pytest.fixture(scope="session")
def random_evidence():
    return _random_evidence


@pytest.fixture(scope="session")
def full_joint():
    return _full_joint


@pytest.fixture(scope="session")
def evidence_of():
    """Of a table of cases: what each observes."""
    return lambda table: table.filter(regex="^x_").rename(
        columns=lambda column: column.removeprefix("x_")
    )
