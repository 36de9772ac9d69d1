"""Belief sufficiency by information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action.
Counts in belief bins give the effect; they and Mesner and Shalizi's nearest neighbours are the
statistics of the test (`coherence.statistics.cmi_exchange`). The null distribution comes from
exchanging the realised states of whole contexts with similar belief, so that repetitions of a
context stay together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.check import INTERVAL_ALONE, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.inputs import Floats, require, require_aligned, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval, rejects
from coherence.statistics.choices import as_choices
from coherence.statistics.cmi_exchange import exchange_test
from coherence.statistics.cmi_problem import Problem, pose
from coherence.statistics.information_interval import centred_information
from coherence.statistics.resample import (
    Seed,
    as_generator,
    count_arrangements,
    percentile_interval,
)
from coherence.table.needs import JUDGED_CHOICES

NULL = (
    "{action} and truth are independent given {given}: I({action}; truth | {columns}) = 0; tested "
    "against dependence of any direction and of different directions at different beliefs"
)
# The effect is centred at the mean of so many; fewer would add noise of their own to it.
FEW_PERMUTATIONS = 39
USUAL = 999
# Where the first draws say at most this, others, ten times as many, give the p-value. The level
# holds: below it the later p-value decides alone, above it that of the first draws.
DRAWN_AGAIN, FURTHER = 0.002, 10
NO_PUBLISHED = "the published estimate takes chosen actions, and here actions are probabilities"
UNIT = "nats"
SETTLED = (
    "contexts of similar {similar} all choose alike, so that exchanging their truths changes no "
    "count; how large an information such choices could hide is not estimated"
)


def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    positive: Any = None,
    condition_on: ArrayLike | pd.DataFrame | None = None,
    isotonic: bool = False,
    k: int = 3,
    n_permutations: int = USUAL,
    published: bool = False,
    n_bootstraps: int = 500,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions carry information about the truth that the stated belief does not.

    Null: given the belief (and the features, if any are named), action and truth are independent.
    Where actions are probabilities, all of them together (the policy) are independent of the truth:
    a coherent agent's policy is a function of the belief and of what else its context brings, such
    as a wording or a taste, which has nothing to do with the state at equal belief.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, in [0, 1], or of every state.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Realised state, two or more labels, constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that a belief in one state is in, and all others are then the other
        state. Only `isotonic` has to know it, where the labels are not 0 and 1, no and yes, or
        false and true.
    condition_on : DataFrame or array-like, shape (n,) or (n, n_features), optional
        Features of the evidence, for I(action; truth | belief, features). Numbers are scaled to a
        spread like that of beliefs; booleans, text and categories are labels. Contexts are then
        exchanged only with contexts of similar belief and features.
    isotonic : bool
        Replace the belief by its isotonic calibration, fitted anew in every permutation and
        resample. Two states and no features only.
    k : int
        Neighbours of the estimate.
    n_permutations : int
        Random exchanges of contexts. If the truths have no more arrangements than that, all of them
        are listed and the p-value is exact. From 999 on, a p-value of at most .002 is drawn again
        with ten times as many exchanges: 1/1000, the least that 999 can give, is more than a
        correction over 50 tests allows.
    published : bool
        The published procedure instead: the raw estimate and a percentile interval over resampled
        rows, read as a rejection when it lies above 0. Its error rate is not controlled (rows of a
        context are treated as independent, and duplicated rows bias the estimate upwards).
    n_bootstraps : int
        Row resamples of the published interval.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the information in nats: the divergence of what is counted in belief bins
        from what exchanges of contexts within narrower blocks give on average, with its bias
        removed by the jackknife over contexts (see `coherence.statistics.information`) and by
        subtracting what it averages over exchanges; it may be below 0. The interval holds every
        information at which the estimate would not be unusual (see
        `coherence.statistics.information_interval`); it lies between 0 and the logarithm of the
        number of actions or of states, whichever is less, and starts at 0 wherever the test does
        not reject at .05. It may start at 0 where the test does reject: the test looks in several
        directions, the interval at their sum. `details` holds the parts, the nearest-neighbour
        estimate, the mean of that estimate over the permutations, their difference (excess
        information), and the statistics that the p-value combines, each with the p-value that it
        has alone. Where contexts of similar belief all choose alike there is no interval, with a
        reason. With ``published=True`` the statistic is the raw nearest-neighbour estimate and
        there is no p-value. NaN with a reason if fewer than half of the contexts have a neighbour
        to be exchanged with, or if exchanges change nothing. Contexts without such a neighbour do
        not enter the counts.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states or with features, or with
        two of which it is not known which one the belief is in, `k` not below the number of rows.

    Notes
    -----
    Assumes that contexts are independent and that, among contexts with similar belief, the truth is
    exchangeable under the null. The p-value ranks, among the same exchanges, a combination of five
    statistics (`coherence.statistics.resample.combined_pvalue`): how much further actions and
    truths go together in the direction in which the belief takes them; the divergence in bins, in
    halves and over the whole range of belief (`coherence.statistics.information`); and the
    nearest-neighbour estimate with many neighbours (`coherence.statistics.cmi_problem`). Above
    2,000 rows the last is left out, and the permuted nearest-neighbour estimates are averaged over
    the first 2 to 20 permutations. Ties in belief are exact to 1e-9. Blocks and bins end where the
    shares of actions step (`coherence.statistics.choice_segments`). Beliefs and features that vary
    within a context are compared by their context mean when contexts are exchanged, within a tenth
    of the range of a belief (.4 standard deviations of a numeric feature). The information in bins
    is the same with and without `isotonic`, which changes the nearest-neighbour parts alone: an
    increasing calibration keeps the order of beliefs.

    Probabilities of actions give the information of an action that is drawn from them, so that the
    effect is that of drawn actions without the noise of drawing. The test compares the
    probabilities themselves, each in units of its spread, and two policies are as far apart as the
    most different of them. It also sees a state that moves their spread alone, of which the effect
    shows nothing. There is no published procedure for them, and no calibration of the belief.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1; Runge (2018) for local permutation; Vovk and Wang (2020)
    and Pesarin and Salmaso (2010), section 4.2, for the combination; Phipson and Smyth (2010) for
    the p-value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> belief = rng.integers(0, 21, 400) / 20
    >>> truth = rng.random(400) < belief
    >>> few = {"n_permutations": 499, "rng": 1}
    >>> told = cmi_test(belief, rng.random(400) < belief, truth, **few)
    >>> hidden = cmi_test(belief, rng.random(400) < 0.5 * belief + 0.5 * truth, truth, **few)
    >>> told.pvalue > 0.05, hidden.pvalue
    (True, 0.002)
    """
    require_aligned(belief=belief, condition_on=condition_on)
    data = as_choices(belief, action, truth, context, positive=positive, oriented=isotonic)
    k = whole_number(k, "k", 1)
    n_permutations = whole_number(n_permutations, "n_permutations", 1)
    n_bootstraps = whole_number(n_bootstraps, "n_bootstraps", 2)
    problem = pose(data, condition_on, isotonic)
    generator = as_generator(rng)
    settings: dict[str, object] = {"k": k, "published": published}
    if isotonic:
        settings["isotonic"] = True
    if condition_on is not None:
        settings["numeric_features"] = problem.given.numeric
        settings["discrete_features"] = problem.given.discrete
    undefined = CheckResult(
        check="cmi",
        null=NULL.format(
            action="action" if data.policy is None else "policy",
            given="belief" if condition_on is None else "belief and features",
            columns="belief" if condition_on is None else "belief, features",
        ),
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings,
    )
    if data.degenerate:
        return replace(undefined, reason=data.degenerate)
    require(
        k < data.n_rows,
        f"k must be below the number of rows; received k={k} for {data.n_rows} rows. "
        "Use fewer neighbours.",
    )
    if published and data.policy is not None:
        return replace(undefined, pvalue=None, reason=NO_PUBLISHED)
    if published:
        return _published(undefined, problem, k, n_bootstraps, generator)
    similar = "belief" if condition_on is None else "belief and features"
    return _permuted(undefined, problem, k, n_permutations, similar, generator)


def _permuted(
    result: CheckResult,
    problem: Problem,
    k: int,
    n_permutations: int,
    similar: str,
    rng: np.random.Generator,
) -> CheckResult:
    """Test by exchanging the truths of contexts of similar belief, and estimate in bins."""
    data, blocks = problem.data, problem.blocks
    movable = int((np.bincount(blocks)[blocks] > 1).sum())
    if movable < data.n_contexts / 2:
        few = f"only {movable} of {data.n_contexts} contexts have a neighbour of similar {similar}"
        settings = {**result.settings, "k_test": None}
        return replace(result, settings=settings, reason=f"{few} to be exchanged with")
    state = np.zeros(data.n_contexts, dtype=np.int64)
    state[data.context] = data.truth
    n_arrangements = count_arrangements(blocks, state, n_permutations)
    if n_arrangements == 1:
        alike = f"contexts of similar {similar} all share their truth"
        return replace(result, reason=f"{alike}: exchanging them changes nothing")
    exact = n_arrangements <= n_permutations
    test = exchange_test(
        problem, k, state, n_arrangements if exact else n_permutations, rng, exact=exact
    )
    n_parts = n_permutations
    if not exact and n_permutations >= USUAL and test.pvalue <= DRAWN_AGAIN:
        n_permutations = FURTHER * (n_permutations + 1) - 1
        further = exchange_test(problem, k, state, n_permutations, rng, exact=False)
        test = replace(test, pvalue=further.pvalue)
    most = math.log(min(len(data.actions), len(data.states)))
    information = centred_information(problem.counts, state, test.some, test.in_bins, most=most)
    interval = information.interval
    # The interval holds 0 unless the test rejects it as well.
    if interval is not None and not rejects(test.pvalue):
        interval = replace(interval, low=0.0)
    chosen = {
        "k_test": "binned" if test.k_test is None else test.k_test,
        "n_permutations": n_permutations,
        "exact": exact,
        "n_permutations_of_parts": n_parts,
        "n_blocks": int(blocks.max()) + 1,
        "n_bins": information.n_bins,
    }
    in_bins = [
        ("information, jackknifed in belief bins", math.nan, information.corrected),
        ("mean of permuted information in bins", math.nan, information.centre),
        ("centred information in bins", math.nan, information.corrected - information.centre),
        ("plug-in information in belief bins", math.nan, information.plug_in),
    ]
    details = pd.DataFrame(in_bins, columns=["quantity", "neighbours", "nats"])
    return replace(
        result,
        statistic=information.effect,
        interval=interval,
        pvalue=test.pvalue,
        settings={**result.settings, **chosen},
        details=pd.concat([details, test.parts], ignore_index=True),
        reason=SETTLED.format(similar=similar) if interval is None else "",
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            f"among contexts of similar {similar} the truth is exchangeable under the null",
        ),
    )


def _published(
    result: CheckResult, problem: Problem, k: int, n_bootstraps: int, rng: np.random.Generator
) -> CheckResult:
    """Estimate with a percentile interval over resampled rows."""
    n_rows = result.n_rows
    estimate = problem.estimate(np.arange(n_rows), k)
    draws: Floats = np.array(
        [problem.estimate(rng.integers(n_rows, size=n_rows), k) for _ in range(n_bootstraps)]
    )
    method = f"percentile bootstrap over rows, {n_bootstraps} resamples"
    return replace(
        result,
        statistic=estimate,
        interval=Interval(*percentile_interval(draws), 0.95, method),
        pvalue=None,
        settings={**result.settings, "n_bootstraps": n_bootstraps},
        details=pd.DataFrame({"quantity": ["estimate"], "neighbours": [k], "nats": [estimate]}),
        assumptions=("rows are independent", "duplicated rows do not bias the estimate (they do)"),
    )


def _plan(facts: Facts) -> CallsAndNotes:
    test = partial(cmi_test, facts.belief, facts.action, facts.truth, context=facts.context)
    options = {"positive": facts.positive, "published": facts.published}
    yield Call(
        partial(test, **options), facts.n_dropped, fewest={"n_permutations": FEW_PERMUTATIONS}
    )


CHECK = Check(
    name="cmi",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="The action depends on the state beyond the {belief}: it is not acted on.",
            sign="the action depends on the realised state beyond the {belief}",
            one_sided=True,
            scatter_misleads=True,
            discrepancy=True,
            published=INTERVAL_ALONE,
        )
    },
    plan=_plan,
)
