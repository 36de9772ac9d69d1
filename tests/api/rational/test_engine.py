"""engine: errors of estimates are the spread of estimates over data sets."""

import numpy as np
import pytest

from coherence import fit_rational_agent
from coherence.rational.engine import fit_choices, influences
from coherence.rational.influence import standard_error


def test_influences_average_to_nothing_and_stack_a_quantity(drawn):
    data = drawn(4, n=100)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    of_parameters, none = influences(agent.latent, agent.chosen)
    assert none.shape == (100, 0)
    n_parameters = agent.latent.parameters.size + agent.chosen.parameters.size
    assert of_parameters.shape == (100, n_parameters)
    assert np.abs(of_parameters.mean(axis=0) / standard_error(of_parameters)).max() < 0.05

    def state(posterior, latent, utilities, reports, choices):
        return reports.truth[:, None]

    _, quantity = influences(agent.latent, agent.chosen, state)
    # A quantity that no parameter moves is its own influence.
    assert quantity[:, 0] == pytest.approx(data.truth[::5])


@pytest.mark.slow
def test_errors_of_thresholds_are_their_spread(drawn):
    """Tastes join the choices of a context; errors of single choices would be too small."""
    estimates, errors = [], []
    for seed in range(24):
        data = drawn(seed, n=200, taste=1.0)
        table = fit_rational_agent(*data.arrays, context=data.context).thresholds
        estimates.append(table["belief"].to_numpy())
        errors.append((table["high"] - table["belief"]).to_numpy() / 1.972)
    spread = np.std(estimates, axis=0, ddof=1)
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.4)
    assert np.mean(estimates, axis=0) == pytest.approx([0.3167, 0.6833], abs=0.03)


def test_the_better_of_two_starts_is_kept(drawn):
    data = drawn(6, n=150, slope=40.0, slips=0.05)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    alone = agent.chosen.model.fit(agent.latent.posterior.given_truth, agent.chosen.choices)
    again = fit_choices(agent.latent, agent.chosen.choices, agent.chosen.model)
    assert again.summit.value >= alone.value - 1e-6
