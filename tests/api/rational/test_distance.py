"""rational_distance: nothing where there is nothing, and the exact share where there is."""

import numpy as np
import pytest

from coherence import fit_rational_agent, rational_distance


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
