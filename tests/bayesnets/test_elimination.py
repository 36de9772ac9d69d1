"""Posteriors of 500 random networks against enumeration and pgmpy's variable elimination."""

import dataclasses
import logging
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesnets import (
    Network,
    Node,
    elimination,
    evidence_probability,
    load_network,
    posterior,
    to_pgmpy,
)
from coherence import InputError

N_NETWORKS = 200
N_ROWS = 5
TOLERANCE = 1e-9
ENUMERABLE = 100_000  # joint states


@pytest.fixture(scope="module")
def elimination_of_pgmpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy import config
        from pgmpy.inference import VariableElimination
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    config.set_show_progress(False)
    return VariableElimination


@pytest.fixture(params=["chosen", "elimination", "joint table", "split"])
def algorithm(request, monkeypatch):
    """Leave the choice to the estimate, or force one of the routes."""
    force(request.param, monkeypatch)
    return request.param


def force(name, monkeypatch):
    if name in ("elimination", "split"):
        monkeypatch.setattr(elimination, "_ROW", 1e300)
    if name == "joint table":
        plan = elimination._plan
        monkeypatch.setattr(
            elimination, "_plan", lambda *of: dataclasses.replace(plan(*of), cost=np.inf)
        )
    if name == "split":
        monkeypatch.setattr(elimination, "_SPLIT", 0)


def encode(network, evidence):
    """Return the number of the state of every variable in every row, -1 where it is not seen."""
    codes = np.full((len(evidence), len(network.names)), -1)
    for name in evidence:
        states = network.states(name)
        seen = [-1 if pd.isna(state) else states.index(state) for state in evidence[name]]
        codes[:, network.names.index(name)] = seen
    return codes


def drawn(seed, random_network, random_evidence, n_rows=N_ROWS, most=12):
    """A network of 2 to 12 nodes with 2 to 4 states, evidence on about half, and a target."""
    n_nodes = int(np.random.default_rng(seed).integers(2, most + 1))
    network = random_network(seed, n_nodes=n_nodes, max_states=4, max_parents=3)
    target = network.names[seed % n_nodes]
    return network, random_evidence(network, n_rows, seed).drop(columns=target), target


def enumerated(network, evidence, target):
    """P(target, evidence) by adding up all joint states that agree with the evidence."""
    shape = [len(node.states) for node in network.nodes]
    states = np.indices(shape, dtype=np.int8).reshape(len(shape), -1)
    probability = np.ones(states.shape[1])
    for position, node in enumerate(network.nodes):
        probability = (
            probability
            * node.table[
                (
                    states[position],
                    *(states[network.names.index(parent)] for parent in node.parents),
                )
            ]
        )
    result = np.zeros((len(evidence), len(network.states(target))))
    for row, stated in enumerate(evidence.to_dict("records")):
        agrees = np.ones(states.shape[1], dtype=bool)
        for name, state in stated.items():
            if not pd.isna(state):
                agrees &= states[network.names.index(name)] == network.states(name).index(state)
        result[row] = np.bincount(
            states[network.names.index(target)][agrees],
            weights=probability[agrees],
            minlength=result.shape[1],
        )
    return result


@pytest.mark.parametrize("block", range(0, N_NETWORKS, 50))
def test_agrees_with_enumeration_and_with_pgmpy(
    block, elimination_of_pgmpy, random_evidence, random_network
):
    n_enumerated = 0
    for seed in range(block, block + 50):
        network, evidence, target = drawn(seed, random_network, random_evidence)
        ours = posterior(network, evidence, target).to_numpy()
        if np.prod([len(node.states) for node in network.nodes]) <= ENUMERABLE:
            joint = enumerated(network, evidence, target)
            np.testing.assert_allclose(
                ours, joint / joint.sum(axis=1, keepdims=True), rtol=0, atol=TOLERANCE
            )
            np.testing.assert_allclose(
                evidence_probability(network, evidence), joint.sum(axis=1), rtol=TOLERANCE
            )
            n_enumerated += 1
        engine = elimination_of_pgmpy(to_pgmpy(network))
        for row, stated in enumerate(evidence.to_dict("records")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                factor = engine.query(
                    [target],
                    {name: state for name, state in stated.items() if not pd.isna(state)},
                    show_progress=False,
                )
            theirs = [
                factor.values[factor.state_names[target].index(state)]
                for state in network.states(target)
            ]
            np.testing.assert_allclose(ours[row], theirs, rtol=0, atol=TOLERANCE)
    assert n_enumerated >= 25, "most networks are small enough to be enumerated"


@pytest.mark.parametrize("seed", range(1000, 1010))
@pytest.mark.parametrize("zeros", [False, True])
def test_each_algorithm_agrees_with_enumeration(
    seed, zeros, algorithm, random_evidence, random_network
):
    network = random_network(seed, n_nodes=7, max_states=3, zeros=zeros)
    target = network.names[seed % 7]
    # Two hundred rows share patterns, and some see all covariates or none.
    evidence = random_evidence(network, 200, seed).drop(columns=target)
    evidence.iloc[0] = None
    expected = enumerated(network, evidence, target)
    codes = encode(network, evidence)
    values = elimination.joint(network, codes, (network.index(target),)).values
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        elimination.joint(network, codes).values, expected.sum(axis=1), rtol=1e-12, atol=0
    )
    assert ((values == 0) == (expected == 0)).all()
    # Parts as small as 16 KiB allow have the same sums.
    parts = elimination.joint(network, codes, (network.index(target),), max_bytes=1 << 14).values
    np.testing.assert_allclose(parts, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("seed", range(20))
def test_joints_of_several_targets_have_their_axes_in_the_order_asked_for(
    seed, algorithm, random_evidence, random_network
):
    network = random_network(seed, n_nodes=6, max_states=4)
    first, second = (int(position) for position in np.random.default_rng(seed).permutation(6)[:2])
    names = [network.names[first], network.names[second]]
    evidence = random_evidence(network, 20, seed).drop(columns=names)
    codes = encode(network, evidence)
    values = elimination.joint(network, codes, (first, second)).values
    np.testing.assert_allclose(
        values.transpose(0, 2, 1),
        elimination.joint(network, codes, (second, first)).values,
        rtol=1e-12,
    )
    for code, state in enumerate(network.states(names[0])):
        fixed = codes.copy()
        fixed[:, first] = code
        np.testing.assert_allclose(
            values[:, code],
            elimination.joint(network, fixed, (second,)).values,
            rtol=1e-12,
            err_msg=state,
        )


@pytest.mark.lengthy
def test_a_network_of_many_arrows_and_large_tables(monkeypatch):
    """More rows than share a slice: the walk along the joint table goes several levels down."""
    rng = np.random.default_rng(4)
    numbers = [5, 3, 2, 2, 2, 2, 2, 2, 2, 2, 3]
    nodes = []
    for position, number in enumerate(numbers):
        parents = list(range(position))[-7:]
        table = rng.dirichlet(np.ones(number), size=tuple(numbers[parent] for parent in parents))
        nodes.append(
            Node(
                f"v{position}",
                tuple(f"s{state}" for state in range(number)),
                tuple(f"v{parent}" for parent in parents),
                np.moveaxis(table, -1, 0),
            )
        )
    network = Network("dense", "dense", "seeded", True, tuple(nodes))
    codes = np.column_stack([rng.integers(number, size=3000) for number in numbers])
    codes[rng.random(codes.shape) < 0.5] = -1
    codes[:, 10] = -1
    codes[1500:2000, :6] = -1
    results = {}
    for name in ("joint table", "elimination", "split"):
        with monkeypatch.context() as patch:
            force(name, patch)
            results[name] = elimination.joint(network, codes, (10,)).values
    np.testing.assert_allclose(results["elimination"], results["joint table"], rtol=1e-12)
    np.testing.assert_allclose(results["split"], results["joint table"], rtol=1e-12)


def test_a_network_too_large_for_the_memory_allowed_is_an_error():
    with pytest.raises(
        InputError,
        match=r"that a row of evidence needs in network 'asia'; it is 8, and a row needs "
        r"\d+ bytes\. Observe",
    ):
        posterior(load_network("asia"), pd.DataFrame({"xray": ["yes"]}), "smoke", max_bytes=8)
