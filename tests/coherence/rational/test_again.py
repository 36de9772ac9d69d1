"""The shift of a twin is the one that a fit from afar finds."""

import numpy as np
import pytest

from coherence import fit_rational_agent, sample_twin
from coherence.rational.again import shift_of_twin
from coherence.statistics.choices import as_choices


@pytest.mark.parametrize("sd", [0.15, 0.0])
def test_one_ascent_finds_what_several_find(drawn, sd):
    data = drawn(1, n=150, signal=0.3, sd=sd)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    twin = sample_twin(agent, rng=2)
    arrays = twin["p"], twin["action"], twin["theta"]
    afar = fit_rational_agent(*arrays, context=twin["context"])
    near = shift_of_twin(as_choices(*arrays, twin["context"], oriented=True), agent)
    assert near == pytest.approx(afar.shifted.parameters[-1], abs=5e-4)


def test_a_twin_without_an_action_of_the_agent_has_none(drawn):
    data = drawn(2, n=60)
    agent = fit_rational_agent(*data.arrays, context=data.context)
    twin = sample_twin(agent, rng=2)
    fewer = twin[twin["action"] != agent.data.actions[0]]
    arrays = fewer["p"], fewer["action"], fewer["theta"]
    assert np.isnan(shift_of_twin(as_choices(*arrays, fewer["context"], oriented=True), agent))
