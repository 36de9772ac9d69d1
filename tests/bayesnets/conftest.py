"""Small networks and evidence from a seed, and the joint distribution by brute force."""

import itertools

import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node


def _random_network(
    seed: int,
    n_nodes: int | None = None,
    max_states: int = 4,
    max_parents: int = 3,
    zeros: bool = False,
) -> Network:
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 8)) if n_nodes is None else n_nodes
    numbers = rng.integers(2, max_states + 1, size=n_nodes)
    nodes = []
    for position in range(n_nodes):
        parents = np.sort(
            rng.choice(
                position, size=min(position, int(rng.integers(0, max_parents + 1))), replace=False
            )
        )
        table = rng.dirichlet(np.ones(numbers[position]), size=tuple(numbers[parents]))
        if zeros:
            table = np.where(table < 0.25, 0.0, table)
            total = table.sum(axis=-1, keepdims=True)
            table = np.where(
                total > 0, table / np.where(total > 0, total, 1), 1 / numbers[position]
            )
        states = tuple(f"s{state}" for state in range(numbers[position]))
        nodes.append(
            Node(
                f"v{position}",
                states,
                tuple(f"v{parent}" for parent in parents),
                np.moveaxis(table, -1, 0),
            )
        )
    return Network(f"random-{seed}", "random", "seeded", True, tuple(nodes))


def _random_evidence(network: Network, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {}
    for node in network.nodes:
        labels = np.array([*node.states, None], dtype=object)
        codes = np.where(rng.random(n) < 0.5, rng.integers(len(node.states), size=n), -1)
        columns[node.name] = pd.Series(labels[codes], dtype=object)
    return pd.DataFrame(columns)


def _full_joint(network: Network) -> list[tuple[dict[str, str], float]]:
    records = []
    for states in itertools.product(*(node.states for node in network.nodes)):
        record = dict(zip(network.names, states, strict=True))
        probability = 1.0
        for node in network.nodes:
            indices = (
                network.states(name).index(record[name]) for name in (node.name, *node.parents)
            )
            probability *= float(node.table[tuple(indices)])
        records.append((record, probability))
    return records


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
