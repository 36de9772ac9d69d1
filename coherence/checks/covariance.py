"""Belief sufficiency by residual covariance: whether actions move with the truth at equal belief.

The generalised covariance measure of Shah and Peters (2020) with the context as unit: smooth
regressions on the belief take out of the actions and of the truth what the belief explains, and the
products of what is left are summed by context. A weighted component in the sense of Scheidegger,
Hoerrmann and Buehlmann (2022) looks where a hidden signal must show: it weighs each action by how
its probability changes with the belief, which makes it the score test for an agent that acts on
belief plus a multiple of the truth.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import Call, CallsAndNotes, Check, Facts, Sentences
from coherence.checks.covariance_effect import means_of_contexts, residual_covariance_effect
from coherence.inputs import Floats, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval, rejects
from coherence.statistics.choice_fit import choice_misfit
from coherence.statistics.choices import ChoiceData, as_choices
from coherence.statistics.covariance_sums import (
    Sums,
    component_estimates,
    sum_components,
    weighed_components,
)
from coherence.statistics.exchange import ASYMMETRY
from coherence.statistics.hidden_shift import Shift, hidden_shift
from coherence.statistics.resample import Seed, as_generator
from coherence.statistics.residuals import Chooser, residuals, separated
from coherence.statistics.scatter import scatter_within
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
ALONE = (
    "a rare action and a rare state together are seen too seldom, "
    "and most contexts have no neighbour of similar belief to be compared with"
)
UNIDENTIFIED = "choice does not follow the belief closely enough for a shift to be read off it"
OF_MEANS = "residual_covariance:context_means"
METHOD = "sandwich error, contexts as units"
SCORE_METHOD = "shifts that the score test does not reject, contexts as units"
# P-value of the fit of the choice curve below which no hidden shift is read off it.
MISFIT = 0.05


def _tested(result: CheckResult, sums: Sums, weights: Floats) -> CheckResult:
    """Add the p-value of the largest of all components, and what each of them says."""
    details = component_estimates(sums, weights)
    return replace(result, pvalue=float(details["pvalue_adjusted"].min()), details=details)


def _with_shift(result: CheckResult, shift: Shift, position: int, why: str) -> CheckResult:
    """Report the hidden shift with an interval of its own, or why it is not the effect."""
    details = result.details
    assert details is not None
    # In place of the multiple of the score, which is the shift to first order only.
    known = [math.nan] * 2 if why else [shift.estimate, shift.standard_error]
    details.loc[position, ["estimate", "standard_error"]] = known
    if why:
        return replace(result, settings={**result.settings, "no_hidden_shift": why})
    interval = Interval(shift.low, shift.high, 0.95, SCORE_METHOD).within(-1.0, 1.0)
    return replace(result, statistic=shift.estimate, interval=interval)


def _of_largest(result: CheckResult, sums: Sums, n_pairs: int) -> CheckResult:
    """Report the surest difference in choice probability; its interval holds for all at once."""
    details = result.details
    assert details is not None
    largest = int(np.argmin(details["pvalue_single"][:n_pairs]))
    estimate, error = (float(details[name][largest]) for name in ("estimate", "standard_error"))
    named = replace(
        result,
        unit="probability",
        settings={**result.settings, "component": sums.names[largest]},
    )
    if not math.isfinite(estimate):
        return replace(named, reason=UNIDENTIFIED)
    # The error under the null is the one that the test uses; the smaller of the two would let test
    # and interval disagree.
    error = max(error, float(sums.null_error[largest]))
    # The component is selected, so its interval must hold for all at once; few contexts widen it as
    # they widen a single one.
    # Quantile of the largest studentised sum, relative to that of a single normal one.
    drawn = np.abs(sums.draws[:, :n_pairs]).max(axis=1)
    selected = np.quantile(drawn, 0.95) / stats.norm.ppf(0.975)
    half = float(stats.t.ppf(0.975, result.n_contexts - 1)) * float(selected) * error
    # The effect is a difference of probabilities.
    low, high = max(estimate - half, -1.0), min(estimate + half, 1.0)
    method = f"{METHOD}, simultaneous over {n_pairs} components"
    return replace(named, statistic=estimate, interval=Interval(low, high, 0.95, method))


def _agreeing(result: CheckResult) -> CheckResult:
    """Reach with the interval to 0 unless the test, which shares its level out, rejects as well."""
    interval = result.interval
    if interval is None or rejects(result.pvalue) or interval.low <= 0 <= interval.high:
        return result
    reached = replace(
        interval,
        low=min(interval.low, 0.0),
        high=max(interval.high, 0.0),
        method=f"{interval.method}; reaches to 0, which the test does not reject",
    )
    return replace(result, interval=reached)


def _no_shift(data: ChoiceData, chooser: Chooser, shift: Shift, exchanged: bool) -> str:
    """Return why the hidden shift is not the effect that is reported; empty where it is."""
    # Where the score test rejects no shift on one side, the curve was followed far from the data.
    if not math.isfinite(shift.estimate) or max(-shift.low, shift.high) >= 1:
        return UNIDENTIFIED
    if exchanged:
        return "a rare action and a rare state are seen together too seldom"
    misfit = choice_misfit(
        chooser.belief, data.share, data.context, data.n_contexts, chooser.choice
    )
    if misfit < MISFIT:
        return f"choices are no smooth function of the belief (p of the fit {misfit:.2g})"
    return ""


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
        Source of the signs; folds are dealt by what contexts hold.

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
        beyond the null, is simultaneous over all of them. Every interval holds 0 unless the p-value
        is at most .05: it reaches there where it would end short of it.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes independent contexts, and regressions of action and truth on the belief that are smooth
    enough for a cubic spline with at most 11 coefficients, or one with a jump, chosen by squared
    error on held-out contexts; given beliefs over several states, for a sum of such splines in all
    beliefs but the last, with products of pairs if they predict better. Up to 11 distinct beliefs
    may have a mean each. Signs of whole contexts are flipped at random, so that any dependence
    within a context is allowed. Where an action and a state are so rare that they hardly meet,
    signs would reject far too often; contexts of similar belief then exchange the residuals of the
    truth (`settings` says which), without an interval. That of the hidden shift is its own alone.

    Probabilities of actions stand in place of the indicators of what was chosen, so that every
    estimate is the one that drawn actions have in expectation. As a policy may have no noise at
    all, both regressions are then on the same curves, every belief may have a mean of its own, and
    the skewness that decides between signs and exchanges is that given the policies.

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3); Scheidegger, Hoerrmann and Buehlmann (2022),
    JMLR 23.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = residual_covariance_test(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"], rng=1
    ... )
    >>> result.pvalue < 0.05  # actions know more of the state than the belief says
    True
    """
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    n_draws = whole_number(n_draws, "n_draws", 99)
    return _agreeing(tested_shift(data, n_draws, as_generator(rng))[0])


def tested_shift(
    data: ChoiceData, n_draws: int, generator: np.random.Generator
) -> tuple[CheckResult, Shift | None]:
    """Run `residual_covariance_test` on validated data, and keep the shift that it reports.

    Parameters
    ----------
    data : ChoiceData
        Oriented.
    n_draws : int
        Random sign assignments.
    generator : Generator
        Source of the signs; folds are dealt by what contexts hold.

    Returns
    -------
    result : CheckResult
        As `residual_covariance_test` returns it, with the interval that the effect has alone.
    shift : Shift or None
        The hidden shift with the influence of each context; None where the result is about
        something else, which its reason or its settings say.
    """
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
        return replace(undefined, reason=data.degenerate or SEPARATED), None
    remains, chooser = residuals(data)
    if not remains.action.any():  # choices that the belief foretells leave nothing to covary
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED), None
    settings |= {
        "spline_size_action": remains.action_fit.n_coefficients,
        "spline_size_truth": remains.truth_fit.n_coefficients,
    }
    if chooser is None:
        settings["products_action"] = remains.action_fit.products
        settings["products_truth"] = remains.truth_fit.products
    else:
        settings["choice_degree"] = chooser.choice.degree

    shift = None
    if chooser is not None and len(data.states) == 2:
        shift = hidden_shift(data, remains, chooser)
    components, weights = weighed_components(data, remains, None if shift is None else shift.slope)
    n_pairs = len(components) - (shift is not None)
    sums = sum_components(components, data, remains, n_draws, generator)
    exchanged = max(sums.skewness) > ASYMMETRY
    settings["null_distribution"] = "exchange of contexts" if exchanged else "signs of contexts"
    if not sums.draws.size:
        return replace(undefined, reason=ALONE), None
    tested = replace(
        _tested(undefined, sums, weights),
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            "action and truth depend smoothly on belief",
        ),
    )
    if shift is None or chooser is None:
        return _of_largest(tested, sums, n_pairs), None
    why = _no_shift(data, chooser, shift, exchanged)
    tested = _with_shift(tested, shift, n_pairs, why)
    if why:
        return _of_largest(tested, sums, n_pairs), None
    return tested, shift


def residual_covariance_of_means(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike,
    positive: Any = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Estimate the effect of `residual_covariance_test` on means over repetitions.

    Averaging takes out most of the scatter of reports, and not all. Rational agents with noisy
    reports were rejected in 2% to 22% of simulated tables, so that this is no test: there is no
    p-value, and the interval is not exact.

    Parameters
    ----------
    belief, action, truth, context, positive, n_draws, rng
        As for `residual_covariance_test`; a context becomes one row with its mean belief and the
        shares of its actions.

    Returns
    -------
    CheckResult
        An estimate with the effect and the interval of that test.

    Raises
    ------
    InputError
        As for `residual_covariance_test`.
    """
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    averaged = means_of_contexts(data, belief, truth)
    result = residual_covariance_test(*averaged, positive=positive, n_draws=n_draws, rng=rng)
    return replace(
        result,
        check=OF_MEANS,
        null="the effect of residual_covariance on means over repetitions of a context; "
        "averaging takes out most of the scatter of reports, and the interval is not exact",
        pvalue=None,
        n_rows=data.n_rows,
        details=pd.DataFrame(),
    )


def _plan(facts: Facts) -> CallsAndNotes:
    if not facts.published:  # no paper has published a procedure to reproduce
        arrays = facts.belief, facts.action, facts.truth
        options = {"context": facts.context, "positive": facts.positive}
        alone = partial(residual_covariance_effect, *arrays, **options)
        test = partial(residual_covariance_test, *arrays, **options)
        yield Call(test, facts.n_dropped, effects=partial(alone, name=CHECK.name))
        # Only where reports scatter so much that the test itself may be misled by it.
        if scatter_within(facts.belief, facts.context).misleads:
            averaged = partial(residual_covariance_of_means, *arrays, **options)
            effects = partial(alone, name=OF_MEANS, of_means=True)
            yield Call(averaged, facts.n_dropped, effects=effects)


CHECK = Check(
    name="residual_covariance",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="Choices move with the realised state at the same {belief}: "
            "it is not the belief acted on.",
            sign="choices move with the realised state at the same {belief}",
            kept="No sign that choices move with the realised state at the same {belief}.",
            powered=True,
            scatter_misleads=True,
            discrepancy=True,
        ),
        "context_means": Sentences(
            estimate="On means over repetitions, in which reports scatter less, choices move with "
            "the realised state by {value:.3f}; this interval is not exact, and misses a true 0 "
            "too often (in 2% to 22% of simulated tables).",
            discrepancy=True,
        ),
    },
    plan=_plan,
    states_named=True,
)
