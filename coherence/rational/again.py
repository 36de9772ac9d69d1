"""The hidden shift of a twin, fitted from where the agent that it is a twin of was.

A twin is much like what its agent was fitted to, so that one ascent from that agent's parameters
comes to the same end as several from afar, in a fraction of the time.
"""

import math

import numpy as np

from coherence.rational.agent import RationalAgent
from coherence.rational.choice import ChoiceModel, choices_of
from coherence.rational.exact import exact_beliefs
from coherence.rational.fit import lacking
from coherence.rational.latent import LatentModel, Reports
from coherence.rational.weighting import powers
from coherence.statistics.choices import ChoiceData, one_dimensional

CLOSE_ENOUGH = 1e-7  # gain per context: what is left is hundreds of times less than an error


def shift_of_twin(data: ChoiceData, agent: RationalAgent) -> float:
    """Estimate the hidden shift at equal belief held, without its interval."""
    if lacking(data) or data.actions != agent.data.actions:
        return math.nan
    belief = one_dimensional(data, "shift_of_twin")
    truth = np.zeros(data.n_contexts)
    truth[data.context] = data.truth
    choices = choices_of(data.share, data.context, truth)
    model, start = agent.latent.model, agent.latent.parameters
    if isinstance(model, LatentModel):
        levels = model.scale.levels.size
        codes = data.context * levels + model.scale.codes(belief)
        counts = np.bincount(codes, minlength=data.n_contexts * levels).reshape(-1, levels)
        reports = Reports(model.scale, counts.astype(np.float64), truth)
        parameters = model.fit(reports, 0.0, start=start, close=CLOSE_ENOUGH).parameters
        weight, points = model.posterior(parameters, reports).given_truth, model.points
    else:
        exact = exact_beliefs(belief, data.context, data.n_contexts)
        weight, points = exact.weight, exact.points
    shifted = ChoiceModel(points, len(data.actions), powers(1, shifted=True))
    summit = shifted.fit(weight, choices, agent.shifted.parameters)
    return float(summit.parameters[-1])
