"""Monotone choice over all actions at once, without independence of irrelevant alternatives.

With additive random utilities choice probabilities are the gradient of a convex surplus (McFadden
1981). With two states expected utilities move along one line, u(p) = u0 + w(p) v with w increasing,
so that (P(p') - P(p)) . v >= 0 for p < p': the choice vector rises along v. The test rejects only
if no direction v fits; taste shocks may be correlated across actions, but must not depend on
belief.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.check import FEWEST_DRAWS, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.inputs import (
    MIN_CONTEXTS,
    Floats,
    as_actions,
    as_belief,
    as_contexts,
    require,
    require_aligned,
    whole_number,
)
from coherence.result import CheckResult, Interval
from coherence.statistics.directions import best_fit, choice_vectors
from coherence.statistics.drops import MIN_CONTEXTS_PER_BIN, used_bins
from coherence.statistics.resample import Seed, as_generator, as_units
from coherence.table.needs import CHOICES

NULL = (
    "there is an order of the actions such that choices shift upwards in it "
    "(first-order dominance) as belief rises"
)
METHOD = "for the best of all orders, conservative, contexts as units"
MAX_ACTIONS = 6  # 720 orders; a scan of the sphere of directions would be too coarse beyond


def single_belief(belief: ArrayLike, test: str) -> Floats:
    """Validate beliefs in one state, shape (n,), for a test of order."""
    values = as_belief(belief)
    require(
        values.ndim == 1,
        f"{test} needs one-dimensional beliefs; received shape {values.shape}. "
        "Pass the belief in one state.",
    )
    return values


def monotone_direction_test(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    n_bins: int = 5,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether choices over all actions rise with the stated belief in some direction.

    Random utility theory demands it of an agent that acts on the belief.

    Null: there is a direction in utility space along which choices, averaged within belief bins,
    rise with the belief.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities in [0, 1] of one of two states.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, two to six different ones, or the probability of each action; a DataFrame's columns
        name the actions.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: groups are then the units, at
        least ten of them. Constant within a context.
    n_bins : int
        Quantile bins of the belief; fewer where beliefs tie.
    n_draws : int
        Draws from the null distribution.
    rng : Generator, int or None
        Source of the draws.

    Returns
    -------
    CheckResult
        `statistic` is the largest drop of a total share from a bin to a later one under the best
        order; negative where choices rise throughout. The interval, for the smallest largest drop
        that any order allows, holds it more often than stated (.97 to 1.00 where choices turn
        back): the least of several orders is seldom missed by all of them. `details` has one row
        per action: its place in the best order, evenly spaced, and its share in every bin.

    Raises
    ------
    InputError
        An array breaks its rule or more than six actions.

    Notes
    -----
    Assumes independent contexts and taste shocks whose distribution does not depend on the belief;
    they may be correlated over actions, so irrelevant alternatives may matter.
    The surplus has mixed second derivatives -m(i, j) <= 0, so that along v the probability of i
    changes by sum_j m(i, j) (v_i - v_j), which moves shares from lower to higher actions only.

    The covariance of the choice vectors treats contexts as units. For a given order the p-value is
    that of the largest studentised drop when all bins have equal shares, the least favourable case
    (multivariate t). The null holds if it holds for one of them, so the p-value is the largest one
    (Berger 1982) and the test is conservative unless one alone comes near. With two actions it is
    `monotone_choice_test` with ``direction="either"``.

    References
    ----------
    McFadden (1981), Econometric models of probabilistic choice, section 5.4 (the
    Williams-Daly-Zachary theorem); Berger (1982), Technometrics 24(4).

    Examples
    --------
    >>> belief = np.repeat([0.1, 0.5, 0.9], 40)
    >>> action = ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    >>> monotone_direction_test(belief, action, n_bins=3, rng=0).pvalue > 0.5
    True
    """
    require_aligned(belief=belief, action=action, context=context, group=group)
    values = single_belief(belief, "monotone_direction_test")
    actions = as_actions(action, len(values))
    labels = actions.labels
    of_row, contexts = as_contexts(context, len(values))
    units = as_units(group, of_row, contexts)
    n_bins = whole_number(n_bins, "n_bins", 2)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    require(
        len(labels) <= MAX_ACTIONS,
        f"action must have at most {MAX_ACTIONS} different labels; received {len(labels)}. "
        "Join rare actions.",
    )
    settings: dict[str, Any] = {"n_bins": n_bins, "n_draws": n_draws}
    settings["unit of resampling"] = units.name
    undefined = CheckResult(
        check="monotone_direction",
        null=NULL,
        statistic=math.nan,
        unit="share",
        interval=None,
        pvalue=math.nan,
        n_rows=len(values),
        n_contexts=len(contexts),
        settings=settings,
    )
    if len(labels) < 2:
        return replace(undefined, reason=f"only one action was seen ({labels[0]!r})")
    if len(contexts) < MIN_CONTEXTS:
        return replace(undefined, reason=f"{len(contexts)} contexts are fewer than {MIN_CONTEXTS}")
    if units.too_few:
        return replace(undefined, reason=units.too_few)
    unit = units.of_context[of_row]
    used, kept = used_bins(values, unit, n_bins)
    if not used.any():
        few = units.said(f"fewer than two belief bins have {MIN_CONTEXTS_PER_BIN} contexts")
        return replace(undefined, reason=few)
    seen = np.flatnonzero(actions.share[kept].any(axis=0))
    if seen.size < 2:
        where = units.said(f"in the bins with {MIN_CONTEXTS_PER_BIN} contexts")
        return replace(undefined, reason=f"only one action was seen ({labels[seen[0]]!r}) {where}")

    seen_labels = [labels[code] for code in seen]
    policies = actions.probabilities is not None
    share = actions.share[np.ix_(kept, seen)]
    generator = as_generator(rng)
    scan, rows = choice_vectors(used, share, unit[kept], n_draws, generator, policies=policies)
    best, direction, n_tried = best_fit(scan)
    shares = {f"share_{number}": share for number, share in enumerate(scan.share)}
    centres = (np.bincount(used, weights=values[kept]) / rows).tolist()
    shown = {"n_bins_used": len(centres), "n_tried": n_tried, "mean_beliefs": centres}
    return replace(
        undefined,
        statistic=best.largest,
        interval=Interval(best.low, best.high, 0.95, units.said(METHOD)).within(-1.0, 1.0),
        pvalue=best.pvalue,
        settings=settings | shown,
        details=pd.DataFrame({"action": seen_labels, "direction": direction, **shares}),
        assumptions=(
            units.said("contexts are independent"),
            "taste shocks do not depend on belief",
        ),
    )


def _plan(facts: Facts) -> CallsAndNotes:
    n_actions = len(facts.actions)
    if n_actions <= 2 or facts.published:
        return  # two actions have one order, which the pairs test
    if n_actions > MAX_ACTIONS:
        yield (
            f"{n_actions} actions are more than {MAX_ACTIONS}: "
            "monotone choice was tested by pairs only."
        )
        return
    test = partial(monotone_direction_test, facts.belief, facts.action)
    test = partial(test, context=facts.context, group=facts.group)
    yield Call(test, facts.n_dropped, fewest={"n_draws": FEWEST_DRAWS})


CHECK = Check(
    name="monotone_direction",
    needs=CHOICES,
    sentences={
        "": Sentences(
            rejected="Under no order of the actions do choices rise with the {belief}: "
            "no expected-utility maximiser chooses so.",
            sign="choices rise with the {belief} under no order of the actions",
            kept="Choices over all actions can be explained by some order "
            "that rises with the {belief}.",
            one_sided=True,
            discrepancy=True,
        )
    },
    plan=_plan,
    states_named=True,
)
