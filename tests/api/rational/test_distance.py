"""Distance from a rational agent, and the noise that would explain a hidden shift, as planted."""

import numpy as np
import pytest

from coherence import fit_rational_agent, noise_sensitivity, rational_distance


def of(data):
    agent = fit_rational_agent(*data.arrays, context=data.context)
    return rational_distance(agent).set_index("part")


@pytest.mark.lengthy
def test_a_rational_agent_is_at_no_distance(drawn):
    tables = [of(drawn(seed, n=150)) for seed in range(12)]
    for part in ("form of the utilities", "knowledge of the state"):
        values = np.array([table["value"][part] for table in tables])
        assert abs(values.mean()) < 4 * values.std() / 3.4
        assert sum(table["low"][part] > 0 for table in tables) <= 3


@pytest.mark.lengthy
def test_the_gain_of_the_state_is_its_information(drawn):
    """Beliefs are exact here, so that the information can be summed up."""
    n, signal = 4000, 0.3
    data = drawn(1, n=n, reps=1, sd=0.0, grid=0, signal=signal)
    found = of(data)
    belief = np.linspace(0.0005, 0.9995, 1000)
    shares = []
    for side in (-0.5, 0.5):
        acted_on = belief + signal * side
        utility = np.stack([6 * (acted_on - 0.6), 6 * (0.4 - acted_on), 0.5 + 0 * belief], axis=1)
        odds = np.exp(utility)
        shares.append(odds / odds.sum(axis=1, keepdims=True))
    chances = 1 - belief, belief
    mixed = sum(chance[:, None] * share for chance, share in zip(chances, shares, strict=True))
    information = sum(
        (chance[:, None] * share * np.log(share / mixed)).sum(axis=1)
        for chance, share in zip(chances, shares, strict=True)
    ).mean()
    line = found.loc["knowledge of the state"]
    assert line["low"] < information < line["high"]
    assert line["value"] == pytest.approx(information, abs=0.012)
    rarer = np.minimum(belief, 1 - belief)
    changed = (rarer * np.abs(shares[1] - shares[0]).sum(axis=1) / 2).mean()
    answers = found.loc["answers to change"]
    assert answers["value"] == pytest.approx(changed, rel=0.15)
    assert answers["low"] < changed < answers["high"]


@pytest.mark.lengthy
def test_utilities_of_another_form_are_a_distance_of_their_own(drawn):
    """Acting pays at both ends and not in the middle: no line, no knowledge of the state."""
    data = drawn(2, n=1500, reps=2, sd=0.1)
    wave = 2 * np.cos(2 * np.pi * data.belief[data.context])
    rng = np.random.default_rng(3)
    action = np.where(rng.random(wave.size) < 1 / (1 + np.exp(-wave)), "act", "wait")
    agent = fit_rational_agent(data.report, action, data.truth, context=data.context)
    found = rational_distance(agent).set_index("part")
    assert found["low"]["form of the utilities"] > 0
    assert found["low"]["knowledge of the state"] == 0


def shared(seed, sd, n=400):
    """A coherent agent all of whose reports of a context miss by the same normal error."""
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    truth = (rng.random(n) < belief).astype(int).repeat(3)
    centre = np.clip(belief + sd * rng.normal(size=n), 0, 1)
    report = np.clip(centre.repeat(3) + 0.03 * rng.normal(size=3 * n), 0, 1).round(2)
    chosen = rng.random(3 * n) < 1 / (1 + np.exp(-8 * (belief.repeat(3) - 0.5)))
    action = np.where(chosen, "a", "b")
    return fit_rational_agent(report, action, truth, context=np.arange(3 * n) // 3)


@pytest.mark.slow
def test_planted_shared_noise_is_what_explains_the_shift():
    agent = shared(1, 0.12)
    assert agent.hidden_shift[1].low > 0  # repetitions do not show it, and the agent is accused
    found = noise_sensitivity(agent, shared_noise=[0.0, 0.12])
    assert found.explains_interval < 0.12
    assert found.explains_all == pytest.approx(0.12, abs=0.05)
    curve = found.curve.set_index("shared_noise")
    assert curve["hidden_shift"][0.0] == pytest.approx(agent.hidden_shift[0])
    assert curve["low"][0.12] < 0 < curve["high"][0.12]
    assert f"of {found.explains_interval:.3f} to leave no sign" in str(found)


@pytest.mark.lengthy
def test_what_no_noise_is_seen_to_explain_has_a_bound(drawn):
    data = drawn(4, n=150, signal=1.5, sd=0.02)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    found = noise_sensitivity(agent, shared_noise=[0.0])
    # Before the interval reaches 0 choices are no longer seen to follow the belief.
    assert found.lost
    assert found.interval_is_bound
    assert found.all_is_bound
    assert 0.075 <= found.explains_interval <= found.explains_all < 0.4
    assert f"more than {found.explains_all:.3f} to explain all" in str(found)
    assert "no hidden shift can be told" in str(found)


@pytest.mark.lengthy
def test_a_shift_that_may_be_nothing_needs_no_noise(drawn):
    data = drawn(3, n=100)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    assert noise_sensitivity(agent, shared_noise=[0.0]).explains_interval == 0
