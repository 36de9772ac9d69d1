"""The fitted parts of a rational agent and how estimates depend on the contexts.

Stage one is the latent belief (`coherence.rational.latent`), stage two a choice model given what
stage one knows of each belief. Any further quantity of contexts can be stacked on top of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coherence.inputs import Floats
from coherence.rational.ascent import Penalty, Summit
from coherence.rational.choice import ChoiceModel, Choices
from coherence.rational.estimating import Equations, derivative, inverse_of
from coherence.rational.exact import ExactBeliefs
from coherence.rational.latent import LatentModel, Posterior, Reports

# Derivatives of means are taken over this many contexts, evenly spaced: they are averages, which
# more contexts would hardly change.
MOST_DIFFERENTIATED = 2_000

Quantity = Callable[[Posterior, Floats, Floats, Reports, Choices], Floats]
"""Posterior, parameters of both stages, reports and choices -> (n_contexts, n_quantities)."""


@dataclass(frozen=True)
class FittedBeliefs:
    """Stage one at its solution."""

    model: LatentModel | ExactBeliefs
    reports: Reports
    parameters: Floats
    posterior: Posterior
    penalty: Penalty
    summit: Summit


@dataclass(frozen=True)
class FittedChoices:
    """Stage two at its solution."""

    model: ChoiceModel
    choices: Choices
    parameters: Floats
    summit: Summit


def fit_choices(beliefs: FittedBeliefs, choices: Choices, model: ChoiceModel) -> FittedChoices:
    """Fit choices given stage one, from flat and from steep utilities, and keep the better."""
    weight = beliefs.posterior.given_truth
    flat = model.fit(weight, choices)
    steep = flat.parameters.copy()
    steep[: model.n_utilities] *= 4.0
    if model.lapsing:
        steep[model.n_utilities] = -1.0
    summit = max(flat, model.fit(weight, choices, steep), key=lambda end: end.value)
    return FittedChoices(model, choices, summit.parameters, summit)


def influences(
    beliefs: FittedBeliefs, chosen: FittedChoices, quantity: Quantity | None = None
) -> tuple[Floats, Floats]:
    """Return the influence of every context on all parameters, and on a quantity of contexts.

    Parameters
    ----------
    beliefs, chosen : FittedBeliefs, FittedChoices
        Both stages.
    quantity : callable, optional
        See `Quantity`; its mean over contexts is what is estimated.

    Returns
    -------
    of_parameters : ndarray, shape (n_contexts, n_parameters of both stages)
        Mean zero up to the convergence of the fits.
    of_quantity : ndarray, shape (n_contexts, n_quantities)
        With the mean of the quantity itself; no columns without a quantity.
    """
    n = beliefs.reports.n_contexts
    first = beliefs.parameters.size
    both = np.concatenate([beliefs.parameters, chosen.parameters])
    second = chosen.model.penalty

    def stacked(parameters: Floats, reports: Reports, choices: Choices) -> tuple[Floats, Floats]:
        latent, utilities = parameters[:first], parameters[first:]
        posterior = beliefs.model.posterior(latent, reports)
        scores = np.column_stack(
            [
                posterior.scores - beliefs.penalty.slope(latent) / n,
                chosen.model.scores(utilities, posterior.given_truth, choices)
                - second.slope(utilities) / n,
            ]
        )
        values = (
            np.empty((len(scores), 0))
            if quantity is None
            else quantity(posterior, latent, utilities, reports, choices)
        )
        return scores, values

    some = np.unique(np.linspace(0, n - 1, min(n, MOST_DIFFERENTIATED)).astype(np.int64))
    few = beliefs.reports.some(some), chosen.choices.some(some)

    def means(parameters: Floats) -> Floats:
        return np.concatenate([part.mean(axis=0) for part in stacked(parameters, *few)])

    slopes = derivative(means, both)
    scores, values = stacked(both, beliefs.reports, chosen.choices)
    equations = Equations(scores, inverse_of(slopes[: both.size]))
    return equations.influence, values + equations.of(slopes[both.size :])
