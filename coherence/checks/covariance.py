"""Belief sufficiency by residual covariance: whether actions move with the truth at equal belief.

The generalised covariance measure of Shah and Peters (2020) with the context as unit: smooth
regressions on the belief take out of the actions and of the truth what the belief explains, and the
products of what is left are summed by context. A weighted component in the sense of Scheidegger,
Hoerrmann and Buehlmann (2022) looks where a hidden signal must show: it weighs each action by how
its probability changes with the belief, which makes it the score test for an agent that acts on
belief plus a multiple of the truth.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import Call, CallsAndNotes, Check, Facts, Sentences
from coherence.choices import ChoiceData, as_choices
from coherence.inputs import Floats, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.exchange import (
    ASYMMETRY,
    NO_INTERVAL,
    asymmetry,
    exchanged_sums,
    policy_asymmetry,
    sign_flipped_sums,
)
from coherence.statistics.hidden_shift import Shift, hidden_shift
from coherence.statistics.resample import (
    Seed,
    as_generator,
    context_blocks,
    context_means,
    context_sums,
    permutation_pvalue,
)
from coherence.statistics.residuals import Residuals, in_several_states, residuals, separated
from coherence.table.needs import JUDGED_CHOICES

NULL = (
    "given belief, action and truth are uncorrelated in every smooth direction "
    "(implied by independence)"
)
UNIT = "belief"
SEPARATED = (
    "a threshold of the belief separates the states, "
    "which leaves no other state to compare with at equal belief"
)
SETTLED = "the stated belief settles the action, and leaves the state nothing to move"
RARE = "no interval: a rare action and a rare state are seen together too seldom"
ALONE = (
    "a rare action and a rare state together are seen too seldom, "
    "and most contexts have no neighbour of similar belief to be compared with"
)
UNIDENTIFIED = "the hidden shift is not identified: choice does not follow the belief"
BEYOND = "no interval: no two beliefs differ by so much, the approximation has ended before"
METHOD = "sandwich error, contexts as units"
# The hidden shift looks where a hidden signal shows; the other components share the rest.
SHIFT_WEIGHT = 0.8


@dataclass(frozen=True)
class _Component:
    """A sum over rows that is zero on average under the null, and what scales it to an effect."""

    name: str
    weights: Floats  # (n, n_actions): what the residual of each action counts
    state: int  # column of the residuals of the truth
    information: Floats  # (n,): what a unit of the effect adds to each row of the sum

    def action(self, remains: Residuals) -> Floats:
        return np.asarray((self.weights * remains.action).sum(axis=1))


@dataclass(frozen=True)
class _Sums:
    """Components summed by context, (n_contexts, n_components), and their null distribution."""

    names: list[str]
    scores: Floats
    scale: Floats
    skewness: list[float]
    draws: Floats
    standardised: Floats | None  # where contexts were exchanged, in place of studentised sums


def _by_context(columns: list[Floats], data: ChoiceData) -> Floats:
    sums = [context_sums(column, data.context, data.n_contexts) for column in columns]
    return np.stack(sums, axis=1)


def _weighted_minimum(studentised: Floats, weights: Floats) -> Floats:
    """Smallest weighted two-sided normal p-value over components, on the last axis."""
    return np.asarray((2 * stats.norm.sf(np.abs(studentised)) / weights).min(axis=-1))


def _exchanged(
    components: list[_Component],
    data: ChoiceData,
    remains: Residuals,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats] | None:
    """Standardised sums and their null distribution; None where few have a neighbour."""

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
    action = _by_context([part.action(remains) for part in components], data)
    truth = of_contexts([remains.truth[:, part.state] for part in components])
    return exchanged_sums(action, truth, blocks, n_draws, rng)


def _estimates(sums: _Sums, weights: Floats) -> pd.DataFrame:
    """Estimate, standard error and p-values of each component."""
    scores, n = sums.scores, len(sums.scores)
    total = sums.scale.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = scores.sum(axis=0) / total
        # Sandwich: what is left of each context's sum once the effect is taken out of it.
        rest = scores - estimate * sums.scale
        error = np.sqrt((rest**2).sum(axis=0) * n / (n - 1)) / total
        studentised = np.nan_to_num(scores.sum(axis=0) / np.sqrt((scores**2).sum(axis=0)))
        # Shah and Peters (2020), equation 3: the same sum, studentised about its mean.
        measure = scores.mean(axis=0) / scores.std(axis=0) * math.sqrt(n)
    if sums.standardised is not None:
        studentised = sums.standardised
    minima = _weighted_minimum(sums.draws, weights)
    single = 2 * stats.norm.sf(np.abs(studentised))
    adjusted = [permutation_pvalue(-float(value), -minima) for value in single / weights]
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


def _of_shift(result: CheckResult, sums: _Sums, shift: Shift) -> CheckResult:
    """Report the hidden shift, the last component, with an interval of its own."""
    n = len(sums.names)
    weights = np.array([(1 - SHIFT_WEIGHT) / (n - 1)] * (n - 1) + [SHIFT_WEIGHT])
    details = _estimates(sums, weights)
    details.loc[n - 1, ["estimate", "standard_error"]] = [shift.estimate, shift.standard_error]
    reason = RARE if sums.skewness[-1] > NO_INTERVAL else ""
    reason = reason if math.isfinite(shift.estimate) else UNIDENTIFIED
    # Rows of a context are one observation: its degrees of freedom are those of the contexts.
    half = float(stats.t.ppf(0.975, result.n_contexts - 1)) * shift.standard_error
    ends = Interval(shift.estimate - half, shift.estimate + half, 0.95, METHOD)
    reason = reason or (BEYOND if abs(shift.estimate) > 1 else "")
    return replace(
        result,
        statistic=shift.estimate,
        interval=None if reason else ends.within(-1.0, 1.0),
        pvalue=float(details["pvalue_adjusted"].min()),
        details=details,
        reason=reason,
    )


def _of_largest(result: CheckResult, sums: _Sums) -> CheckResult:
    """Report the component that is surest, with an interval that holds for all at once."""
    n = len(sums.names)
    details = _estimates(sums, np.full(n, 1 / n))
    largest = int(np.argmin(details["pvalue_single"]))
    estimate, error = (float(details[name][largest]) for name in ("estimate", "standard_error"))
    # The error under the null is the one that the test uses; the smaller of the two would let test
    # and interval disagree.
    scores, scale = sums.scores[:, largest], sums.scale[:, largest]
    error = max(error, float(np.sqrt((scores**2).sum()) / scale.sum()))
    # The component is selected, so its interval must hold for all at once; few contexts widen it as
    # they widen a single one.
    selected = np.quantile(np.abs(sums.draws).max(axis=1), 0.95) / stats.norm.ppf(0.975)
    half = float(stats.t.ppf(0.975, result.n_contexts - 1)) * float(selected) * error
    method = f"{METHOD}, simultaneous over {n} components"
    ends = Interval(estimate - half, estimate + half, 0.95, method)
    reason = RARE if sums.skewness[largest] > ASYMMETRY else ""
    reason = reason if math.isfinite(estimate) else UNIDENTIFIED
    return replace(
        result,
        statistic=estimate,
        unit="probability",
        interval=None if reason else ends.within(-1.0, 1.0),
        pvalue=float(details["pvalue_adjusted"].min()),
        settings={**result.settings, "component": sums.names[largest]},
        details=details,
        reason=reason,
    )


def _pairs(data: ChoiceData, remains: Residuals) -> list[_Component]:
    """One component for every action with every state: the difference in choice probability."""
    states = data.states[-1:] if len(data.states) == 2 else data.states
    return [
        _Component(
            f"P({action} | {label}) - P({action} | not {label})",
            np.broadcast_to(np.eye(len(data.actions))[position], remains.action.shape),
            state,
            remains.truth[:, state] ** 2,
        )
        for state, label in enumerate(states)
        for position, action in enumerate(data.actions)
    ]


def _skewness(component: _Component, data: ChoiceData, remains: Residuals) -> float:
    odds = remains.truth_fit.fitted[:, component.state]
    if data.policy is not None:
        return policy_asymmetry(component.action(remains), odds, data.context, data.n_contexts)
    share = remains.action_fit.fitted
    return asymmetry(component.weights, share, odds, data.context, data.n_contexts)


def _summed(
    components: list[_Component],
    data: ChoiceData,
    remains: Residuals,
    n_draws: int,
    rng: np.random.Generator,
) -> _Sums:
    """Sum the components by context and draw their null distribution; no draws if there is none."""
    products = [part.action(remains) * remains.truth[:, part.state] for part in components]
    skewness = [_skewness(component, data, remains) for component in components]
    scores = _by_context(products, data)
    standardised: Floats | None = None
    if max(skewness) > ASYMMETRY:
        # Signs do not imitate products of two rare things, which are hardly ever above 0.
        exchange = _exchanged(components, data, remains, n_draws, rng)
        standardised, draws = exchange or (None, np.empty(0))
    else:
        draws = sign_flipped_sums(scores, n_draws, rng)
    scale = _by_context([component.information for component in components], data)
    names = [component.name for component in components]
    return _Sums(names, scores, scale, skewness, draws, standardised)


def residual_covariance_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    positive: Any = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions still covary with the truth once the stated belief is accounted for.

    Null: given the belief, residuals of action and truth are uncorrelated. Where actions are
    probabilities, the expected policy at a belief is the same in all states: it may vary with the
    wording and the taste of a context, but not with what is true there.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, in [0, 1], or of every state.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Labels; constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that a belief in one state is in; of two columns of beliefs, the second
        is in it. May be left out where the labels are 0 and 1, no and yes, or false and true.
    n_draws : int
        Random sign assignments for the null distribution of the largest component.
    rng : Generator, int or None
        Source of folds and signs.

    Returns
    -------
    CheckResult
        `statistic` is the hidden shift: choices move with the truth as if the belief acted on were
        that much higher when that state holds than when it does not, at the same stated
        belief (units of belief, 0 under the null, to first order). Its interval treats contexts as
        units. The p-value belongs to the largest of all components: the hidden shift, and the
        covariance of every action with every state. `details` lists the components with estimates,
        standard errors, the generalised covariance measure (standard normal under the null), single
        and adjusted p-values. With more than two states, or one belief throughout, the hidden shift
        is not defined: the statistic is the difference in choice probability with the smallest
        p-value, named in `settings`, and its interval, from the larger of the errors under and
        beyond the null, is simultaneous over all of them.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes independent contexts, and regressions on the belief that are smooth enough for a cubic
    spline with at most 11 coefficients, or one with a jump, chosen by squared error on held-out
    contexts; given several states, for a sum of such splines in all beliefs but the last, with
    products of pairs if they predict better. Up to 11 distinct beliefs may have a mean each. Signs
    of whole contexts are flipped at random, so that any dependence within a context is allowed.
    Where an action and a state are so rare that they hardly meet, signs would reject far too often;
    contexts of similar belief then exchange the residuals of the truth (`settings` says which),
    without an interval. That of the hidden shift is its own alone, and ends at shifts of -1 and 1.

    Probabilities of actions stand in place of the indicators of what was chosen, so that every
    estimate is the one that drawn actions have in expectation. As a policy may have no noise at
    all, both regressions are then on the same curves, every belief may have a mean of its own, and
    the skewness that decides between signs and exchanges is that given the policies.

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3); Scheidegger, Hoerrmann and Buehlmann (2022),
    JMLR 23.
    """
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    n_draws = whole_number(n_draws, "n_draws", 99)
    generator = as_generator(rng)
    settings: dict[str, object] = {"n_draws": n_draws}
    undefined = CheckResult(
        check="residual_covariance",
        null=NULL,
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings,
    )
    if data.degenerate or separated(data):
        return replace(undefined, reason=data.degenerate or SEPARATED)
    remains, chooser = residuals(data, generator)
    if not remains.action.any():  # choices that the belief foretells leave nothing to covary
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED)
    settings |= {
        "spline_size_action": remains.action_fit.n_coefficients,
        "spline_size_truth": remains.truth_fit.n_coefficients,
    }
    if chooser is None:
        settings["products_action"] = remains.action_fit.products
        settings["products_truth"] = remains.truth_fit.products
    else:
        settings["choice_degree"] = chooser.choice.degree

    components = _pairs(data, remains)
    shift = None
    if chooser is not None and len(data.states) == 2:
        shift = hidden_shift(data, remains, chooser)
        ones = np.ones(data.n_rows)
        components.append(_Component("hidden shift of belief", shift.slope, 0, ones))
    sums = _summed(components, data, remains, n_draws, generator)
    exchanged = max(sums.skewness) > ASYMMETRY
    settings["null_distribution"] = "exchange of contexts" if exchanged else "signs of contexts"
    if not sums.draws.size:
        return replace(undefined, reason=ALONE)
    tested = replace(
        undefined,
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            "action and truth depend smoothly on belief",
        ),
    )
    return _of_largest(tested, sums) if shift is None else _of_shift(tested, sums, shift)


def _plan(facts: Facts) -> CallsAndNotes:
    if not facts.published:  # no paper has published a procedure to reproduce
        arrays = facts.belief, facts.action, facts.truth
        options = {"context": facts.context, "positive": facts.positive}
        yield Call(partial(residual_covariance_test, *arrays, **options), facts.n_dropped)


CHECK = Check(
    name="residual_covariance",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="Choices move with the realised state at the same stated belief: "
            "the statement is not the belief acted on.",
            kept="No sign that choices move with the realised state at the same stated belief.",
        )
    },
    plan=_plan,
    states_named=True,
)
