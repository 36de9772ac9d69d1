"""Matching probabilities: the belief that is acted on, in units of probability.

The same prize is offered on the event or with a stated chance; who prefers the event at chance t
acts as if it were better than t (Anscombe and Aumann 1963; Karni 2009), whatever utility and risk
attitude are. Half of the questions offer the complement, which takes ambiguity attitude out
(Baillon, Huang, Selim and Wakker 2018). A choice that does not answer the stated chance tells no
belief. Assumes independent cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks import threshold
from coherence.checks.by_name import takes_columns
from coherence.checks.check import Check, Form, Plan, Question, estimated
from coherence.inputs import (
    Floats,
    as_numbers,
    few_contexts,
    require,
    require_one_per_row,
    require_probabilities,
)
from coherence.result import CheckResult, Family, Interval
from coherence.runs.columns import COMPLEMENT, EVENT, LEVEL_OPTIONS
from coherence.runs.needs import MATCHING_QUESTIONS, NEEDS_MATCHING
from coherence.statistics.evaluation import EvaluationData

LEAST_SWING = 0.2  # of its lower end, with which a choice counts as an answer to the stated chance
LEAST_F = 10.0  # first-stage F of repetitions for weights apart (Staiger and Stock 1997)
NOTHING = 1e-6  # variance of beliefs about a line in the posterior: a spread of .001
LEAST_CASES = 20  # from which weights are told apart: with fewer, intervals are too short
SMOOTH = 1.0  # von Neumann's ratio, 2 on average of what goes with nothing, of a curve next to 0
MOST_DELETED = 300  # clusters that the jackknife deletes one by one; beyond that, in groups
WIDEST = 1.0  # length of the interval of a share; a longer one tells none and all of it not apart
UNANSWERED = (
    "the choice does not answer the stated chance: from the lowest to the highest third of chances "
    "the share of the lottery rises by {:.3f} (lower end {:.3f}, and {least:g} is needed)"
)
NOT_APART = "weights cannot be told apart"
LOGIT = "logit of choices, reports calibrated by repetitions; jackknife of {clusters}, t"
NUMBERS = ("difference", "together", "share")
"""Acted on less stated, the weights of both beliefs together, the share of the exact one in it."""
SENTENCES = {
    "swing": estimated(
        "share of the lottery at the highest third of chances less that at the lowest"
    ),
    "share": estimated(
        "share of the exact posterior in the belief acted on, beside the stated one",
        "weight of the exact posterior in it",
        Form.PERCENT,
    ),
    "difference": estimated("mean of the belief acted on less the stated belief"),
    "order": estimated("how much more often an option is chosen where it is named first"),
}
ASSUMPTIONS = (
    "contexts are independent",
    "the chance acted on is linear in the posterior, and a cubic in the stated belief",
    "the lottery is not distorted: who takes its chance for another is off by as much",
)


@dataclass(frozen=True, repr=False)
class MatchingResult(CheckResult):
    """One result of `coherence.matching_estimates`."""

    answered: bool | None = None  # of the swing: whether choices answer the stated chance


@takes_columns("belief", "action", "level", "exact", "frame", "order", "context", "group")
def matching_estimates(
    belief: ArrayLike,
    action: ArrayLike,
    level: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    frame: ArrayLike | None = None,
    order: ArrayLike | None = None,
    context: ArrayLike,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> list[MatchingResult]:
    """Estimate the belief that choices between an event and a stated chance are made by.

    Rows are of two kinds: with a stated belief and no level, or with a choice and its level.

    Null: none is tested.

    Estimand: of the chance at which the choice would be even, the mean less the stated belief (a
    probability; cases count alike) and the weight of the exact posterior in it, alongside the
    stated belief (a share; choices count alike).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of the event, in [0, 1]; NaN in rows with a level.
    action : array-like, shape (n,) or (n, 2)
        "event" or "lottery" in rows with a level, or columns with the probabilities of the two;
        missing where it was refused.
    level : array-like, shape (n,)
        Chance of the lottery as stated in the question, in (0, 1); NaN in rows with a belief.
    exact : array-like, shape (n,), optional
        Exact posterior probability of the event; constant within a context.
    frame : array-like, shape (n,), optional
        "event", or "complement" where the prize is on the event not happening.
    order : array-like, shape (n,), optional
        Option that is named first, "event" or "lottery".
    context : array-like, shape (n,)
        Ids of the evidence, of which each has rows of both kinds.

    Returns
    -------
    list of MatchingResult
        ``matching:swing`` (the gate; `answered` says how it ended), ``matching:share`` (of the
        exact posterior in what is acted on), ``matching:difference`` (acted on minus stated) and
        ``matching:order``. Where the lower end of the swing is not above .2 all others but the
        order effect are NaN. The share is NaN as well, with the reason, of fewer than 20 cases, of
        reports that were not repeated (unless `computed`), where the posterior is a curve of what
        is said, and where its interval would be longer than 1.

    Raises
    ------
    InputError
        A level outside of (0, 1), an option, frame or order that is none, no context with both
        kinds of rows.

    Notes
    -----
    One logit of choice on order, frame, level t, stated belief p with its bends (square and cube
    without their lines) and exact posterior p*; the belief acted on is what leaves it even, and the
    weight of p is -b_p / b_t. Reports are replaced by their best linear prediction from all reports
    of the case and p*, with the noise that repetitions show (regression calibration). Standard
    errors delete one case at a time.

    References
    ----------
    Baillon, Huang, Selim and Wakker (2018), Econometrica 86(5), on frames; Carroll, Ruppert,
    Stefanski and Crainiceanu (2006), Measurement Error in Nonlinear Models, chapter 4; MacKinnon,
    Nielsen and Webb (2023), Journal of Econometrics 232(2), on the jackknife by cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng, case = np.random.default_rng(1), np.arange(40).repeat(11)
    >>> level = np.tile([np.nan, *np.arange(5, 100, 10) / 100], 40)
    >>> belief = rng.uniform(0.1, 0.9, 40)[case]
    >>> event = rng.random(440) < 1 / (1 + np.exp(20 * (level - belief)))
    >>> action = np.where(event, "event", "lottery")
    >>> swing, share, difference, order = matching_estimates(
    ...     np.where(np.isnan(level), belief, np.nan), action, level, context=case, computed=True
    ... )
    >>> bool(swing.interval.low > 0.5), bool(abs(difference.statistic) < 0.05), share.reason
    (True, True, 'the exact posterior is not known')
    """
    arrays = {"level": level, "exact": exact, "order": order, "frame": frame, "group": group}
    require_one_per_row(belief, context, action=action, **arrays)
    levels = as_numbers(level, "level")
    require_probabilities(levels, "level", strict=True)
    asked = ~np.isnan(levels)
    named, shares = threshold.shares_of(action, len(asked))
    chosen = [label for label, of in zip(named, shares.T, strict=True) if of[asked].any()]
    _signs(chosen, "action", LEVEL_OPTIONS, np.full(len(chosen), True))
    side = shares @ [label == EVENT for label in named]
    first = _signs(order, "order", LEVEL_OPTIONS, asked)
    frames = _signs(frame, "frame", (EVENT, COMPLEMENT), asked)
    stated = np.where(asked, np.nan, as_numbers(belief, "belief"))
    answered = asked & (shares.sum(axis=1) > 0)
    table = threshold.parted(
        stated, answered, exact, context, group, at="a level", computed=computed
    )
    rows, turned = table.rows, frames[table.rows] < 0
    chance, of_event = np.round(levels[rows], 9), side[rows]  # 1 - .35 is .65
    answers = _Answers(
        **vars(table),
        level=np.where(turned, np.round(1.0 - chance, 9), chance),
        stated_level=chance,
        chose=np.where(turned, 1.0 - of_event, of_event),
        lottery=1.0 - of_event,
        first=first[rows] * np.where(turned, -1.0, 1.0),
        named_first=first[rows],
        frame=frames[rows],
    )
    about = table, "matching", SENTENCES, {"share": "share"}, ASSUMPTIONS
    empty = threshold.blanks(MatchingResult, *about)
    of_swing, orders = _swing(answers), (answers.first > 0, answers.first < 0)
    by_order = empty["order"](**answers.paired_difference(answers.chose, orders))
    why = few_contexts(table.n_contexts) or table.clusters.too_few or of_swing["reason"]
    at, interval = of_swing.get("statistic", math.nan), of_swing.get("interval")
    if not why and not (low := math.nan if interval is None else interval.low) > LEAST_SWING:
        ends = (round(each, 3) + 0.0 for each in (at, low))  # no -0.000
        why = UNANSWERED.format(*ends, least=LEAST_SWING)
        if not math.isnan(gain := by_order.statistic):
            why += f"; an option gains {gain:.3f} from being named first"
    swing = empty["swing"](**of_swing | {"reason": why}, answered=not why)
    if why:
        share, difference = (empty[name](reason=why) for name in ("share", "difference"))
        return [swing, share, difference, by_order]
    found = _jackknife(answers)
    value, interval = found["difference"]
    difference = empty["difference"](statistic=value, interval=interval)
    return [swing, _share(empty["share"], answers, found), difference, by_order]


def _signs(values: Any, name: str, labels: tuple[str, str], asked: Any) -> Floats:
    """Return 1 for the first label, -1 for the second; 0 where nothing was said."""
    column = pd.Series(
        values if values is None else np.asarray(values, dtype=object), range(len(asked))
    )
    odd = sorted({*column[asked].dropna().map(str)} - {*labels})
    require(
        not odd,
        f"{name} must be {labels[0]!r} or {labels[1]!r} in rows with a level; received "
        f"{', '.join(map(repr, odd[:4]))}. Rename its values, and leave refusals empty.",
    )
    return np.asarray(column.map({labels[0]: 1.0, labels[1]: -1.0}).fillna(0.0), dtype=np.float64)


@dataclass(frozen=True)
class _Answers(threshold.CaseRows):
    """Choices between event and lottery, seen from the event."""

    level: Floats  # chance of the lottery against the event, 1 - level in the complement frame
    stated_level: Floats  # as the question states it
    chose: Floats  # share of the option that goes with the event
    lottery: Floats  # share of the lottery, in the question's own frame
    first: Floats  # 1 or -1: the option that goes with the event is named first; 0 if not known
    named_first: Floats  # the same of what the prize is on, be it the complement
    frame: Floats  # 1 or -1: the event itself, its complement; 0 if not known


def _calibrated(reports: threshold.CaseReports, keep: Any) -> tuple[Floats, float, float]:
    """Predict the belief behind the reports of each case from them and the posterior.

    Return with it the reliability of a mean report beyond the posterior, and the repetitions' F.
    """
    stated, exact, n = reports.mean[keep], reports.exact[keep], int(keep.sum())
    columns = np.column_stack([np.ones(n), exact][: 1 if np.isnan(exact).any() else 2])
    fitted = threshold.least_squares(columns, stated)
    away = stated - fitted
    of_mean = reports.noise / reports.number[keep]
    spread = float(away @ away) / max(n - columns.shape[1], 1)
    own = spread - float(of_mean.mean())
    share = own / (own + of_mean) if own > NOTHING else np.zeros(n)
    belief = np.full(len(keep), np.nan)
    belief[keep] = fitted + share * away
    reliability = float(share.mean())
    odds = reliability**2 / max(1.0 - reliability**2, 1e-12)
    return belief, reliability, (n - 3) * odds


def _curves(stated: Floats, keep: Any) -> Floats:
    """Return square and cube of what is said without their lines, 0 where it has too few values.

    The belief acted on may bend with what is said. Without these, the posterior would stand in for
    the bend wherever what is said is a curve of it.
    """
    kept, curves = stated[keep], np.zeros((len(stated), 2))
    line = [np.ones(len(kept)), kept - kept.mean()]
    for at in range(2):
        power = line[1] ** (at + 2)
        away = power - threshold.least_squares(np.column_stack(line), power)
        if away @ away <= NOTHING * (power @ power):
            break
        curves[keep, at] = away / math.sqrt(float(away @ away) / len(away))
        line.append(curves[keep, at])
    return curves


def _varied(signs: Floats) -> Floats:
    """Return signs that vary, else 0: what is one throughout is the constant's part."""
    return signs * bool(np.ptp(signs))


def _fitted(answers: _Answers, keep: Any, start: Floats | None = None) -> tuple[Floats, Floats]:
    """Fit the choices of some cases; return the coefficients and the `NUMBERS`.

    Coefficients are of a constant, order, frame, level, beliefs, then curves of what is said.
    """
    rows, reports = keep[answers.context], answers.reports
    stated = _calibrated(reports, keep)[0] if reports.noise >= 0 else reports.mean
    known = not np.isnan(reports.exact).any()
    values = np.column_stack([stated, reports.exact][: 1 + known])
    beliefs = np.column_stack([values - values[keep].mean(axis=0), _curves(stated, keep)])
    signs = [_varied(of[rows]) for of in (answers.first, answers.frame)]
    level = answers.level[rows] - 0.5
    columns = [np.ones(rows.sum()), *signs, level, *beliefs[answers.context[rows]].T]
    found, _ = threshold.logit(np.column_stack(columns), answers.chose[rows], start=start)
    slope = -found[3]  # how fast choices turn to the lottery as its chance rises
    acted_on = 0.5 + found[0] / slope  # where all beliefs are at their means
    weights = np.append(found[4 : 5 + known] / slope, math.nan)[:2]
    difference, together = acted_on - reports.mean[keep].mean(), weights.sum()
    return found, np.array([difference, together, weights[1] / together])


def _jackknife(answers: _Answers) -> dict[str, tuple[float, Interval]]:
    """Return the `NUMBERS` with intervals; one cluster at a time is left out."""
    clusters = answers.clusters
    start, estimate = _fitted(answers, np.full(len(clusters.of_context), True))
    part = clusters.of_context % MOST_DELETED
    left = [_fitted(answers, part != number, start)[1] for number in range(int(part.max()) + 1)]
    away = np.sqrt(np.diag(threshold.jackknife(np.array(left) - estimate)))
    method = LOGIT.format(clusters="groups" if clusters.name == "group" else "cases")
    ends = zip(NUMBERS, estimate.tolist(), away.tolist(), strict=True)
    return {name: (at, Interval(at - to, at + to, 0.95, method)) for name, at, to in ends}


# What is returned


def _at_equal_wording(answers: _Answers) -> tuple[Floats, str]:
    """Take off from the share of the lottery what order and frame do to it on a line in the chance.

    Else who goes by the order would seem to answer a chance with which the order goes.
    """
    chance = np.column_stack([np.ones(len(answers.lottery)), answers.stated_level])
    wording = {"order of the options": answers.named_first, "frame": answers.frame}
    for name, each in wording.items():
        if np.ptp(each) and not (each - threshold.least_squares(chance, each)).round(6).any():
            return answers.lottery, f"the {name} goes with the stated chance"
    varied = np.column_stack([_varied(each) for each in wording.values()])
    effect = np.linalg.lstsq(np.column_stack([chance, varied]), answers.lottery, rcond=None)[0]
    return answers.lottery - varied @ effect[2:], ""


def _swing(answers: _Answers) -> dict[str, Any]:
    """Tell whether choices answer the stated chance at all."""
    levels, of_level = np.unique(answers.stated_level, return_inverse=True)
    if (n := len(levels)) < 2:
        return {"reason": "all questions state one chance"}
    lottery, tied = _at_equal_wording(answers)
    third = max(n // 3, 1)
    ends = of_level >= n - third, of_level < third
    swing = answers.paired_difference(lottery, ends)
    if "statistic" not in swing:
        return swing
    mean = float(np.clip(swing["statistic"], -1.0, 1.0))
    interval, reason = swing["interval"], swing["reason"]
    if interval is None and not answers.clusters.too_few:  # as of exact answers
        interval, reason = Interval(mean, mean, 0.95, "all cases have the same swing"), ""
    # The share of the lottery by the option named first and the stated chance.
    orders, named = [LEVEL_OPTIONS[1], "", EVENT], answers.named_first.astype(np.int64) + 1
    cells = {"first": np.repeat(orders, n), "level": np.tile(levels, len(orders))}
    cell, context = named * n + of_level, answers.context
    return {
        "statistic": mean,
        "interval": interval and interval.within(-1.0, 1.0),
        "reason": tied or reason,
        "details": threshold.share_table(answers.lottery, cell, context, "lottery", **cells),
    }


def _share(
    blank: partial[MatchingResult], answers: _Answers, found: dict[str, tuple[float, Interval]]
) -> MatchingResult:
    """Say what share of the belief acted on is the exact posterior, or why none is told."""
    reports, n, reason = answers.reports, answers.n_contexts, ""
    behind, reliability, first_stage = _calibrated(reports, np.full(n, True))
    if np.isnan(reports.exact).any():
        reason = "the exact posterior is not known"
    elif n < LEAST_CASES:
        reason = f"weights take {LEAST_CASES} cases to be told apart; here are {n}"
    elif math.isnan(reports.noise):
        reason = "one report a case: its noise would be taken for use of the posterior"
    elif first_stage < LEAST_F:
        reason = (
            "stated beliefs differ from a line in the posterior by no more than their noise "
            f"(first-stage F = {first_stage:.1f}, below {LEAST_F:g}): {NOT_APART}"
        )
    elif _is_a_curve(reports.exact, behind):
        reason = f"the exact posterior is a curve of the stated belief: {NOT_APART}"
    if reason:
        return blank(reason=reason)
    (weight, together), (value, share) = found["together"], found["share"]
    blank = partial(blank, settings=blank.keywords["settings"] | {"reliability": reliability})
    if together.low <= 0:  # a share of next to nothing could be anything
        reason = (
            "the belief acted on is not seen to rise with what is said and known: the weights come "
            f"to {weight:z.2f} [{together.low:z.2f}, {together.high:z.2f}]"
        )
    elif share.high - share.low > WIDEST:
        reason = (
            "stated beliefs differ too little from a line in the posterior for weights to be told "
            f"apart: the share would lie anywhere from {share.low:z.2f} to {share.high:z.2f}"
        )
    else:
        return blank(statistic=value, interval=share)
    return blank(reason=reason)


def _is_a_curve(exact: Floats, stated: Floats) -> bool:
    """Tell whether cases of like statements are alike in what a cubic leaves of the posterior."""
    everywhere = np.full(len(stated), True)
    columns = np.column_stack([np.ones(len(stated)), stated, _curves(stated, everywhere)])
    away = exact - threshold.least_squares(columns, exact)
    total = float(away @ away)
    if total <= NOTHING * len(away):
        return True
    mixed = np.random.default_rng(0).permutation(len(stated))  # rows of equal statements
    steps = np.diff(away[np.lexsort((mixed, stated))])
    return float(steps @ steps) < SMOOTH * total


# In an analysis


def _of_evaluation(data: EvaluationData) -> list[MatchingResult]:
    """Estimate from the questions of an evaluation; of who does not answer, the gate alone."""
    asked = threshold.asked_of(data, level="level", exact="p_true", order="order", frame="frame")
    results = matching_estimates(**asked | {"frame": asked["frame"].fillna(EVENT)})
    results = [replace(each, n_dropped=each.n_dropped + data.n_dropped) for each in results]
    return results if results[0].answered else [results[0], results[-1]]


def _plan(data: EvaluationData, published: bool) -> Plan:
    yield partial(_of_evaluation, data)


CHECK = Check(
    name="matching",
    origin="Adapted from matching probabilities (Karni 2009)",
    figure="plot_offers",
    needs=NEEDS_MATCHING,
    sentences=SENTENCES,
    question=Question.WHICH,
    plan=_plan,
    by_itself=lambda runs: MATCHING_QUESTIONS in runs.kinds_of_questions,
    family=Family.ESTIMATE,
)
