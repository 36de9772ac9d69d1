"""Posteriors: breaks if one leaves enumeration, or rows, chunks or types of columns matter."""

import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node, evidence_probability, load_network, posterior
from coherence import InputError

ASIA = load_network("asia")


def test_asia_by_hand():
    # Given smoke=yes: lung .1, tub .0104 (asia unobserved), bronc .6; dysp=yes given either is .82,
    # given not either .52.
    lung, tub = 0.1, 0.01 * 0.05 + 0.99 * 0.01
    with_cancer = lung * 0.98 * 0.82
    without = (1 - lung) * (tub * 0.98 * 0.82 + (1 - tub) * 0.05 * 0.52)
    evidence = pd.DataFrame({"xray": ["yes"], "smoke": ["yes"], "dysp": ["yes"]})
    exact = with_cancer / (with_cancer + without)
    assert posterior(ASIA, evidence, "lung").loc[0, "yes"] == pytest.approx(exact, abs=1e-14)
    chance = 0.5 * (with_cancer + without)
    assert evidence_probability(ASIA, evidence)[0] == pytest.approx(chance, abs=1e-14)


def test_no_rows_give_no_rows():
    assert posterior(ASIA, pd.DataFrame({"smoke": []}), "tub").shape == (0, 2)
    assert posterior(ASIA, pd.DataFrame({"smoke": []}), ["tub", "lung"]).shape == (0, 4)
    assert evidence_probability(ASIA, pd.DataFrame()).empty


def test_an_observed_target_is_a_point_mass_where_possible():
    evidence = pd.DataFrame({"lung": ["no", "yes", "no"], "either": ["yes", "no", None]})
    table = posterior(ASIA, evidence, "lung", errors="nan")
    assert table.loc[[0, 2]].to_numpy().tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert table.loc[1].isna().all()


def test_impossible_evidence_names_the_rows_or_gives_nan():
    columns = {"tub": ["yes", "yes", None], "either": ["no", "yes", "no"]}
    evidence = pd.DataFrame(columns, index=["ann", "bo", "cy"])
    with pytest.raises(InputError, match=r"1 of 3 rows have probability zero, at ann\. .*'nan'"):
        posterior(ASIA, evidence, "smoke")
    table = posterior(ASIA, evidence, "smoke", errors="nan")
    assert table.isna().all(axis=1).tolist() == [True, False, False]
    assert evidence_probability(ASIA, evidence)["ann"] == 0


@pytest.mark.parametrize("seed", range(2))
def test_chunks_splits_and_row_order_do_not_matter(seed, random_evidence, random_network):
    network = random_network(seed, n_nodes=7)
    evidence = random_evidence(network, 200, seed)
    target = network.names[-1]
    expected = posterior(network, evidence, target)
    chunks = posterior(network, evidence, target, max_bytes=2048)
    np.testing.assert_allclose(chunks, expected, atol=1e-13)
    shuffled = posterior(network, evidence.sample(frac=1, random_state=seed), target)
    np.testing.assert_allclose(shuffled.loc[expected.index], expected, atol=1e-13)


def test_the_joint_posterior_of_several_targets(full_joint, random_evidence, random_network):
    network = random_network(3, n_nodes=5, max_states=3)
    names = [network.names[position] for position in (4, 1, 2)]
    evidence = random_evidence(network, 15, 3).drop(columns=names)
    table = posterior(network, evidence, names)
    assert list(table.columns.names) == names
    codes, probability = full_joint(network)
    joint = pd.DataFrame(
        {n: np.array(network.states(n))[c] for n, c in zip(network.names, codes, strict=True)}
    )
    for row, observed in enumerate(evidence.to_dict("records")):
        seen = {name: state for name, state in observed.items() if state is not None}
        agrees = (joint[list(seen)] == list(seen.values())).all(axis=1)
        expected = (probability * agrees).groupby([joint[name] for name in names]).sum()
        expected = (expected / expected.sum()).reindex(table.columns)
        np.testing.assert_allclose(table.iloc[row], expected, atol=1e-12)
    # Summed over the others, it is the posterior of one; one target in a list keeps its level.
    alone = posterior(network, evidence, names[1])
    summed = table.T.groupby(level=names[1]).sum().T[list(alone)]
    np.testing.assert_allclose(summed, alone, atol=1e-12)
    np.testing.assert_allclose(posterior(network, evidence, names[1:2]), alone, atol=1e-15)


def test_whole_numbers_stand_for_states_of_that_spelling():
    a = Node("a", ("0", "1"), (), np.array([0.4, 0.6]))
    network = Network("n", "n", "test", True, (a, Node("b", ("0", "1"), ("a",), np.eye(2))))
    evidence = pd.DataFrame({"b": [0, 1, None]})
    assert evidence["b"].dtype == float
    assert posterior(network, evidence, "a")["1"].tolist() == [0.0, 1.0, 0.6]
    with pytest.raises(InputError, match=r"the first is 0\.5 at 1\."):
        posterior(network, pd.DataFrame({"b": [0, 0.5]}), "a")


@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_any_column_type_holds_states(dtype):
    evidence = pd.DataFrame({"smoke": pd.Series(["yes", None, "no"], dtype=dtype)})
    assert posterior(ASIA, evidence, "lung")["yes"].tolist() == pytest.approx([0.1, 0.055, 0.01])


def causes_and_findings(likelihoods):
    """Causes, and findings with P(present | states of all causes)."""
    first = [0.2 + 0.1 * number for number in range(likelihoods.ndim - 1)]
    causes = [
        Node(f"cause{n}", ("yes", "no"), (), np.array([p, 1 - p])) for n, p in enumerate(first)
    ]
    parents, states = tuple(cause.name for cause in causes), ("present", "absent")
    findings = [
        Node(f"f{n}", states, parents, np.stack([p, 1 - p])) for n, p in enumerate(likelihoods)
    ]
    return Network("findings", "findings", "test", True, (*causes, *findings))


def present(*numbers):
    return {f"f{number}": "present" for number in numbers}


def in_logarithms(network, likelihoods):
    """log P(states of all causes, all findings present), by sums."""
    n_causes = likelihoods.ndim - 1
    logs = [np.log(network.node(f"cause{number}").table) for number in range(n_causes)]
    prior = logs[0] if n_causes == 1 else logs[0][:, None] + logs[1]
    with np.errstate(divide="ignore"):
        return prior + np.log(likelihoods).sum(axis=0)


@pytest.mark.parametrize("n_causes", [1, 2])
@pytest.mark.parametrize(("n_findings", "size"), [(300, 0.1), (316, 0.1), (323, 0.1), (500, 1e-4)])
def test_evidence_of_hundreds_of_findings_has_the_posterior_that_logarithms_give(
    n_findings, size, n_causes
):
    # Products of that many numbers lose their digits from 1e-308 on, and are zero from 1e-324 on.
    rng = np.random.default_rng(n_findings)
    likelihoods = size * rng.uniform(0.9, 1.1, size=(n_findings, *[2] * n_causes))
    network = causes_and_findings(likelihoods)
    logs = in_logarithms(network, likelihoods)
    total = np.logaddexp.reduce(logs, axis=None)
    assert total / np.log(10) == pytest.approx(n_findings * np.log10(size), rel=0.02)
    evidence = pd.DataFrame([present(*range(n_findings))])
    table = posterior(network, evidence, [f"cause{number}" for number in range(n_causes)])
    np.testing.assert_allclose(table.iloc[0], np.exp(logs - total).ravel(), rtol=1e-10)
    expected = np.exp(logs - total).reshape(2, -1).sum(axis=1)
    np.testing.assert_allclose(posterior(network, evidence, "cause0").iloc[0], expected, rtol=1e-10)
    measured = evidence_probability(network, evidence, log=True)
    assert measured[0] == pytest.approx(total, rel=1e-12)


def test_only_a_probability_of_exactly_zero_is_impossible():
    likelihoods = np.full((700, 2), 0.1)
    likelihoods[3] = 0.0
    network = causes_and_findings(likelihoods)
    seen = present(*set(range(700)) - {3})
    evidence = pd.DataFrame([seen, {**seen, "f3": "present"}])
    table = posterior(network, evidence, "cause0", errors="nan")
    assert table["yes"].isna().tolist() == [False, True]
    logs = evidence_probability(network, evidence, log=True)
    assert logs.tolist() == [pytest.approx(699 * np.log(0.1)), -np.inf]
    with pytest.warns(UserWarning, match=r"1 of 2 rows are possible, .* Pass log=True"):
        assert evidence_probability(network, evidence).tolist() == [0, 0]


def test_more_distinct_rows_than_one_integer_key_can_hold():
    # 60 binary children that all bear on their parent need a key of 3^60 values.
    table = np.array([[0.6, 0.5], [0.4, 0.5]])
    nodes = [Node("v0", ("a", "b"), (), np.array([0.3, 0.7]))]
    nodes += [Node(f"v{i}", ("a", "b"), ("v0",), table) for i in range(1, 61)]
    star = Network("star", "star", "test", True, tuple(nodes))
    rng = np.random.default_rng(3)
    evidence = pd.DataFrame({f"v{i}": rng.choice(["a", "b"], size=300) for i in range(1, 61)})
    ratio = 0.3 / 0.7 * np.where(evidence == "a", 1.2, 0.8).prod(axis=1)
    np.testing.assert_allclose(
        posterior(star, evidence, "v0")["a"], ratio / (1 + ratio), atol=1e-12
    )
