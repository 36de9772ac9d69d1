"""Whether actions know more of the state than the belief behind the reports.

Given the latent belief, state and action are independent under the null, so that given the reports
alone they covary by as much as the two curves, of calibration and of choice, covary over what the
reports leave open about the belief. That is taken off the covariance of what reports leave of state
and action; what remains has mean zero whatever joins the choices of one context.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from coherence.inputs import Floats
from coherence.rational.choice import ChoiceModel, Choices
from coherence.rational.engine import FittedBeliefs, FittedChoices, fit_choices, influences
from coherence.rational.latent import LatentModel, Posterior, Reports
from coherence.rational.weighting import powers
from coherence.result import Interval
from coherence.statistics.choices import ChoiceData, separated
from coherence.statistics.resample import Units, permutation_pvalue

MANY_CONTEXTS = 5_000
DEGREE = 3  # of the free curve of choice; thresholds and costs come from the agent's own utilities


@dataclass(frozen=True)
class Excess:
    """Covariance of state and action beyond the latent belief."""

    mean: Floats  # shape (n_actions,): mean over contexts; 0 under the null
    # shape (n_contexts, n_actions): each context's part of it, the fitting of all parameters
    # included
    influence: Floats
    # shape (n_actions,): how much each action rises with belief: what a shift of the belief would
    # be weighed with
    direction: Floats
    # what a unit of hidden shift adds to the mean along the direction, to first order
    information: float


def excess_covariance(beliefs: FittedBeliefs, choices: Choices) -> Excess:
    """Estimate what state and action share beyond the belief."""
    model = beliefs.model
    free = fit_choices(
        beliefs, choices, ChoiceModel(model.points, choices.n_actions, powers(DEGREE))
    )

    def products(
        posterior: Posterior,
        latent: Floats,
        utilities: Floats,
        reports: Reports,
        chosen: Choices,
    ) -> Floats:
        state = model.calibration(latent)
        action = free.model.probabilities(utilities)[0]
        weight = posterior.given_reports
        of_state, of_action = weight @ state, weight @ action
        left_open = weight @ (state[:, None] * action) - of_state[:, None] * of_action
        remains = reports.truth - of_state
        return np.asarray(remains[:, None] * (chosen.shares - of_action) - left_open)

    _, influence = influences(beliefs, free, products)
    mean = products(
        beliefs.posterior, beliefs.parameters, free.parameters, beliefs.reports, choices
    ).mean(axis=0)
    return Excess(mean, influence, *_direction(beliefs, choices, free))


def _direction(
    beliefs: FittedBeliefs, choices: Choices, free: FittedChoices
) -> tuple[Floats, float]:
    """Weights of the actions for a shift of the belief, and what a unit of it adds."""
    points, prior = beliefs.model.points, beliefs.model.prior(beliefs.parameters)
    linear = fit_choices(beliefs, choices, ChoiceModel(points, choices.n_actions, powers(1)))
    slopes = 2 * linear.model.utilities(linear.parameters)[1]
    slopes = slopes - slopes.mean()
    share = free.model.probabilities(free.parameters)[0]
    spread = share @ slopes**2 - (share @ slopes) ** 2
    state = beliefs.model.calibration(beliefs.parameters)
    return slopes, float(prior @ (state * (1 - state) * spread))


@dataclass(frozen=True)
class Verdict:
    """Whether actions know more of the state than the belief held."""

    # of the largest component, with their number allowed for; NaN where nothing can be told
    pvalue: float
    # difference in choice probability of every action between the states at equal belief, and the
    # shift of the belief, each with standard error and p-values
    components: pd.DataFrame
    null_distribution: str  # what the p-value was drawn from
    reason: str = ""  # why there is no p-value
    # the difference in choice probability with the smallest p-value, by name, and an interval that
    # holds for all of them at once
    surest: tuple[str, float, Interval] | None = None


SIGNS = "signs of contexts"
NO_NOISE = "reports do not scatter around a belief: residual_covariance_test is the test of them"
FORETOLD = "beliefs foretell every state without exception: nothing about it is left to chance"


def beyond_belief(
    data: ChoiceData,
    beliefs: FittedBeliefs,
    choices: Choices,
    units: Units,
    n_draws: int,
    rng: np.random.Generator,
) -> Verdict:
    """Test for covariance of state and action beyond the latent belief.

    Without noise there is nothing to take off, and residual covariance is the test.
    """
    if separated(data):
        return Verdict(np.nan, pd.DataFrame(), SIGNS, FORETOLD)
    if not isinstance(beliefs.model, LatentModel):
        return Verdict(np.nan, pd.DataFrame(), SIGNS, NO_NOISE)
    n_actions = len(data.actions)
    excess = excess_covariance(beliefs, choices)
    signs = units.said(SIGNS)
    scores = np.column_stack([excess.influence, excess.influence @ excess.direction])
    scores = units.values(scores)
    state = beliefs.model.calibration(beliefs.parameters)
    spread = float(beliefs.model.prior(beliefs.parameters) @ (state * (1 - state)))
    scale = np.append(np.full(n_actions, spread), excess.information)
    # A shift of the belief is what is looked for: it has half of the level.
    weights = np.append(np.full(n_actions, 0.5 / n_actions), 0.5)
    names = [f"P({a} | {data.states[1]}) - P({a} | {data.states[0]})" for a in data.actions]
    estimate = scores.mean(axis=0) / scale
    error = np.sqrt(((scores / scale - estimate) ** 2).sum(axis=0)) / len(scores)
    draws = _under_signs(scores, n_draws, rng)
    with np.errstate(invalid="ignore"):
        total = np.nan_to_num(scores.sum(axis=0) / np.sqrt((scores**2).sum(axis=0)))
    single = 2 * stats.norm.sf(np.abs(total))
    minima = (2 * stats.norm.sf(np.abs(draws)) / weights).min(axis=1)
    table = pd.DataFrame(
        {
            "component": [*names, "hidden shift of belief"],
            "estimate": estimate,
            "standard_error": error,
            "gcm": scores.mean(axis=0) / scores.std(axis=0) * np.sqrt(len(scores)),
            "pvalue_single": single,
            "pvalue_adjusted": [
                permutation_pvalue(-float(value), -minima) for value in single / weights
            ],
        }
    )
    at = int(np.argmin(single[:n_actions]))
    # Quantile of the largest studentised sum, and how few contexts widen a single one.
    drawn = np.abs(draws[:, :n_actions]).max(axis=1)
    times = np.quantile(drawn, 0.95) / stats.norm.ppf(0.975) * stats.t.ppf(0.975, len(scores) - 1)
    method = f"{signs}, simultaneous over {n_actions} components"
    half = float(times * error[at])
    ends = Interval(float(estimate[at]) - half, float(estimate[at]) + half, 0.95, method)
    surest = names[at], float(estimate[at]), ends.within(-1.0, 1.0)
    return Verdict(float(table["pvalue_adjusted"].min()), table, signs, surest=surest)


def _under_signs(scores: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Studentised sums under random signs of whole contexts, shape (n_draws, n_components)."""
    scale = np.sqrt((scores**2).sum(axis=0))
    unit = scores / np.where(scale > 0, scale, 1.0)
    if len(scores) > MANY_CONTEXTS:
        # The sum of so many signed terms is normal; its covariance is all that matters.
        return rng.multivariate_normal(
            np.zeros(unit.shape[1]), unit.T @ unit, size=n_draws, method="eigh"
        )
    signs = rng.integers(0, 2, size=(n_draws, len(scores)), dtype=np.int8)
    return np.asarray((2.0 * signs - 1.0) @ unit)
