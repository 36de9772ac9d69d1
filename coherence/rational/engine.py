"""The fitted parts of a rational agent and how estimates depend on the contexts.

Stage one is the latent belief (`coherence.rational.latent`), stage two a choice model given what
stage one knows of each belief. Any further quantity of contexts can be stacked on top of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.rational.ascent import Penalty, Summit
from coherence.rational.choice import ChoiceModel, Choices
from coherence.rational.exact import ExactBeliefs
from coherence.rational.influence import STEP, derivative, influence_of
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

    @cached_property
    def differentiated(self) -> Codes:
        """Contexts over which derivatives of means are taken."""
        n = self.reports.n_contexts
        return np.unique(np.linspace(0, n - 1, min(n, MOST_DIFFERENTIATED)).astype(np.int64))

    @cached_property
    def nearby(self) -> list[tuple[Floats, Posterior]]:
        """Posteriors of those contexts a step above and below in each parameter, then in none.

        Every stage two needs them, and they cost more than what is made of them.
        """
        some = self.reports.some(self.differentiated)
        unit = STEP * np.eye(self.parameters.size)
        steps = np.concatenate([unit, -unit, np.zeros((1, self.parameters.size))])
        moved = self.parameters + steps
        return [(parameters, self.model.posterior(parameters, some)) for parameters in moved]


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
    """Return the influence of every context on all parameters, and on a quantity of contexts."""
    n, utilities = beliefs.reports.n_contexts, chosen.parameters
    latent, second = beliefs.parameters, chosen.model.penalty

    def stacked(
        parameters: Floats, posterior: Posterior, utilities: Floats, reports: Reports, made: Choices
    ) -> tuple[Floats, Floats]:
        scores = np.column_stack(
            [
                posterior.scores - beliefs.penalty.slope(parameters) / n,
                chosen.model.scores(utilities, posterior.given_truth, made)
                - second.slope(utilities) / n,
            ]
        )
        values = (
            np.empty((len(scores), 0))
            if quantity is None
            else quantity(posterior, parameters, utilities, reports, made)
        )
        return scores, values

    some = beliefs.differentiated
    few = beliefs.reports.some(some), chosen.choices.some(some)

    def means(parameters: Floats, posterior: Posterior, utilities: Floats) -> Floats:
        parts = stacked(parameters, posterior, utilities, *few)
        return np.concatenate([part.mean(axis=0) for part in parts])

    around = [means(*nearby, utilities) for nearby in beliefs.nearby[:-1]]
    above, below = np.split(np.stack(around, axis=-1), 2, axis=-1)
    by_utilities = derivative(lambda moved: means(*beliefs.nearby[-1], moved), utilities)
    slopes = np.column_stack([(above - below) / (2 * STEP), by_utilities])
    scores, values = stacked(latent, beliefs.posterior, utilities, beliefs.reports, chosen.choices)
    influence = influence_of(scores, slopes[: slopes.shape[1]])
    return influence, values + influence @ slopes[slopes.shape[1] :].T
