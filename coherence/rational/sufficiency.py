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
from coherence.statistics.choices import ChoiceData
from coherence.statistics.covariance_sums import (
    SHIFT_WEIGHT,
    Component,
    Sums,
    component_estimates,
    pair_components,
    sum_components,
)
from coherence.statistics.exchange import sign_flipped_sums
from coherence.statistics.hidden_shift import hidden_shift
from coherence.statistics.residuals import residuals, separated

DEGREE = 3  # of the free curve of choice; thresholds and costs come from the agent's own utilities


@dataclass(frozen=True)
class Excess:
    """Covariance of state and action beyond the latent belief.

    Parameters
    ----------
    mean : ndarray, shape (n_actions,)
        Mean over contexts; 0 under the null.
    influence : ndarray, shape (n_contexts, n_actions)
        Each context's part of it, the fitting of all parameters included.
    direction : ndarray, shape (n_actions,)
        How much each action rises with belief: what a shift of the belief would be weighed with.
    information : float
        What a unit of hidden shift adds to the mean along the direction, to first order.
    """

    mean: Floats
    influence: Floats
    direction: Floats
    information: float


def excess_covariance(beliefs: FittedBeliefs, choices: Choices) -> Excess:
    """Estimate what state and action share beyond the belief.

    Parameters
    ----------
    beliefs : FittedBeliefs
        Latent beliefs, with noise.
    choices : Choices
        Choices of the same contexts.

    Returns
    -------
    Excess
        For each action.
    """
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
    """Whether actions know more of the state than the belief held.

    Parameters
    ----------
    pvalue : float
        Of the largest component, with their number allowed for; NaN where nothing can be told.
    components : DataFrame
        Difference in choice probability of every action between the states at equal belief, and the
        shift of the belief, each with standard error and p-values.
    null_distribution : str
        What the p-value was drawn from.
    reason : str
        Why there is no p-value.
    surest : tuple of (str, float, Interval), optional
        The difference in choice probability with the smallest p-value, by name, and an interval
        that holds for all of them at once.
    """

    pvalue: float
    components: pd.DataFrame
    null_distribution: str
    reason: str = ""
    surest: tuple[str, float, Interval] | None = None


SIGNS, EXCHANGES = "signs of contexts", "exchange of contexts"
FORETOLD = "beliefs foretell nearly every state: too little about it is left to chance"


def beyond_belief(
    data: ChoiceData,
    beliefs: FittedBeliefs,
    choices: Choices,
    n_draws: int,
    rng: np.random.Generator,
) -> Verdict:
    """Test for covariance of state and action beyond the latent belief.

    Where reports have no noise this is the residual covariance with the same components.

    Parameters
    ----------
    data : ChoiceData
        What was fitted.
    beliefs, choices : FittedBeliefs, Choices
        Latent beliefs and choices of its contexts.
    n_draws : int
        Sign assignments.
    rng : Generator
        Their source.

    Returns
    -------
    Verdict
        p-value and components.
    """
    n_actions = len(data.actions)
    weights = np.full(n_actions, (1 - SHIFT_WEIGHT) / n_actions)
    weights = np.append(weights, SHIFT_WEIGHT)
    if separated(data):
        return Verdict(np.nan, pd.DataFrame(), SIGNS, FORETOLD)
    if not isinstance(beliefs.model, LatentModel):
        return _without_noise(data, weights, n_draws, rng)
    excess = excess_covariance(beliefs, choices)
    scores = np.column_stack([excess.influence, excess.influence @ excess.direction])
    state = beliefs.model.calibration(beliefs.parameters)
    spread = float(beliefs.model.prior(beliefs.parameters) @ (state * (1 - state)))
    scale = np.append(np.full(n_actions, spread), excess.information)
    draws = sign_flipped_sums(scores, n_draws, rng)
    names = [f"P({a} | {data.states[1]}) - P({a} | {data.states[0]})" for a in data.actions]
    sums = Sums(
        [*names, "hidden shift of belief"],
        scores,
        np.broadcast_to(scale, scores.shape),
        [0.0] * (n_actions + 1),
        draws,
        None,
        np.zeros(n_actions + 1),
    )
    return _judged(sums, weights, SIGNS)


def _without_noise(
    data: ChoiceData, weights: Floats, n_draws: int, rng: np.random.Generator
) -> Verdict:
    remains, chooser = residuals(data)
    if chooser is None or not remains.action.any():
        return Verdict(1.0, pd.DataFrame(), SIGNS, "beliefs foretell every choice")
    shift = hidden_shift(data, remains, chooser)
    ones = np.ones(data.n_rows)
    components = pair_components(data, remains)
    components.append(Component("hidden shift of belief", shift.slope, 0, ones))
    sums = sum_components(components, data, remains, n_draws, rng)
    exchanged = sums.standardised is not None
    if not sums.draws.size:
        return Verdict(np.nan, pd.DataFrame(), EXCHANGES, "few contexts have a neighbour")
    return _judged(sums, weights, EXCHANGES if exchanged else SIGNS)


def _judged(sums: Sums, weights: Floats, null_distribution: str) -> Verdict:
    table = component_estimates(sums, weights)
    pvalue = float(table["pvalue_adjusted"].min())
    return Verdict(pvalue, table, null_distribution, surest=_surest(sums, table))


def _surest(sums: Sums, table: pd.DataFrame) -> tuple[str, float, Interval]:
    """Difference in choice probability that is selected, with an interval that allows for it."""
    n_pairs, n_contexts = len(table) - 1, len(sums.scores)
    at = int(np.argmin(table["pvalue_single"][:n_pairs]))
    drawn = np.abs(sums.draws[:, :n_pairs]).max(axis=1)
    # Quantile of the largest studentised sum, and how few contexts widen a single one.
    times = np.quantile(drawn, 0.95) / stats.norm.ppf(0.975) * stats.t.ppf(0.975, n_contexts - 1)
    estimate, error = float(table["estimate"][at]), float(table["standard_error"][at])
    method = f"signs of contexts, simultaneous over {n_pairs} components"
    ends = Interval(estimate - times * error, estimate + times * error, 0.95, method)
    return sums.names[at], estimate, ends.within(-1.0, 1.0)
