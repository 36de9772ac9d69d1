"""Posteriors of random networks against enumeration and pgmpy's variable elimination."""

import dataclasses
import logging
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesnets import elimination, evidence_probability, posterior, to_pgmpy

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
        dear = lambda *of: dataclasses.replace(plan(*of), cost=np.inf)  # noqa: E731
        monkeypatch.setattr(elimination, "_plan", dear)
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


def enumerated(network, evidence, target, full_joint):
    """P(target, evidence) by adding up all joint states that agree with the evidence."""
    states, probability = full_joint(network)
    position, number = network.names.index(target), len(network.states(target))
    result = np.zeros((len(evidence), number))
    for row, seen in enumerate(encode(network, evidence)):
        agrees = ((seen[:, None] == states) | (seen[:, None] < 0)).all(axis=0)
        weights = probability[agrees]
        result[row] = np.bincount(states[position][agrees], weights=weights, minlength=number)
    return result


@pytest.mark.parametrize("block", range(0, 80, 40))
def test_agrees_with_enumeration_and_with_pgmpy(
    block, elimination_of_pgmpy, random_evidence, random_network, full_joint
):
    """Networks of 2 to 12 nodes with 2 to 4 states, evidence on about half, and a target."""
    n_enumerated = 0
    for seed in range(block, block + 40):
        n_nodes = int(np.random.default_rng(seed).integers(2, 13))
        network = random_network(seed, n_nodes=n_nodes, max_states=4, max_parents=3)
        target = network.names[seed % n_nodes]
        evidence = random_evidence(network, 5, seed).drop(columns=target)
        ours = posterior(network, evidence, target).to_numpy()
        if np.prod([len(node.states) for node in network.nodes]) <= ENUMERABLE:
            joint = enumerated(network, evidence, target, full_joint)
            expected = joint / joint.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=TOLERANCE)
            chance = evidence_probability(network, evidence)
            np.testing.assert_allclose(chance, joint.sum(axis=1), rtol=TOLERANCE)
            n_enumerated += 1
        engine = elimination_of_pgmpy(to_pgmpy(network))
        for row, stated in enumerate(evidence.to_dict("records")):
            seen = {name: state for name, state in stated.items() if not pd.isna(state)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                factor = engine.query([target], seen, show_progress=False)
            order = [factor.state_names[target].index(state) for state in network.states(target)]
            np.testing.assert_allclose(ours[row], factor.values[order], rtol=0, atol=TOLERANCE)
    assert n_enumerated >= 20, "most networks are small enough to be enumerated"


@pytest.mark.parametrize("seed", range(1000, 1004))
@pytest.mark.parametrize("zeros", [False, True])
def test_each_algorithm_agrees_with_enumeration(
    seed, zeros, algorithm, random_evidence, random_network, full_joint
):
    network = random_network(seed, n_nodes=7, max_states=3, zeros=zeros)
    target = network.names[seed % 7]
    # Two hundred rows share patterns, and some see all covariates or none.
    evidence = random_evidence(network, 200, seed).drop(columns=target)
    evidence.iloc[0] = None
    expected = enumerated(network, evidence, target, full_joint)
    codes, of = encode(network, evidence), (network.index(target),)
    values = elimination.joint(network, codes, of).values
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=0)
    chance = elimination.joint(network, codes).values
    np.testing.assert_allclose(chance, expected.sum(axis=1), rtol=1e-12, atol=0)
    assert ((values == 0) == (expected == 0)).all()
    # Parts as small as 16 KiB allow have the same sums.
    parts = elimination.joint(network, codes, of, max_bytes=1 << 14).values
    np.testing.assert_allclose(parts, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("seed", [0, 5, 10, 19])
def test_joints_of_several_targets_have_their_axes_in_the_order_asked_for(
    seed, algorithm, random_evidence, random_network
):
    network = random_network(seed, n_nodes=6, max_states=4)
    first, second = (int(position) for position in np.random.default_rng(seed).permutation(6)[:2])
    names = [network.names[first], network.names[second]]
    codes = encode(network, random_evidence(network, 20, seed).drop(columns=names))
    values = elimination.joint(network, codes, (first, second)).values
    turned = elimination.joint(network, codes, (second, first)).values
    np.testing.assert_allclose(values.transpose(0, 2, 1), turned, rtol=1e-12)
    for code in range(len(network.states(names[0]))):
        fixed = codes.copy()
        fixed[:, first] = code
        expected = elimination.joint(network, fixed, (second,)).values
        np.testing.assert_allclose(values[:, code], expected, rtol=1e-12)
