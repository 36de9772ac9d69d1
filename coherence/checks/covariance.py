"""Belief sufficiency by residual covariance: whether the action still moves with the truth once both are freed of the stated belief.

The generalised covariance measure of Shah and Peters (2020) with the context as unit: smooth
regressions on the belief take out of the actions and of the truth what the belief explains, and the
products of what is left are summed by context. A weighted component in the sense of Scheidegger,
Hoerrmann and Buehlmann (2022) looks where a hidden signal must show: it weighs each action by how
its probability changes with the belief, which makes it the score test for an agent that acts on
belief plus a multiple of the truth.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq

from coherence.inputs import ChoiceData, Codes, Floats, as_choices, one_dimensional, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.choice_model import (
    ChoiceModel,
    fit_choice_model,
    fit_to_counts,
    merge_levels,
)
from coherence.statistics.exchange import ASYMMETRY, NO_INTERVAL, asymmetry, exchanged_sums
from coherence.statistics.knn import RESOLUTION, as_levels
from coherence.statistics.resample import (
    Seed,
    as_generator,
    context_blocks,
    context_folds,
    permutation_pvalue,
)
from coherence.statistics.smoothing import SmoothFit, regress

NULL = "given belief, action and truth are uncorrelated in every smooth direction (implied by independence)"
UNIT = "belief"
N_FOLDS = 5
RARE = "no interval: a rare action and a rare state are seen together too seldom"
SHIFT_BRACKETS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
SHIFT_STEP = 0.01
SHIFT_WEIGHT = 0.8
MANY_CONTEXTS = 5_000
SETTLED = "the stated belief settles the action, and leaves the state nothing to move"
ROUNDING = 1e-6  # share of the variance that a regression leaves by rounding and its trace of ridge


def _indicators(codes: Codes, n_codes: int) -> Floats:
    return np.asarray(codes[:, None] == np.arange(n_codes), dtype=np.float64)


def _context_table(products: Floats, context: Codes, n_contexts: int) -> Floats:
    """Sum the products of each component by context, shape (n_contexts, n_components)."""
    return np.stack(
        [np.bincount(context, weights=column, minlength=n_contexts) for column in products.T],
        axis=1,
    )


def _weighted_minimum(studentised: Floats, weights: Floats) -> Floats:
    """Smallest weighted two-sided normal p-value over components, on the last axis; small values speak against the null."""
    return np.asarray((2 * stats.norm.sf(np.abs(studentised)) / weights).min(axis=-1))


def _sign_flipped(scores: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Studentised sums of the scores under random signs of whole contexts, shape (n_draws, n_components)."""
    scale = np.sqrt((scores**2).sum(axis=0))
    unit = scores / np.where(scale > 0, scale, 1.0)
    if len(scores) > MANY_CONTEXTS:
        # The sum of so many signed terms is normal; its covariance is all that matters.
        return rng.multivariate_normal(
            np.zeros(unit.shape[1]), unit.T @ unit, size=n_draws, method="eigh"
        )
    signs = rng.integers(0, 2, size=(n_draws, len(scores)), dtype=np.int8)
    return np.asarray((2.0 * signs - 1.0) @ unit)


@dataclass(frozen=True)
class _Residuals:
    """Regressions of the action and truth indicators on the belief, and what they leave."""

    action: Floats
    action_fit: SmoothFit
    truth: Floats
    truth_fit: SmoothFit


@dataclass(frozen=True)
class _Chooser:
    """Belief of each row, as one number, and the choice model fitted to it."""

    belief: Floats
    choice: ChoiceModel


def _left(columns: Floats, fit: SmoothFit) -> Floats:
    """Return what a regression leaves; nothing where it leaves no more than rounding, which would otherwise be standardised like a signal."""
    residual = columns - fit.fitted
    explained = (residual**2).sum(axis=0) <= ROUNDING * ((columns - columns.mean(axis=0)) ** 2).sum(
        axis=0
    )
    return np.where(explained, 0.0, residual)


def _separated(data: ChoiceData) -> bool:
    """Tell whether every belief at one state lies below every belief at the other, or the most probable of several states always came true.

    Nothing about the state is left to chance then. What a smooth regression misses of such a step
    it misses alike in choices that follow the belief, and covariance of these remains would be no
    sign of anything.
    """
    if data.belief.ndim == 2 and data.belief.shape[1] > 2:
        # The state that is thought most probable, every time.
        return data.belief.shape[1] == len(data.states) and bool(
            (data.belief.argmax(axis=1) == data.truth).all()
        )
    if len(data.states) != 2:
        return False
    belief = one_dimensional(data, "residual_covariance_test")
    first, second = belief[data.truth == 0], belief[data.truth == 1]
    return bool(first.max() < second.min() or second.max() < first.min())


def _residuals(data: ChoiceData, rng: np.random.Generator) -> tuple[_Residuals, _Chooser | None]:
    several = data.belief.ndim == 2 and data.belief.shape[1] > 2
    # The last belief is one minus the others.
    belief = as_levels(
        data.belief[:, :-1] if several else one_dimensional(data, "residual_covariance_test")
    )
    levels, level_of = np.unique(
        belief, axis=0 if several else None, return_inverse=True
    )  # sorting rows is slower than sorting numbers
    distinct = levels / RESOLUTION
    level_of = level_of.ravel()
    folds = context_folds(data.context, data.n_contexts, min(N_FOLDS, data.n_contexts), rng)
    action = _indicators(data.action, len(data.actions))
    # With two states one indicator says it all; with more, each state has its own.
    truth = (
        _indicators(data.truth, len(data.states))[:, -1:]
        if len(data.states) == 2
        else _indicators(data.truth, len(data.states))
    )
    action_fit, truth_fit = (
        regress(distinct, level_of, columns, folds, data.n_contexts) for columns in (action, truth)
    )
    left = _Residuals(_left(action, action_fit), action_fit, _left(truth, truth_fit), truth_fit)
    if several or len(distinct) == 1:
        return left, None
    return left, _Chooser(
        distinct[level_of],
        fit_choice_model(distinct[level_of], data.action, len(data.actions), folds),
    )


@dataclass(frozen=True)
class _Shift:
    """The hidden shift: score per row under the null, estimate and standard error."""

    score: Floats
    slope: Floats
    estimate: float
    standard_error: float


def _hidden_shift(data: ChoiceData, left: _Residuals, chooser: _Chooser) -> _Shift:
    """Find the shift at which a shifted chooser explains the residual covariance that is seen.

    The score weighs the residual of each action by the slope of its log-probability and multiplies
    by the residual of the truth. An agent whose choice curve is c and who acts on belief + shift *
    (truth - 1/2) has an expected score of v * sum_a w_a [c_a(b + shift/2) - c_a(b - shift/2)], with
    v the variance of the truth given the belief; c is refitted for each shift, because the curve
    that one sees is a mixture of shifted ones. Both sides are equal at the estimate; at shift 0 the
    right side is 0 whatever c is.
    """
    truth = left.truth[:, 0]
    slope = chooser.choice.log_slope(chooser.belief)
    score = (slope * left.action).sum(axis=1) * truth
    level, centre = merge_levels(chooser.belief)
    second = data.truth == 1
    counts = np.zeros((2, centre.size, len(data.actions)))
    np.add.at(counts, (second.astype(np.int64), level, data.action), 1.0)
    weight, stacked = chooser.choice.log_slope(centre), counts.reshape(-1, len(data.actions))
    variance = truth**2

    def expected(shift: float) -> Floats:
        """Expected score per unit of variance at each level."""
        shifted = np.concatenate([centre - shift / 2, centre + shift / 2])
        curve = fit_to_counts(shifted, stacked, chooser.choice.degree)
        return np.asarray(
            (weight * (curve.share(centre + shift / 2) - curve.share(centre - shift / 2))).sum(
                axis=1
            )
        )

    by_level = np.bincount(level, weights=variance, minlength=centre.size)
    total = float(score.sum())

    def excess(shift: float) -> float:
        return total - float(by_level @ expected(shift))

    # Outwards from 0: far from the data the curve need not be monotone, and a root there would mean
    # nothing.
    inner = 0.0
    for outer in math.copysign(1.0, total) * np.array(SHIFT_BRACKETS):
        if excess(outer) * total <= 0:
            break
        inner = float(outer)
    else:
        return _Shift(
            score, slope, math.nan, math.nan
        )  # choices that hardly follow the belief identify no shift
    estimate = float(brentq(excess, inner, outer, xtol=1e-5))
    steepness = (excess(estimate - SHIFT_STEP) - excess(estimate + SHIFT_STEP)) / (2 * SHIFT_STEP)
    if not steepness > 0:
        return _Shift(score, slope, math.nan, math.nan)
    influence = np.bincount(
        data.context,
        weights=score - variance * expected(estimate)[level],
        minlength=data.n_contexts,
    )
    error = (
        math.sqrt(float((influence**2).sum()) * data.n_contexts / (data.n_contexts - 1)) / steepness
    )
    return _Shift(score, slope, estimate, error)


def residual_covariance_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions still covary with the truth once the stated belief is accounted for.

    Null: given the belief, action and truth are independent; what is tested is that their residuals
    are uncorrelated.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the second state, in [0, 1], or of every state.
    action, truth : array-like, shape (n,)
        Labels; `truth` is constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    n_draws : int
        Random sign assignments for the null distribution of the largest component.
    rng : Generator, int or None
        Source of folds and signs.

    Returns
    -------
    CheckResult
        `statistic` is the hidden shift: choices move with the truth as if the belief acted on were
        that much higher when the second state holds than when it does not, at the same stated
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
        An array breaks its rule.

    Notes
    -----
    Assumes independent contexts, and regressions of action and truth on the belief that are smooth
    enough for a cubic spline with at most 11 coefficients, or one with a jump, chosen by squared
    error on held-out contexts; given beliefs over several states, for a sum of such splines in all
    beliefs but the last, with products of pairs if they predict better. Up to 11 distinct beliefs
    may have a mean each. Signs of whole contexts are flipped at random, so that any dependence
    within a context is allowed. Where an action and a state are so rare that they hardly meet,
    signs would reject far too often; the residuals of the truth are then exchanged between contexts
    of similar belief instead (`settings` says which), and there is no interval. The interval of the
    hidden shift belongs to that component alone.

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3); Scheidegger, Hoerrmann and Buehlmann (2022),
    JMLR 23.
    """
    data = as_choices(belief, action, truth, context)
    n_draws = whole_number(n_draws, "n_draws", 99)
    generator = as_generator(rng)
    settings: dict[str, Any] = {"n_draws": n_draws}
    counted: dict[str, Any] = {"n_rows": data.n_rows, "n_contexts": data.n_contexts}
    if data.degenerate:
        return CheckResult(
            "residual_covariance",
            NULL,
            math.nan,
            UNIT,
            None,
            math.nan,
            **counted,
            settings=settings,
            reason=data.degenerate,
        )
    if _separated(data):
        reason = "a threshold of the belief separates the states, which leaves no other state to compare with at equal belief"
        return CheckResult(
            "residual_covariance",
            NULL,
            math.nan,
            UNIT,
            None,
            math.nan,
            **counted,
            settings=settings,
            reason=reason,
        )
    left, chooser = _residuals(data, generator)
    if not left.action.any():
        return CheckResult(
            "residual_covariance",
            NULL,
            0.0,
            UNIT,
            None,
            1.0,
            **counted,
            settings=settings,
            reason=SETTLED,
        )
    settings |= {
        "spline_size_action": left.action_fit.n_coefficients,
        "spline_size_truth": left.truth_fit.n_coefficients,
    }
    if chooser is None:
        settings |= {
            "products_action": left.action_fit.products,
            "products_truth": left.truth_fit.products,
        }
    else:
        settings["choice_degree"] = chooser.choice.degree

    names, products, information, weighing = [], [], [], []
    states = data.states[-1:] if len(data.states) == 2 else data.states
    for state, label in enumerate(states):
        for position, name in enumerate(data.actions):
            names.append(f"P({name} | {label}) - P({name} | not {label})")
            products.append(left.action[:, position] * left.truth[:, state])
            information.append(left.truth[:, state] ** 2)
            weighing.append(
                (np.broadcast_to(np.eye(len(data.actions))[position], left.action.shape), state)
            )
    shift = _hidden_shift(data, left, chooser) if len(states) == 1 and chooser is not None else None
    if shift is not None:
        names.append("hidden shift of belief")
        products.append(shift.score)
        information.append(np.ones(data.n_rows))
        weighing.append((shift.slope, 0))
    scores = _context_table(np.stack(products, axis=1), data.context, data.n_contexts)
    scale = _context_table(np.stack(information, axis=1), data.context, data.n_contexts)
    # The component that looks where a hidden signal shows carries most of the weight; the others
    # share the rest.
    weights = np.full(
        len(names), 1 / len(names) if shift is None else (1 - SHIFT_WEIGHT) / (len(names) - 1)
    )
    skews = [
        asymmetry(
            row,
            left.action_fit.fitted,
            left.truth_fit.fitted[:, state],
            data.context,
            data.n_contexts,
        )
        for row, state in weighing
    ]
    rare = max(skews) > ASYMMETRY
    settings["null_distribution"] = "exchange of contexts" if rare else "signs of contexts"
    if rare:
        found = _by_exchange(data, left, weighing, n_draws, generator)
        if isinstance(found, str):
            return CheckResult(
                "residual_covariance",
                NULL,
                math.nan,
                UNIT,
                None,
                math.nan,
                **counted,
                settings=settings,
                reason=found,
            )
        standardised, draws = found
    else:
        standardised, draws = None, _sign_flipped(scores, n_draws, generator)
    reach = float(stats.t.ppf(0.975, data.n_contexts - 1))
    if shift is not None:
        weights[-1] = SHIFT_WEIGHT
        method = "sandwich error, contexts as units"
    else:
        # The component is selected, so its interval must hold for all at once; few contexts widen
        # it as they widen a single one.
        reach *= float(np.quantile(np.abs(draws).max(axis=1), 0.95) / stats.norm.ppf(0.975))
        method = f"sandwich error, contexts as units, simultaneous over {len(names)} components"
    details = _estimates(names, scores, scale, weights, draws, standardised)
    if shift is not None:
        details.loc[len(names) - 1, ["estimate", "standard_error"]] = [
            shift.estimate,
            shift.standard_error,
        ]

    adjusted = details["pvalue_adjusted"].to_numpy()
    headline = len(names) - 1 if shift is not None else int(np.argmin(details["pvalue_single"]))
    row = details.iloc[headline]
    if shift is None:
        settings["component"] = names[headline]
    identified = math.isfinite(row["estimate"])
    error = float(row["standard_error"])
    if shift is None:
        # The error under the null is the one that the test uses; the smaller of the two would let
        # test and interval disagree.
        error = max(
            error, float(np.sqrt((scores[:, headline] ** 2).sum()) / scale[:, headline].sum())
        )
    low, high = row["estimate"] - reach * error, row["estimate"] + reach * error
    if shift is None:
        low, high = max(low, -1.0), min(high, 1.0)  # a difference of probabilities
    seldom = skews[headline] > (ASYMMETRY if shift is None else NO_INTERVAL)
    reason = RARE if seldom else ""
    reason = (
        reason
        if identified
        else "the hidden shift is not identified: choice does not follow the belief"
    )
    return CheckResult(
        check="residual_covariance",
        null=NULL,
        statistic=float(row["estimate"]),
        unit=UNIT if shift is not None else "probability",
        interval=Interval(float(low), float(high), 0.95, method)
        if identified and not seldom
        else None,
        pvalue=float(adjusted.min()),
        **counted,
        settings=settings,
        details=details,
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            "action and truth depend smoothly on belief",
        ),
        reason=reason,
    )


def _by_exchange(
    data: ChoiceData,
    left: _Residuals,
    weighing: list[tuple[Floats, int]],
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats] | str:
    """Return standardised sums and their null distribution by exchange, or why there is none."""
    several = data.belief.ndim == 2 and data.belief.shape[1] > 2
    rows = np.bincount(data.context, minlength=data.n_contexts)[:, None]
    belief = data.belief if several else one_dimensional(data, "residual_covariance_test")[:, None]
    summary = _context_table(belief, data.context, data.n_contexts) / rows
    blocks = context_blocks(summary if several else summary[:, 0])
    if (np.bincount(blocks)[blocks] > 1).mean() < 0.5:
        return "a rare action and a rare state together are seen too seldom, and most contexts have no neighbour of similar belief to be compared with"
    truth = _context_table(left.truth, data.context, data.n_contexts) / rows
    action = _context_table(
        np.stack([(row * left.action).sum(axis=1) for row, _ in weighing], axis=1),
        data.context,
        data.n_contexts,
    )
    return exchanged_sums(action, truth[:, [state for _, state in weighing]], blocks, n_draws, rng)


def _estimates(
    names: list[str],
    scores: Floats,
    scale: Floats,
    weights: Floats,
    draws: Floats,
    standardised: Floats | None,
) -> pd.DataFrame:
    """Estimate, standard error and p-values of each component; `standardised` replaces the studentised sums where contexts were exchanged."""
    total = scale.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = scores.sum(axis=0) / total
        n = len(scores)
        error = np.sqrt(((scores - estimate * scale) ** 2).sum(axis=0) * n / (n - 1)) / total
        studentised = np.nan_to_num(scores.sum(axis=0) / np.sqrt((scores**2).sum(axis=0)))
        # Shah and Peters (2020), equation 3: the same sum, studentised about its mean.
        measure = scores.mean(axis=0) / scores.std(axis=0) * math.sqrt(n)
    if standardised is not None:
        studentised = standardised
    minima = _weighted_minimum(draws, weights)
    single = 2 * stats.norm.sf(np.abs(studentised))
    return pd.DataFrame(
        {
            "component": names,
            "estimate": estimate,
            "standard_error": error,
            "gcm": measure,
            "weight": weights,
            "pvalue_single": single,
            "pvalue_adjusted": [
                permutation_pvalue(-float(value), -minima) for value in single / weights
            ],
        }
    )
