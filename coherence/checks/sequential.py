"""Belief sufficiency while cases still come in: looks fixed in advance, or looks at will.

Looks: at each, the primary test of the cases so far is compared with the level that alpha spending
leaves there (`coherence.statistics.spending`). Evidence: pairs of cases of equal recorded belief
are bet on, and the product of bets may be looked at after every case
(`coherence.statistics.evidence`). Cases stand in the order of their first rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import FEWEST_DRAWS
from coherence.checks.covariance import N_DRAWS, lacking
from coherence.checks.sufficiency import NAME, PERMUTED, sufficiency
from coherence.inputs import Codes, Floats, require, whole_number
from coherence.result import EXACT_REPORT, LEVEL, CheckResult, Interval, Lack
from coherence.statistics.evaluation import EvaluationData, evaluation_data, one_dimensional
from coherence.statistics.evidence import (
    NATS,
    enough_evidence,
    log_evidence,
    pairs_of,
    path_of,
    share_tied,
)
from coherence.statistics.report_noise import Reports, kind_of_reports
from coherence.statistics.resample import Seed, as_generator, context_means
from coherence.statistics.spending import nominal_levels, sequential_pvalues
from coherence.table.stopping import Arrivals, StoppingPlan

NULL = "given the belief{group}, actions are independent of the {state}"
FEWEST_TIED = 0.25
REPEATED = "repeated confidence interval: the test of the last look inverted at its level"
PLANNED = "the looks were fixed before the first case came in"
AS_THEY_CAME = "which case comes next does not depend on actions and states together"
NOT_YET = "the first look is at {first} cases; here are {n}"
LONE = (
    "{share:.0%} of cases find another of equal belief{group}, and evidence from pairs takes "
    "{fewest:.0%}: plan looks instead (looks=5, most=CASES)"
)
NOISY = (
    "reports of a case differ, and evidence from pairs takes them as exact: plan looks instead "
    "(looks=5, most=CASES), whose test allows for noise"
)
ONE_PERSON = (
    "evidence from pairs takes one agent, and several persons judged the same cases here. Plan "
    "looks instead (looks=5 most=CASES)."
)
BETS = "bets on pairs"
NO_INTERVAL = "bets on pairs give no interval, and what is shown is the estimate of the fixed test"
OF_LOOKS = {"p_direction", "p_beyond_rounding", "p_turn"}
"""P-values among the settings of a look, which are made sequential as its own is."""
NOTHING_DIFFERS = "no two cases of equal belief differ in state, beyond rounding, and in action"


@takes_columns("belief", "action", "truth", "exact", "context", "group")
def sequential_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    computed: bool = False,
    looks: int = 5,
    most: int | None = None,
    evidence: float | None = None,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> CheckResult:
    """Test belief sufficiency while cases come in, with an error rate that looking does not raise.

    Null: given the belief (and the group), actions of a case do not go with its state. Rows are in
    the order in which they came; a case stands where its first row does, and all its rows count
    with it. The plan is either a number of looks and the `most` cases, or the `evidence` to stop
    at, and is fixed before the first case.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated beliefs in [0, 1]; of two states where `evidence` is given.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,), optional
        Realised states, constant within a context; may be left out with `exact`.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that the belief is in, constant within a context: it takes the
        place of the realised state.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief: cases are compared inside groups.
    positive : Any
        Label of the state that the belief is in; may be left out where the labels say it.
    computed : bool
        Whether beliefs were computed from a model's distribution: without noise, not rounded.
    looks : int
        Looks at equal numbers of cases.
    most : int, optional
        Cases at the last look. More cases are refused: the plan is over.
    evidence : float, optional
        In place of `most`: how much evidence is enough, as 1 / alpha; 20 for .05. It may be looked
        at after every case.
    n_draws : int
        Draws of the null distribution at each look.
    rng : Generator, int or None
        Source of randomness of looks; with one number a look has the same p-value whenever the
        table is analysed.

    Returns
    -------
    CheckResult
        `pvalue` is the sequential p-value, which may be looked at after every case: of looks the
        smallest alpha at which the plan has stopped by now, of evidence one over the most there
        was. `settings` has the plan, and ``stopped``, the cases after which it rejects at .05, or
        has enough evidence (None where it goes on). `details` has the path. Looks: `statistic` and
        interval are those of `sufficiency_test` at the last look so far, the interval at the level
        of that look; columns ``cases, level, pvalue, sequential_pvalue``, a row a look, NaN where
        it is still to come. Evidence: `statistic` is its logarithm by now; columns ``cases,
        context, log_evidence``, a row a case.

    Raises
    ------
    InputError
        As for `sufficiency_test`, more cases than `most`, and neither or both of `most` and
        `evidence`.

    Notes
    -----
    Looks: of alpha / 2, each side spends 2 - 2 Phi(z / sqrt(t)) by the share t of cases, z =
    Phi^-1(1 - alpha / 4), and levels are those of a normal statistic with independent increments.
    With five looks they are 1e-6, .0008, .007, .022 and .042: permutations do not reach the first.

    Evidence: a case is paired with the last one of equal recorded belief (and group) that has no
    partner and another state, by more than what beliefs are rounded to. Under the null the two
    could trade actions, so that the product x of their differences in the share of an action and in
    state is as often -x. Bets 1 + tanh(stake x / rms), with the root mean square of the products so
    far, are multiplied over pairs, and averaged over actions and stakes of .3 and .6 for and
    against: two-sided, with no direction to be learned, and blind for an effect that turns within
    the range of beliefs. By Ville's inequality it ever reaches 20 in at most .05 of true nulls.
    There is none where fewer than a quarter of the cases have a partner, or reports of a case
    differ; nor an interval: it would take an effect that is the same at every belief.

    References
    ----------
    Lan and DeMets (1983), Biometrika 70(3); Liu and Anderson (2008), JASA 103(484), for sequential
    p-values; Jennison and Turnbull (1989), JRSS B 51(3), for repeated confidence intervals. Ramdas,
    Grunwald, Vovk and Shafer (2023), Statistical Science 38(4), for evidence; Shaer, Maman and
    Romano (2023), AISTATS 206, for bets on conditional independence.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=200, n_reps=1, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> columns = {"data": rows, "context": "context"}
    >>> looks = sequential_test("p", "action", "theta", **columns, most=300, rng=1)
    >>> looks.settings["stopped"], looks.details["pvalue"].notna().tolist()
    (120, [True, True, True, False, False])
    >>> at_will = sequential_test("p", "action", "theta", **columns, evidence=20)
    >>> at_will.settings["stopped"]
    82
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "group": group}
    require(
        truth is not None or exact is not None,
        "truth must hold the state of every row; received None. Pass it, or the exact posteriors "
        "as exact.",
    )
    require(
        (most is None) != (evidence is None),
        "a plan has the cases of its last look (most=300), or the evidence to stop at "
        f"(evidence=20); received most={most!r} and evidence={evidence!r}. Give one of them.",
    )
    require(isinstance(computed, bool), f"computed must be True or False; received {computed!r}.")
    cases = evaluation_data(belief, action, truth, context, posterior=exact, **options)
    cases = replace(cases, computed=computed)
    if evidence is not None:
        cases = cases if exact is None else cases.with_exact_state()
        plan = StoppingPlan(evidence=enough_evidence(evidence))
        return _by_evidence(cases, _in_order_of_rows(cases, plan))
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    looks, most = whole_number(looks, "looks", 1), whole_number(most, "most", 1)
    require(looks <= most, f"looks must be at most most, {most}; received {looks}.")
    n = cases.n_contexts
    require(
        n <= most,
        f"most must be the cases with which the plan ends; received {most}, and here are {n} "
        "cases. Give the plan as it was before the first case, and the cases up to its end.",
    )
    arrivals = _in_order_of_rows(cases, StoppingPlan(looks=looks, most=most))
    result = _by_looks(cases, arrivals, n_draws, rng, exact=exact is not None)
    path = result.fitted
    assert isinstance(path, pd.DataFrame)
    settings = {**result.settings, "plan": "looks", "looks": looks, "most": most}
    return replace(
        result, check=f"{NAME}:looks", settings=settings, details=path, fitted=None, also={}
    )


def _in_order_of_rows(cases: EvaluationData, plan: StoppingPlan) -> Arrivals:
    """Place contexts in the order of their first rows."""
    first = np.unique(cases.context, return_index=True)[1]
    return Arrivals(plan, first.argsort().argsort() + 1, cases.n_contexts)


def planned_sufficiency(data: EvaluationData) -> CheckResult:
    """Run the primary test as the plan of a table has it: its p-value and intervals allow for that.

    `fitted` has the path, `settings` the ``plan`` and ``stopped``, as of `sequential_test`.
    """
    assert data.arrivals is not None
    if data.arrivals.plan.looks is not None:
        exact = data.exact is not None
        return _by_looks(data, data.arrivals, N_DRAWS, data.arrivals.plan.seed, exact=exact)
    # What bets see has no unit of its own: the effect is that of the fixed test.
    effect = sufficiency(data, n_draws=FEWEST_DRAWS, rng=data.arrivals.plan.seed)
    bets = _by_evidence(data, data.arrivals)
    kept = {name: value for name, value in effect.settings.items() if name not in OF_LOOKS}
    return replace(
        effect,
        interval=None,
        pvalue=bets.pvalue,
        settings={**kept, **bets.settings, "test": BETS, "plan": str(data.arrivals.plan)},
        assumptions=bets.assumptions,
        reason=NO_INTERVAL if bets.lack is None else bets.reason,
        lack=bets.lack,
        also={},
        fitted=bets.details,
    )


def _by_looks(
    cases: EvaluationData, arrivals: Arrivals, n_draws: int, rng: Seed, *, exact: bool
) -> CheckResult:
    """Compare the primary test with the level of each look that the cases reach."""
    plan, n = arrivals.plan, arrivals.n_asked
    sizes, looks = plan.sizes, int(plan.looks or 0)
    levels = nominal_levels(sizes / sizes[-1])
    place = arrivals.place[cases.context]
    results = []
    for size, level, child in zip(sizes, levels, as_generator(rng).spawn(looks), strict=True):
        if size <= n:
            # Early cases may all have one realised state: what it is called is told anew.
            part = cases.subset(place <= size)
            part = part.with_exact_state() if exact else part
            results.append(sufficiency(part, n_draws=n_draws, rng=child, level=1 - level))
    pvalues = np.full(looks, math.nan)
    pvalues[: len(results)] = [each.pvalue for each in results]
    so_far = _so_far(pvalues, sizes, len(results))
    path = pd.DataFrame(
        {"cases": sizes, "level": levels, "pvalue": pvalues, "sequential_pvalue": so_far}
    )
    stopped = sizes[pvalues <= levels]
    settings: dict[str, Any] = {
        "plan": str(plan),
        "stopped": int(stopped[0]) if stopped.size else None,
    }
    if not results:
        undefined = replace(_undefined("looks", cases, settings, path), check=NAME, fitted=path)
        return lacking(undefined, NOT_YET.format(first=sizes[0], n=n), Lack.CASES)
    last, ends = results[-1], results[-1].interval
    if last.settings.get("test") == PERMUTED or "n_persons" in last.settings:
        ends = None  # it is one of a fixed number of cases
    settings = {**last.settings, **settings}
    settings.pop("near_level", None)
    for name in OF_LOOKS & set(settings):
        of_looks = np.full(looks, math.nan)
        of_looks[: len(results)] = [each.settings.get(name, math.nan) for each in results]
        settings[name] = float(_so_far(of_looks, sizes, len(results))[len(results) - 1])
    return replace(
        last,
        pvalue=math.nan if np.isnan(pvalues).all() else float(np.nanmin(so_far)),
        interval=ends and Interval(ends.low, ends.high, 1 - LEVEL, REPEATED),
        settings=settings,
        assumptions=(*last.assumptions, PLANNED),
        fitted=path,
    )


def _so_far(pvalues: Floats, sizes: Codes, n_looks: int) -> Floats:
    """Return sequential p-values at the looks so far, NaN at those to come."""
    so_far = np.full(len(pvalues), math.nan)
    so_far[:n_looks] = sequential_pvalues(pvalues[:n_looks], sizes / sizes[-1])
    return so_far


def _undefined(
    plan: str, data: EvaluationData, settings: dict[str, Any], path: pd.DataFrame
) -> CheckResult:
    return CheckResult(
        check=f"{NAME}:{plan}",
        null=NULL.format(
            group="" if data.group is None else " and the group",
            state="realised state" if data.posterior is None else "exact posterior of the state",
        ),
        statistic=math.nan,
        unit=NATS if plan == "evidence" else "probability",
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings,
        details=path,
    )


def _by_evidence(data: EvaluationData, arrivals: Arrivals) -> CheckResult:
    """Bet on pairs of cases of equal belief."""
    enough = float(arrivals.plan.evidence or math.nan)
    require(
        len(data.states) < 3,
        f"truth must have two states where evidence is given; received {len(data.states)}. Name "
        "the one that the belief is in (positive), or plan looks (most).",
    )
    require(data.person is None, ONE_PERSON)
    n, arrived = data.n_contexts, np.argsort(arrivals.place)
    belief = context_means(one_dimensional(data, "sequential_test"), data.context, n)[arrived]
    state = data.truth.astype(np.float64) if data.exact is None else data.exact
    state = context_means(state, data.context, n)[arrived]
    share = context_means(data.share, data.context, n)[arrived]
    group = np.zeros(n, dtype=np.int64) if data.group is None else data.group[arrived]
    settings: dict[str, Any] = {"plan": "evidence", "evidence": enough, "stopped": None}
    result = replace(
        _undefined("evidence", data, settings, pd.DataFrame()),
        assumptions=(
            f"cases are independent given belief{'' if data.group is None else ' and group'}",
            EXACT_REPORT,
            AS_THEY_CAME,
        ),
    )
    if not data.computed and kind_of_reports(data.belief, data.context)[0] is Reports.DIFFER:
        return lacking(result, NOISY, Lack.REPORTS)
    if (tied := share_tied(belief, group)) < FEWEST_TIED:
        inside = "" if data.group is None else " in their group"
        reason = LONE.format(share=tied, group=inside, fewest=FEWEST_TIED)
        return lacking(result, reason, Lack.CASES)
    first, second = pairs_of(belief, state, group, rounded=not data.computed)
    products = (share[first] - share[second]) * (state[first] - state[second])[:, None]
    after = np.concatenate([[0.0], log_evidence(products)])
    log = after[np.searchsorted(second, np.arange(n), side="right")]
    contexts = [data.contexts[code] for code in arrived]
    path = path_of(log, contexts, arrivals.place[arrived], enough)
    path["settings"] = {**settings, **path["settings"], "n_pairs": len(first)}
    return replace(result, **path, reason="" if log.any() else NOTHING_DIFFERS)
