"""Belief sufficiency by information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action.
Counts in belief bins give the effect; they and Mesner and Shalizi's nearest neighbours are the
statistics of the test. The null distribution comes from exchanging the realised states of whole
contexts with similar belief, so that repetitions of a context stay together.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import INTERVAL_ALONE, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.choices import as_choices
from coherence.inputs import Codes, Floats, require, require_aligned, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.cmi_problem import Problem, pose
from coherence.statistics.information import BinnedCounts, information_bins
from coherence.statistics.resample import (
    Seed,
    as_generator,
    combined_pvalue,
    context_blocks,
    count_arrangements,
    percentile_interval,
    permutation_pvalue,
    permute_contexts,
)
from coherence.table.needs import JUDGED_CHOICES

NULL = (
    "{action} and truth are independent given {given}: I({action}; truth | {columns}) = 0; tested "
    "against dependence of any direction and of different directions at different beliefs"
)
NO_PUBLISHED = "the published estimate takes chosen actions, and here actions are probabilities"
UNIT = "nats"
# rows, over all arrangements, of nearest-neighbour estimates that each need their own search
SEARCHED_ROWS = 200_000
# arrangements for which the nearest-neighbour estimate is computed beside the statistic of the test
PERMUTED_ESTIMATES = 199
# exchanges that give the information in bins its centre and its spread
CENTRED = 50
# Statistics of the test and their weights. Wide neighbourhoods see a dependence that changes slowly
# with belief, bins one of any direction at any belief, halves one that turns between low and high
# beliefs, and the whole range one that is alike at all beliefs, whatever actions it is between.
STATISTICS = (
    "nearest-neighbour statistic",
    "statistic in bins",
    "statistic in halves",
    "statistic throughout",
)
WEIGHTS = np.array([3.0, 1.0, 1.0, 1.0])
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
    n_permutations: int = 999,
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
        are listed and the p-value is exact.
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
        removed by the jackknife over contexts, which also gives the interval (see
        `coherence.statistics.information`), and by subtracting what it averages over exchanges.
        `details` holds its parts, the nearest-neighbour estimate, the mean of that estimate over
        the permutations, their difference (excess information), and the statistics that the
        p-value combines, each with the p-value that it has alone. Where contexts of similar belief
        all choose alike there is no interval, with a reason. With ``published=True`` the statistic
        is the raw nearest-neighbour estimate and there is no p-value. NaN with a reason if fewer
        than half of the contexts have a neighbour to be exchanged with, or if exchanges change
        nothing. Contexts without such a neighbour do not enter the counts.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states or with features, or with
        two of which it is not known which one the belief is in, `k` not below the number of rows.

    Notes
    -----
    Assumes that contexts are independent and that, among contexts with similar belief, the truth is
    exchangeable under the null. The p-value ranks, among the same exchanges, a combination of four
    statistics: the nearest-neighbour estimate with many neighbours (see
    `coherence.statistics.cmi_problem`), and the divergence in bins, in halves and over the whole
    range of belief (`coherence.statistics.resample.combined_pvalue`). Above 2,000 rows, the test
    given several columns leaves out the first, and the permuted nearest-neighbour estimates are
    averaged over the first 2 to 19 permutations. Ties in belief are exact to 1e-9. Beliefs and
    features that vary within a context are compared by their context mean when contexts are
    exchanged, within a tenth of the range of a belief (.4 standard deviations of a numeric
    feature). The information in bins is the same with and without `isotonic`: quantile bins of the
    belief are kept by an increasing calibration.

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
    >>> told = cmi_test(belief, rng.random(400) < belief, truth, rng=1)
    >>> hidden = cmi_test(belief, rng.random(400) < 0.5 * belief + 0.5 * truth, truth, rng=1)
    >>> told.pvalue > 0.05, hidden.pvalue
    (True, 0.001)
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
    data = problem.data
    blocks = context_blocks(problem.summary)
    movable = int((np.bincount(blocks)[blocks] > 1).sum())
    if movable < data.n_contexts / 2:
        few = f"only {movable} of {data.n_contexts} contexts have a neighbour of similar {similar}"
        settings = {**result.settings, "k_test": None}
        return replace(result, settings=settings, reason=f"{few} to be exchanged with")
    state_of_context = np.zeros(data.n_contexts, dtype=np.int64)
    state_of_context[data.context] = data.truth
    n_arrangements = count_arrangements(blocks, state_of_context, n_permutations)
    if n_arrangements == 1:
        alike = f"contexts of similar {similar} all share their truth"
        return replace(result, reason=f"{alike}: exchanging them changes nothing")

    sources = permute_contexts(blocks, n_permutations, rng, state=state_of_context)
    # Whole contexts trade their truths, so that repetitions stay together.
    exchanged = state_of_context[sources]
    counts = problem.counts(blocks, information_bins(data.n_contexts))
    halves = problem.counts(blocks, 2)
    exact = n_arrangements <= n_permutations
    pvalue, parts, k_test = _tested(
        problem, (counts, halves), k, state_of_context, exchanged, exact
    )
    information = counts.estimate(state_of_context)
    centre, spread = _under_null(exchanged, counts)
    effect = information.corrected - centre
    error = max(information.standard_error, spread)
    half = float(stats.t.ppf(0.975, data.n_contexts - 1)) * error
    chosen = {
        "k_test": "binned" if k_test is None else k_test,
        "n_permutations": n_permutations,
        "exact": exact,
        "n_blocks": int(blocks.max()) + 1,
        "n_bins": information.n_bins,
    }
    in_bins = [
        ("information, jackknifed in belief bins", math.nan, information.corrected),
        ("mean of permuted information in bins", math.nan, centre),
        ("centred information in bins", math.nan, effect),
        ("plug-in information in belief bins", math.nan, information.plug_in),
    ]
    details = pd.DataFrame(in_bins, columns=["quantity", "neighbours", "nats"])
    method = "jackknife over contexts, not below the spread under exchange"
    # Rounding alone makes differences of this size between equal tables.
    settled = error < 1e-12
    return replace(
        result,
        statistic=0.0 if settled else effect,
        interval=None if settled else Interval(effect - half, effect + half, 0.95, method),
        pvalue=pvalue,
        settings={**result.settings, **chosen},
        details=pd.concat([details, parts], ignore_index=True),
        reason=SETTLED.format(similar=similar) if settled else "",
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            f"among contexts of similar {similar} the truth is exchangeable under the null",
        ),
    )


def _tested(
    problem: Problem,
    counts: tuple[BinnedCounts, BinnedCounts],
    k: int,
    state_of_context: Codes,
    exchanged: Codes,
    exact: bool,
) -> tuple[float, pd.DataFrame, int | None]:
    """Combine nearest neighbours, bins, halves and the whole range: p-value, parts, neighbours."""
    in_bins, in_halves = counts

    def counted(states: Codes) -> tuple[float, float, float]:
        return in_bins.plug_in(states)[0], *in_halves.plug_in(states)

    near, permuted, k_test = _statistics(problem, k, exchanged)
    observed = np.array([near[1], *counted(state_of_context)])
    drawn = np.array([counted(states) for states in exchanged])
    drawn = np.column_stack([permuted[:, 1], drawn])
    used = slice(1 if k_test is None else 0, None)
    pvalue = combined_pvalue(observed[used], drawn[:, used], WEIGHTS[used], exact=exact)
    bias, of_test = float(np.nanmean(permuted[:, 0])), math.nan if k_test is None else k_test
    rows: list[tuple[str, float, float, float]] = [
        ("nearest-neighbour estimate", k, near[0], math.nan),
        ("mean of permuted estimates", k, bias, math.nan),
        ("excess information", k, near[0] - bias, math.nan),
    ]
    for number, name in list(enumerate(STATISTICS))[used]:
        alone = permutation_pvalue(observed[number], drawn[:, number], exact=exact)
        neighbours = of_test if number == 0 else math.nan
        rows += [
            (name, neighbours, observed[number], alone),
            (f"{name}, mean of permuted", neighbours, float(drawn[:, number].mean()), math.nan),
        ]
    columns = ["quantity", "neighbours", "nats", "pvalue"]
    return pvalue, pd.DataFrame(rows, columns=columns), k_test


def _statistics(
    problem: Problem, k: int, exchanged: Codes
) -> tuple[tuple[float, float], Floats, int | None]:
    """Nearest-neighbour estimate and statistic, observed and under exchange; its neighbours."""
    data = problem.data
    statistic, k_test = problem.statistic(k)
    # The mean of the permuted estimates settles long before a p-value does; searching several
    # columns of many rows is dear.
    n_estimates = PERMUTED_ESTIMATES
    if k_test is None:
        n_estimates = int(np.clip(SEARCHED_ROWS // data.n_rows, 2, 20))
    permuted = [
        statistic(states[data.context], number < n_estimates)
        for number, states in enumerate(exchanged)
    ]
    return statistic(data.truth, True), np.array(permuted), k_test


def _under_null(exchanged: Codes, counts: BinnedCounts) -> tuple[float, float]:
    """Mean and standard deviation of the information in bins over some of the exchanges.

    What the jackknife leaves of the bias (much, where few contexts leave the choice that all others
    of their bin make) is in the mean. Near independence the information is a square of small
    numbers, of whose spread leaving out single contexts shows too little.
    """
    evenly = np.unique(np.linspace(0, len(exchanged) - 1, CENTRED).astype(np.int64))
    information = [counts.estimate(states).corrected for states in exchanged[evenly]]
    return float(np.mean(information)), float(np.std(information))


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
    yield Call(partial(test, **options), facts.n_dropped)


CHECK = Check(
    name="cmi",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="The action depends on the state beyond the {belief}: it is not acted on.",
            sign="the action depends on the realised state beyond the {belief}",
            one_sided=True,
            scatter_misleads=True,
            published=INTERVAL_ALONE,
        )
    },
    plan=_plan,
)
