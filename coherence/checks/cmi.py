"""Belief sufficiency by nearest-neighbour information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action
(belief-sufficiency proposition for random-utility agents). The estimate is Mesner and Shalizi's;
the null distribution comes from exchanging the realised states of whole contexts with similar
belief, so that repetitions of a context stay together.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.check import (
    INTERVAL_ALONE,
    Call,
    CallsAndNotes,
    Check,
    Facts,
    Reach,
    Sentences,
)
from coherence.inputs import Codes, Floats, as_choices, require, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.cmi_problem import Problem, pose
from coherence.statistics.information import BinnedInformation, binned_information
from coherence.statistics.resample import (
    Seed,
    as_generator,
    context_blocks,
    count_arrangements,
    percentile_interval,
    permutation_pvalue,
    permute_contexts,
)
from coherence.table.needs import JUDGED_CHOICES

NULL = "{action} and truth are independent given {given}: I({action}; truth | {columns}) = 0"
NO_PUBLISHED = "the published estimate takes chosen actions, and here actions are probabilities"
UNIT = "nats"
# rows, over all arrangements, of nearest-neighbour estimates that each need their own search
SEARCHED_ROWS = 200_000
# arrangements for which the nearest-neighbour estimate is computed beside the statistic of the test
PERMUTED_ESTIMATES = 199
# exchanges that give the information in bins its spread, and in bins of several columns its centre
CENTRED = 50


def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
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
        Stated probability of the second state, in [0, 1], or of every state.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Realised state, two or more labels, constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
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
        `statistic` is the information in nats, estimated in belief bins with its bias removed by
        the jackknife over contexts, which also gives the interval (see
        `coherence.statistics.information`). Given several columns, whose bins are wide, what it
        averages over permutations is subtracted; that leans towards 0, because contexts are
        exchanged among few. `details` holds it beside the nearest-neighbour estimate, the mean of
        that estimate over the permutations, their difference (excess information), and the
        statistic of the test. With ``published=True`` the statistic is the raw nearest-neighbour
        estimate and there is no p-value. NaN with a reason if fewer than half of the contexts have
        a neighbour to be exchanged with, or if exchanges change nothing.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states or with features, `k` not
        below the number of rows.

    Notes
    -----
    Assumes that contexts are independent and that, among contexts with similar belief, the truth is
    exchangeable under the null. The p-value uses more neighbours than the estimate; see
    `coherence.statistics.cmi_problem`. Above 2,000
    rows, the test given several columns uses the plug-in information in bins, and the permuted
    nearest-neighbour estimates are averaged over the first 2 to 19 permutations. Ties in belief are
    exact to 1e-9. Beliefs and features that vary within a context are compared by their context
    mean when contexts are exchanged, within a tenth of the range of a belief (.4 standard
    deviations of a numeric feature). The information in bins is the same with and without
    `isotonic`: quantile bins of the belief are kept by an increasing calibration.

    Probabilities of actions give the information of an action that is drawn from them, so that the
    effect is that of drawn actions without the noise of drawing. The test compares the
    probabilities themselves, each in units of its spread, and two policies are as far apart as the
    most different of them. It also sees a state that moves their spread alone, of which the effect
    shows nothing. There is no published procedure for them, and no calibration of the belief.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1; Runge (2018) for local permutation; Phipson and Smyth
    (2010) for the p-value.

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
    data = as_choices(belief, action, truth, context)
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

    bins = problem.bins()
    sources = permute_contexts(blocks, n_permutations, rng, state=state_of_context)
    # Whole contexts trade their truths, so that repetitions stay together.
    exchanged = state_of_context[sources]
    observed, permuted, k_test = _statistics(problem, bins, k, exchanged)
    information, effect, half, within = _effect(problem, bins, exchanged, rng)
    bias = float(np.nanmean(permuted[:, 0]))
    chosen = {
        "k_test": "binned" if k_test is None else k_test,
        "n_permutations": n_permutations,
        "exact": n_arrangements <= n_permutations,
        "n_blocks": int(blocks.max()) + 1,
        "n_bins": information.n_bins,
    }
    of_test = math.nan if k_test is None else k_test
    details = [
        ("information, jackknifed in belief bins", math.nan, information.corrected),
        ("plug-in information in belief bins", math.nan, information.plug_in),
        ("nearest-neighbour estimate", k, observed[0]),
        ("mean of permuted estimates", k, bias),
        ("excess information", k, observed[0] - bias),
        ("statistic of the test", of_test, observed[1]),
        ("mean of permuted statistics", of_test, float(permuted[:, 1].mean())),
        *within,
    ]
    method = "jackknife over contexts, not below the spread under exchange"
    return replace(
        result,
        statistic=effect,
        interval=Interval(effect - half, effect + half, 0.95, method),
        pvalue=permutation_pvalue(observed[1], permuted[:, 1], exact=bool(chosen["exact"])),
        settings={**result.settings, **chosen},
        details=pd.DataFrame(details, columns=["quantity", "neighbours", "nats"]),
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            f"among contexts of similar {similar} the truth is exchangeable under the null",
        ),
    )


def _statistics(
    problem: Problem, bins: Codes, k: int, exchanged: Codes
) -> tuple[tuple[float, float], Floats, int | None]:
    """Estimate and statistic of the test, observed and under exchange; neighbours of the test."""
    data = problem.data
    statistic, k_test = problem.statistic(bins, k)
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


def _effect(
    problem: Problem, bins: Codes, exchanged: Codes, rng: np.random.Generator
) -> tuple[BinnedInformation, float, float, list[tuple[str, float, float]]]:
    """Information in bins, the effect that it gives with half its interval, and its centring."""
    data = problem.data
    information = binned_information(bins, data.context, data.share, data.truth)
    effect = information.corrected
    centring: list[tuple[str, float, float]] = []
    if problem.belief is None:
        # Bins of several columns are wide, and belief moves both action and truth within them;
        # exchanges between neighbours keep that.
        drawn = rng.permutation(len(exchanged))[:CENTRED]
        centre = float(np.mean(_information_under(exchanged[drawn], problem, bins)))
        effect -= centre
        centring = [
            ("mean of permuted information in bins", math.nan, centre),
            ("centred information in bins", math.nan, effect),
        ]
    error = max(information.standard_error, _spread_under_null(exchanged, problem, bins))
    half = float(stats.t.ppf(0.975, data.n_contexts - 1)) * error
    return information, effect, half, centring


def _information_under(arrangements: Iterable[Codes], problem: Problem, bins: Codes) -> list[float]:
    """Information in bins, jackknifed, where contexts have the states of each arrangement."""
    data = problem.data
    return [
        binned_information(bins, data.context, data.share, states[data.context]).corrected
        for states in arrangements
    ]


def _spread_under_null(exchanged: Codes, problem: Problem, bins: Codes) -> float:
    """Standard deviation of the information in bins over some of the exchanges.

    Near independence the information is a square of small numbers, of which leaving out single
    contexts shows too little.
    """
    evenly = np.unique(np.linspace(0, len(exchanged) - 1, CENTRED).astype(np.int64))
    return float(np.std(_information_under(exchanged[evenly], problem, bins)))


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
    arrays = facts.belief, facts.action, facts.truth
    test = partial(cmi_test, *arrays, context=facts.context, published=facts.published)
    yield Call(test, facts.n_dropped)


CHECK = Check(
    name="cmi",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="The action depends on the realised state beyond the {belief}: "
            "it is not the belief acted on.",
            sign="the action depends on the realised state beyond the {belief}",
            kept="No sign that the action uses more than the {belief}.",
            reach=Reach.ABOVE,
            scatter_misleads=True,
            published=INTERVAL_ALONE,
        )
    },
    plan=_plan,
)
