"""Studies of a network's cases, planned before anyone is asked."""

import numpy as np
import pandas as pd
import pytest

import coherence
from bayesnets import Network, NetworkPopulation, Node, load_network, posterior, sample_cases
from coherence import AGENTS, InputError

ASIA = load_network("asia")
QUICK = {"n_simulations": 20, "n_draws": 99, "n_reps": 2, "rng": 1}


def studied(population, signal, n=200, n_reps=2, seed=0):
    rng = np.random.default_rng(seed)
    return population.draw(signal, n, n_reps, rng, wordings=False, iterated=False)


def test_cases_are_those_of_a_session_and_the_state_comes_from_the_posterior():
    study = studied(NetworkPopulation(ASIA, "lung"), 0.0, n=400)
    exact = study.posterior[::2]
    cases = sample_cases(ASIA, "lung", 400, rng=5)
    bins = [np.bincount((p * 20 + 1e-9).astype(int), minlength=20) for p in (exact, cases.p_true)]
    np.testing.assert_allclose(*bins, atol=1)  # the last draws go to bins by lot
    z = (study.state[::2] - exact).sum() / np.sqrt((exact * (1 - exact)).sum())
    assert abs(z) < 3.3


def two_findings():
    """A state of chance .3 with two signs of it, of which a case shows one."""
    signs = [
        Node(name, ("yes", "no"), ("ill",), [[of_ill, of_well], [1 - of_ill, 1 - of_well]])
        for name, of_ill, of_well in (("a", 0.9, 0.1), ("b", 0.6, 0.3))
    ]
    ill = Node("ill", ("yes", "no"), (), [0.3, 0.7])
    return Network("signs", "signs", "made up", True, (ill, *signs))


def test_all_findings_but_one_are_stated_and_the_weight_is_that_of_the_last():
    """Of a single finding nothing is left to state but the chance beforehand."""
    network = two_findings()
    agent = AGENTS["rational"].with_parameters(taste=0.0)
    asked = NetworkPopulation(network, "ill", agent=agent, policies=True)
    assert asked.most_contexts == 4
    seen = [{name: state} for name in "ab" for state in ("yes", "no")]
    expected = posterior(network, seen, "ill")["yes"].to_numpy()
    for weight in (0.0, 0.5, 1.0):
        study = studied(asked, weight, n=4, n_reps=1)
        exact = study.posterior
        np.testing.assert_allclose(np.sort(exact), np.sort(expected))
        np.testing.assert_allclose(study.belief, 0.3)
        acted_on = np.round((0.3 + weight * (exact - 0.3)) * 20) / 20
        policy = agent.policies(acted_on, np.zeros(4), np.zeros((4, 3)))
        np.testing.assert_allclose(study.share[:, study.actions.index("yes")], policy["yes"])


@pytest.mark.lengthy
def test_the_exact_state_sees_what_theta_does_not():
    asked = NetworkPopulation(ASIA, "lung")
    table = coherence.power(asked, n_contexts=100, signal=1.0, **QUICK).table
    power = table[table["quantity"] == "power"].set_index("check")["n_rejected"]
    assert power["sufficiency"] >= 18
    assert power["sufficiency with theta"] <= power["sufficiency"] - 5
    size = table[table["quantity"] == "size"].set_index("check")["n_rejected"]
    assert (size <= 4).all()


@pytest.mark.lengthy
def test_one_state_alone_keeps_its_numbers():
    asked = NetworkPopulation(ASIA, "lung")
    few = {"n_contexts": 30, "signal": 0.4, **QUICK, "n_simulations": 10}
    states = ("both", "exact", "realised")
    both, *each = (coherence.power(asked, **few, state=of).table for of in states)
    for alone, of_theta in zip(each, (False, True), strict=True):
        (name,) = alone["check"].unique()
        assert name.endswith("with theta") == of_theta
        expected = both[both["check"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, expected)


def test_what_a_network_has_no_answers_to_is_refused():
    asia = NetworkPopulation(ASIA, "lung")
    for options, message in (
        ({"n_contexts": 1183}, "n_contexts must not exceed the 1182 cases .*; received 1183"),
        ({"planted": "peak"}, "planted must be weight for agent rational on cases of asia"),
        ({"policies": True}, "policies must be left out for agent rational on cases of asia"),
        ({"check": "prompt_consistency"}, "does not give: other prompts"),
        ({"group": 5}, "group must be left out for cases of a network"),
        ({"state": "exakt"}, "state must be one of both, exact, realised; received 'exakt'"),
    ):
        with pytest.raises(InputError, match=message):
            coherence.power(asia, **options)
    with pytest.raises(InputError, match="agent must be the name of an agent; received 'leeky'"):
        NetworkPopulation(ASIA, "lung", agent="leeky")
    with pytest.raises(InputError, match="target_state must be a state of 'lung', not 'ja'"):
        NetworkPopulation(ASIA, "lung", "ja")
