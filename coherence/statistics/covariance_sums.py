"""Components of the residual covariance: sums over contexts, their null distribution, estimates.

Every component is a sum of products of what the belief leaves of actions and of states, which is
zero on average under the null.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from coherence.inputs import Floats
from coherence.statistics.choices import ChoiceData
from coherence.statistics.exchange import (
    ASYMMETRY,
    asymmetry,
    exchanged_sums,
    policy_asymmetry,
    sign_flipped_sums,
)
from coherence.statistics.resample import (
    context_blocks,
    context_means,
    context_sums,
    permutation_pvalue,
)
from coherence.statistics.residuals import Residuals, in_several_states

# The hidden shift looks where a hidden signal shows; the other components share the rest.
SHIFT_WEIGHT = 0.8


@dataclass(frozen=True)
class Component:
    """A sum over rows that is zero on average under the null, and what scales it to an effect."""

    name: str
    weights: Floats  # (n, n_actions): what the residual of each action counts
    state: int  # column of the residuals of the truth
    information: Floats  # (n,): what a unit of the effect adds to each row of the sum

    def action(self, remains: Residuals) -> Floats:
        """Return the weighed residuals of the actions, one per row."""
        return np.asarray((self.weights * remains.action).sum(axis=1))


@dataclass(frozen=True)
class Sums:
    """Components summed by context, (n_contexts, n_components), and their null distribution."""

    names: list[str]
    scores: Floats
    scale: Floats
    skewness: list[float]
    draws: Floats
    standardised: Floats | None  # where contexts were exchanged, in place of studentised sums
    null_error: Floats  # of the estimates, under the null


def _by_context(columns: list[Floats], data: ChoiceData) -> Floats:
    sums = [context_sums(column, data.context, data.n_contexts) for column in columns]
    return np.stack(sums, axis=1)


def _weighted_minimum(studentised: Floats, weights: Floats) -> Floats:
    """Smallest weighted two-sided normal p-value over components, on the last axis."""
    return np.asarray((2 * stats.norm.sf(np.abs(studentised)) / weights).min(axis=-1))


def _exchanged(
    components: list[Component],
    data: ChoiceData,
    remains: Residuals,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats] | None:
    """Standardised sums, null distribution and its spread; None where few have a neighbour."""

    def of_contexts(columns: list[Floats]) -> Floats:
        means = [context_means(column, data.context, data.n_contexts) for column in columns]
        return np.stack(means, axis=1)

    several = in_several_states(data)
    # Two columns of beliefs are one belief and its complement.
    belief = data.belief if several else data.belief.reshape(data.n_rows, -1)[:, -1:]
    summary = of_contexts(list(belief.T))
    blocks = context_blocks(summary if several else summary[:, 0])
    if (np.bincount(blocks)[blocks] > 1).mean() < 0.5:
        return None
    action = _by_context([component.action(remains) for component in components], data)
    truth = of_contexts([remains.truth[:, component.state] for component in components])
    return exchanged_sums(action, truth, blocks, n_draws, rng)


def adjusted_pvalues(sums: Sums, weights: Floats) -> tuple[Floats, Floats]:
    """Return the normal p-value of each component alone, and adjusted for all of them."""
    studentised = sums.standardised
    if studentised is None:
        with np.errstate(invalid="ignore"):
            spread = np.sqrt((sums.scores**2).sum(axis=0))
            studentised = np.nan_to_num(sums.scores.sum(axis=0) / spread)
    minima = _weighted_minimum(sums.draws, weights)
    single = 2 * stats.norm.sf(np.abs(studentised))
    adjusted = [permutation_pvalue(-float(value), -minima) for value in single / weights]
    return single, np.array(adjusted)


def component_estimates(sums: Sums, weights: Floats) -> pd.DataFrame:
    """Estimate, standard error and p-values of each component."""
    scores, n = sums.scores, len(sums.scores)
    total = sums.scale.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = scores.sum(axis=0) / total
        # Sandwich: what is left of each context's sum once the effect is taken out of it.
        rest = scores - estimate * sums.scale
        error = np.sqrt((rest**2).sum(axis=0) * n / (n - 1)) / total
        # Shah and Peters (2020), equation 3: the same sum, studentised about its mean.
        measure = scores.mean(axis=0) / scores.std(axis=0) * math.sqrt(n)
    single, adjusted = adjusted_pvalues(sums, weights)
    return pd.DataFrame(
        {
            "component": sums.names,
            "estimate": estimate,
            "standard_error": error,
            "gcm": measure,
            "weight": weights,
            "pvalue_single": single,
            "pvalue_adjusted": adjusted,
        }
    )


def pair_components(data: ChoiceData, remains: Residuals) -> list[Component]:
    """One component for every action with every state: the difference in choice probability."""
    states = data.states[-1:] if len(data.states) == 2 else data.states
    return [
        Component(
            f"P({action} | {label}) - P({action} | not {label})",
            np.broadcast_to(np.eye(len(data.actions))[position], remains.action.shape),
            state,
            remains.truth[:, state] ** 2,
        )
        for state, label in enumerate(states)
        for position, action in enumerate(data.actions)
    ]


def weighed_components(
    data: ChoiceData, remains: Residuals, slope: Floats | None
) -> tuple[list[Component], Floats]:
    """Return all components with their weights, which sum to 1.

    `slope` weighs each action by how its probability changes with the belief, shape (n, n_actions);
    None where a shift of the belief is not defined.
    """
    components = pair_components(data, remains)
    weights: Floats = np.full(len(components), 1 / len(components))
    if slope is None:
        return components, weights
    components.append(Component("hidden shift of belief", slope, 0, np.ones(data.n_rows)))
    return components, np.append(weights * (1 - SHIFT_WEIGHT), SHIFT_WEIGHT)


def _skewness(component: Component, data: ChoiceData, remains: Residuals) -> float:
    odds = remains.truth_fit.fitted[:, component.state]
    if data.policy is not None:
        return policy_asymmetry(component.action(remains), odds, data.context, data.n_contexts)
    share = remains.action_fit.fitted
    return asymmetry(component.weights, share, odds, data.context, data.n_contexts)


def sum_components(
    components: list[Component],
    data: ChoiceData,
    remains: Residuals,
    n_draws: int,
    rng: np.random.Generator,
) -> Sums:
    """Sum the components by context and draw their null distribution; no draws if there is none."""
    products = [
        component.action(remains) * remains.truth[:, component.state] for component in components
    ]
    skewness = [_skewness(component, data, remains) for component in components]
    scores = _by_context(products, data)
    standardised: Floats | None = None
    spread = np.sqrt((scores**2).sum(axis=0))
    if max(skewness) > ASYMMETRY:
        # Signs do not imitate products of two rare things, which are hardly ever above 0.
        exchange = _exchanged(components, data, remains, n_draws, rng)
        standardised, draws, spread = exchange or (None, np.empty(0), spread)
    else:
        draws = sign_flipped_sums(scores, n_draws, rng)
    scale = _by_context([component.information for component in components], data)
    with np.errstate(invalid="ignore", divide="ignore"):
        null_error = spread / np.abs(scale.sum(axis=0))
    names = [component.name for component in components]
    return Sums(names, scores, scale, skewness, draws, standardised, null_error)
