"""noise_sensitivity: the amount that was planted explains, and less does not."""

import numpy as np
import pytest

from coherence import fit_rational_agent, noise_sensitivity


def shared(seed, sd, n=400):
    """A coherent agent all of whose reports of a context miss by the same normal error."""
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    truth = (rng.random(n) < belief).astype(int).repeat(3)
    centre = np.clip(belief + sd * rng.normal(size=n), 0, 1)
    report = np.clip(centre.repeat(3) + 0.03 * rng.normal(size=3 * n), 0, 1).round(2)
    chosen = rng.random(3 * n) < 1 / (1 + np.exp(-8 * (belief.repeat(3) - 0.5)))
    return fit_rational_agent(
        report, np.where(chosen, "a", "b"), truth, context=np.arange(3 * n) // 3
    )


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
def test_a_shift_that_may_be_nothing_needs_no_noise(drawn):
    data = drawn(3, n=100)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    found = noise_sensitivity(agent, shared_noise=[0.0])
    assert found.explains_interval == 0
    assert str(found).startswith("The hidden shift may be 0 without any noise")


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
