"""Stakes in the row: whether choices move with them as the stated belief asks, and what they lose.

Acting gains g if the event happens and costs c if it does not, passing leaves all as it is: acting
pays from a probability of t = c / (g + c). With g + c as the unit, choosing against the belief b
loses abs(b - t). All stakes of a question are one case. Assumes independent cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks import threshold
from coherence.checks.by_name import takes_columns
from coherence.checks.check import Check, Form, Plan, Question, estimated
from coherence.inputs import (
    Codes,
    Floats,
    as_numbers,
    few_contexts,
    require,
    require_one_per_row,
    require_probabilities,
)
from coherence.printable import odds
from coherence.result import CheckResult, Family, Interval
from coherence.runs.needs import NEEDS_STAKES, STAKES_QUESTIONS
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.resample import context_means
from coherence.statistics.shares import exact_interval

NAME = "stakes"
MOST_LEFT, BY_CHOICE = 0.1, 0.25  # shares: of cases without a second report; that act, apart
CLEAR = 0.1  # of the belief, from which a stake lies clear of it
FEWEST_CLEAR, SHARE_CLEAR = 10, 0.2  # cases with clear stakes on both sides: number, and share
MARGIN = 1 / 3  # of the movement that beliefs ask for, below which stakes are ignored
MOST_ON_STAKES = 1 / 3  # of the reports that equal a stake, from which the loss is a bound alone
BY_BELIEF = 0.01  # chance of a rank correlation of stakes and beliefs, below which they go together
FEWEST_LOSING = 5  # cases seen to lose, below which the bound is that of their share
FEWEST_OF_BOTH = 5  # times that it acts, and passes, at each of two stakes that give a slope
MOST_LANES, LANES, FIFTHS = 8, 5, 5  # stakes that a figure shows one by one, else groups; beliefs
IGNORES, MOVES, OPEN = "ignores", "moves", "open"
CLUSTERED = "share of a sum, one pseudo-case that moves as asked, {clusters} as clusters, t"
HULL = "hull of the plain and the noise-extrapolated {what}"
OF_ANSWERS = "answers at a stake, t"
JACKKNIFED = "logit, jackknife of {clusters}, t"
SINGLE = "{n} of {all} cases have one report of their belief, whose noise would {{what}}"
TOGETHER = (
    "stakes go with the stated beliefs (rank correlation {r:.2f}), so that nothing tells which of "
    "the two moves choices; draw the stake of each case at random"
)
ON_STAKES = (
    "a third of reports equal a stake, where noise looks like choices against them: it would {what}"
)
BY_CHOSEN = "confidences are missing by what was chosen: {n} of {all} {what}"
ACTS, SAYS = "stated belief from which it acts", "probability from which it says it acts"
PAYS = "the one from which acting pays"
UNMADE = (
    "at {n} of {all} stakes no choice was made, and all others are alike: where an empty cell "
    "means that it passed, write so in it"
)
SENTENCES = {
    "movement": estimated("movement of choices, of what is asked where a stake crosses the belief"),
    "loss": estimated("mean loss against acting on the stated belief", "loss of 100 at stake"),
    "against": estimated("share of choices against the stated belief"),
    "slope": estimated(
        f"rise of the {ACTS} with {PAYS}", "slope of own on stated threshold", Form.NUMBER
    ),
    "difference": estimated(f"{ACTS} less {PAYS}", "own threshold less stated, points"),
    "said_slope": estimated(
        f"rise of the {SAYS} with {PAYS}", "slope of said on stated threshold", Form.NUMBER
    ),
    "said": estimated(f"{SAYS} less {PAYS}", "said threshold less stated, points"),
    "acted_less_said": estimated(f"{ACTS} less the {SAYS}"),
    "confidence": estimated("mean stated belief at the highest stake less that at the lowest"),
}
UNITS = {"movement": "of what is asked", "loss": "of gain + loss"}
UNITS |= {"slope": "ratio", "said_slope": "ratio"}
ASSUMPTIONS = (
    "cases are independent",
    "reports differ from the belief behind them by noise of mean 0",
    "utility is linear in the payoffs",
)


Fit = Callable[..., dict[str, Any]]
"""Stakes that the belief from which it acts lies above, or none for its slope -> fields."""


@dataclass(frozen=True, repr=False)
class StakesResult(CheckResult):
    """One result of `coherence.stakes_estimates`; None is what it does not tell."""

    # of the movement
    moves: str | None = None  # whether choices move: IGNORES, MOVES or OPEN
    highest: str | None = None  # stake, as odds
    crossed: bool | None = None  # whether cases have several stakes
    # cases with stakes clear of the belief on both sides; shares that act where it pays, and loses
    n_clear: int | None = None
    pays: float | None = None
    loses: float | None = None
    # of the loss: that of never and of always acting, and what it is at most where it is unknown
    never: float | None = None
    always: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Choices(threshold.CaseRows):
    """Choices at a stake."""

    stake: Floats  # belief from which acting pays, in [0, 1]
    acts: Floats  # share that acts
    own: Floats  # belief stated in the row itself; NaN where there is none
    without: Floats  # share that acts of the choices of cases without a belief

    @property
    def silent(self) -> str:
        """Say that choices without a belief differ from the others, if they do and are many."""
        n, what = len(self.without), "choices are of cases without any"
        return _by_chosen(n, n + len(self.acts), what, self.without, self.acts)


def _by_chosen(n: int, n_all: int, what: str, without: Floats, others: Floats) -> str:
    """Say that so many are left out that it matters how their choices differ; empty if not."""
    if n <= MOST_LEFT * n_all or not len(without) or not len(others):
        return ""
    apart = bool(abs(without.mean() - others.mean()) >= BY_CHOICE)
    return BY_CHOSEN.format(n=n, all=n_all, what=what) * apart


@takes_columns("belief", "action", "loss", "gain", "said", "context", "group")
def stakes_estimates(
    belief: ArrayLike,
    action: ArrayLike,
    loss: ArrayLike,
    *,
    acts: Any,
    data: pd.DataFrame | None = None,
    gain: ArrayLike | None = None,
    said: ArrayLike | None = None,
    context: ArrayLike,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> list[StakesResult]:
    """Estimate whether choices move with their stakes as stated beliefs ask, and what they lose.

    Null: none is tested.

    Estimand: the movement of choices where a stake crosses the stated belief, over the movement
    that the belief asks for (a ratio; 1 as asked, 0 not at all); the mean loss against acting on
    the stated belief (of gain plus loss; cases count alike); and the slope on the belief from which
    acting pays of the one from which it acts (a ratio; choices count alike).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of the event, in [0, 1]. NaN in rows that have none: a case's choices go
        by its mean report.
    action : array-like, shape (n,) or (n, 2)
        Two labels, or the probabilities of both; a DataFrame's columns name them. Missing where no
        choice was made.
    loss : array-like, shape (n,)
        What acting loses if the event does not happen, at least 0, or infinite; NaN in rows without
        a stake.
    acts : Any
        The action that stakes gain and loss; the other one passes.
    gain : array-like, shape (n,), optional
        What acting gains if the event happens, likewise; 1 where it is left out.
    said : array-like, shape (n,), optional
        Probability of the event from which the agent says it would act for the stake of the row; in
        rows of their own, NaN in all others.
    context : array-like, shape (n,)
        Ids of the cases: all stakes of a question, and all reports of its belief, are one.

    Returns
    -------
    list of StakesResult
        ``stakes:movement``: `moves` says ignores, moves or open; the shares that act where it
        `pays` and `loses` by .1 or more are means over the `n_clear` cases that have both (or with
        one stake a case, a tenth of all stakes so far away on either side). ``stakes:loss``, with
        those of `never` and `always` acting, or what it is `at_most`. ``stakes:against``, the share
        of choices against the stated belief. ``stakes:slope`` and ``stakes:difference``, of the
        belief from which it acts and the one from which acting pays; with `said`,
        ``stakes:said_slope``, ``stakes:said`` and ``stakes:acted_less_said`` of what it says.
        ``stakes:confidence``, how far beliefs stated at a stake move with it.

    Raises
    ------
    InputError
        An array breaks its rule, there are more than two actions, no context, or no case with both
        a belief and a choice at a stake.

    Notes
    -----
    With m the mean report of a case and s = 1 where m is above t, the movement is
    sum(z a) / sum(z s) over choices a, where z is s less its mean over the stakes of the case; with
    one stake a case, s less the share of all stakes below m, and a less what goes with fifths of
    the belief. One pseudo-case moves as asked. Choices ignore the stakes where the upper 95% end is
    below 1/3, also in the rows whose own report lies on the same side of the stake as m. That takes
    ten cases, and a fifth of them, with a stake .1 or more below the belief and one as far above.

    The loss, abs(m - t) of a choice against m, and the slope -b_t / b_m of a logit of acting on t
    and m, are extrapolated to reports without noise from means without a part of them; intervals
    are hulls of the plain and the extrapolated ones. The slope takes two stakes, neither 0 nor
    infinite, at which each choice is made five times. Of reports that never differ within a case,
    or of fewer than seven values, the loss is bounded, and there is no slope.

    References
    ----------
    Quenouille (1956), Biometrika 43(3), and Carroll, Ruppert, Stefanski and Crainiceanu (2006),
    Measurement Error in Nonlinear Models, chapter 5, on extrapolation; MacKinnon, Nielsen and Webb
    (2023), Journal of Econometrics 232(2), on the jackknife by cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng, case = np.random.default_rng(1), np.repeat(np.arange(60), 4)
    >>> belief, penalty = rng.uniform(0.05, 0.95, 60)[case], np.tile([0, 1, 3, 9], 60)
    >>> answers = rng.random(240) < 1 / (1 + np.exp(20 * (0.5 - belief)))  # whatever the penalty
    >>> movement, loss, *_ = stakes_estimates(
    ...     belief, np.where(answers, "answer", "abstain"), penalty, acts="answer", context=case,
    ...     computed=True,
    ... )
    >>> movement.moves, bool(loss.low > 0.05)
    ('ignores', True)
    """
    arrays = {"action": action, "loss": loss, "gain": gain, "said": said, "group": group}
    require_one_per_row(belief, context, **arrays)
    stated, stake = as_numbers(belief, "belief"), _stakes(loss, gain)
    spoken = np.full(len(stated), math.nan) if said is None else as_numbers(said, "said")
    require_probabilities(spoken, "said")
    acting, silent, known = _acting(action, acts, len(stated)), np.isnan(spoken), ~np.isnan(stake)
    told_at = np.where(silent, stated, math.nan)
    chosen = known & silent & ~np.isnan(acting)
    if not computed:
        told_at = threshold.without_copies(told_at, stake, context)
    rows = threshold.parted(told_at, chosen, None, context, group, at="a stake", computed=computed)
    rows = replace(rows, n_dropped=rows.n_dropped - int((~silent).sum()))
    chosen[rows.rows] = False  # what is left has no belief
    at, told, without = rows.rows, known & ~silent, acting[chosen]
    choices = Choices(
        **vars(rows), stake=stake[at], acts=acting[at], own=stated[at], without=without
    )
    empty = threshold.blanks(StakesResult, rows, NAME, SENTENCES, UNITS, ASSUMPTIONS)
    unmade = _unmade(
        pd.factorize(np.asarray(context, dtype=object))[0], stake, acting, known & silent
    )
    if why := few_contexts(rows.n_contexts) or rows.clusters.too_few or unmade:
        return [empty[name](reason=why) for name in ("movement", "loss")]
    fit = _fitted(choices)
    n_ends = int(np.isin(choices.stake, (0.0, 1.0)).sum())
    if isinstance(fit, str):
        of_slope = of_difference = {"reason": fit}
    else:
        of_slope, of_difference = fit[0](), fit[0](fit[1])
    settings = empty["slope"].keywords["settings"] | {"n_ends": n_ends}
    slope = empty["slope"](settings=settings, **of_slope)
    results = [
        _movement(empty["movement"], choices, slope),
        _loss(empty["loss"], choices),
        _against(empty["against"], choices),
        slope,
        empty["difference"](**of_difference),
    ]
    results += _said(empty, fit, spoken[told], stake[told], computed) if told.any() else []
    return results + _confidence(empty["confidence"], choices)


def _unmade(case: Codes, stake: Floats, acting: Floats, asked: Any) -> str:
    """Say that choices that were made are alike, where many are missing; empty if not."""
    made = (
        pd.Series(~np.isnan(acting))[asked].groupby([case[asked], np.round(stake[asked], 9)]).any()
    )
    alike, n = np.nanmin(acting[asked]) == np.nanmax(acting[asked]), int((~made).sum())
    return UNMADE.format(n=n, all=len(made)) * bool(alike and n > MOST_LEFT * len(made))


def _stakes(loss: ArrayLike, gain: ArrayLike | None) -> Floats:
    """Return the belief from which acting pays, NaN where there is no stake."""
    lost = as_numbers(loss, "loss")
    gained = np.ones(len(lost)) if gain is None else as_numbers(gain, "gain")
    least = np.minimum(lost, gained)
    wrong = (least < 0) | np.isinf(least) | (lost + gained == 0)
    require(
        not wrong.any(),
        f"gain and loss must be at least 0, one above 0 and one finite; {int(wrong.sum())} of "
        f"{len(lost)} rows have others, the first at position {int(wrong.argmax())}. Give what is "
        "lost without its sign.",
    )
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(lost) & ~np.isnan(gained), 1.0, lost / (gained + lost))


def _acting(action: Any, acts: Any, n: int) -> Floats:
    """Return the share that acts in each row; NaN where no choice was made."""
    labels, shares = threshold.shares_of(action, n)
    alike = {label.strip().casefold() for label in labels} & {str(acts).strip().casefold()}
    require(  # an agent that never acts chose the other alone, but never another spelling
        len({*labels, str(acts)}) <= 2 and (str(acts) in labels or not alike),
        f"acts must be one of two actions; received {acts!r}, and actions are "
        f"{', '.join(map(repr, labels[:6]))}. Name the one that stakes, and leave out rows with a "
        "third.",
    )
    known = np.where(shares.sum(axis=1) > 0, 0.0, math.nan)  # of none
    return known + shares @ [label == str(acts) for label in labels]


# Whether it moves with the stakes


def _movement(blank: partial[StakesResult], choices: Choices, slope: StakesResult) -> StakesResult:
    """Compare how choices move where a stake crosses the stated belief with what that asks for."""
    n, clusters = choices.n_contexts, choices.clusters
    stakes, of_stake = np.unique(np.round(choices.stake, 9), return_inverse=True)
    cells, cell = np.unique(choices.context * len(stakes) + of_stake, return_inverse=True)
    case, t = cells // len(stakes), stakes[cells % len(stakes)]
    acts, own = (context_means(each, cell, len(cells)) for each in (choices.acts, choices.own))
    m = np.round(choices.reports.mean, 9)[case]
    crossed, highest = bool(np.median(np.bincount(case, minlength=n)) > 1), odds(float(t.max()))
    free = np.abs(t - m) > 1e-9  # where the stake is the belief either choice is right
    t, m, acts, case, own = (each[free] for each in (t, m, acts, case, own))
    cluster = clusters.of_context[case]
    z, moved, clear = _compared(t, m, acts, case, crossed=crossed)
    n_clear = np.unique(case[clear]).size
    pays, loses = (
        float(pd.Series(acts[side & clear]).groupby(case[side & clear]).mean().mean())
        for side in _sides(t, m)
    )
    seen: Any = {"crossed": crossed, "highest": highest, "details": _by_belief(choices)}
    seen |= {"n_clear": n_clear, "pays": pays, "loses": loses}
    fewest, why = max(FEWEST_CLEAR, math.ceil(SHARE_CLEAR * n - 1e-9)), ""
    if len(stakes) == 1:
        why = "all choices have one stake"
    elif choices.silent and not crossed:
        why = choices.silent
    elif n_clear < fewest:
        why = f"{n_clear} of {n} cases have stakes clear of the stated belief on both sides"
        why += f", and {fewest} are needed"
    elif not crossed and (together := stats.spearmanr(t, m)).pvalue < BY_BELIEF:
        why = TOGETHER.format(r=float(together.statistic))
    if why:
        return blank(reason=why, **seen)
    ratio, upper, reach = _share_moved(z, moved, m > t, cluster)
    moves = IGNORES if ratio + upper < MARGIN else MOVES if ratio > reach else OPEN
    if moves == IGNORES:
        # Nor where the report of the row itself asks for the same: it may move with the stake.
        same = ((own > t) == (m > t)) | np.isnan(own)
        z, moved, clear = _compared(t[same], m[same], acts[same], case[same], crossed=crossed)
        share, end, _ = _share_moved(z, moved, (m > t)[same], cluster[same])
        few = crossed and np.unique(case[same][clear]).size < fewest
        moves = OPEN if few or not share + end < MARGIN else IGNORES
    method = CLUSTERED.format(clusters=clusters.plural)
    interval = Interval(ratio - reach, ratio + reach, 0.95, method)
    # From wherever it acts: who acts from far above or below hardly moves where stakes are few.
    moves = MOVES if moves == IGNORES and slope.low > MARGIN else moves
    return blank(statistic=ratio, interval=interval, moves=moves, reason=choices.silent, **seen)


def _sides(t: Floats, m: Floats) -> tuple[Any, Any]:
    """Return which stakes lie clear of the belief, below it and above."""
    return t <= m - CLEAR + 1e-9, t >= m + CLEAR - 1e-9


def _compared(
    t: Floats, m: Floats, acts: Floats, case: Codes, *, crossed: bool
) -> tuple[Floats, Floats, Any]:
    """Return what is asked less its mean over stakes, choices, and which are of clear cases.

    Cases of one stake each are compared over the stakes of the table, at like beliefs: choices less
    what goes with the belief.
    """
    ordered, n, pays = np.sort(t), len(t), (m > t) * 1.0
    if crossed or not n:
        low, high = (np.isin(case, case[side]) for side in _sides(t, m))
        return pays - pd.Series(pays).groupby(case).transform("mean").to_numpy(), acts, low & high
    below = np.searchsorted(ordered, m - CLEAR + 1e-9) / n
    above = 1 - np.searchsorted(ordered, m + CLEAR - 1e-9) / n
    fifth = _fifths(m, m)
    dummies = np.eye(FIFTHS)[:, np.bincount(fifth, minlength=FIFTHS) > 1][fifth]
    fitted = np.linalg.lstsq(np.column_stack([dummies, pays]), acts, rcond=None)[0]
    z = pays - np.searchsorted(ordered, m) / n
    return z, acts - dummies @ fitted[:-1], np.minimum(below, above) >= CLEAR


def _share_moved(z: Floats, moved: Floats, pays: Any, cluster: Codes) -> tuple[float, float, float]:
    """Return the share of the movement asked for, and how far its one- and two-sided ends reach."""
    done, asked, size = (np.bincount(cluster, each) for each in (z * moved, z * pays, abs(z)))
    informative = size > 1e-9
    if not (number := int(informative.sum())):
        return math.nan, math.nan, math.nan
    one = float(asked.sum()) / number
    total = float(asked.sum()) + one
    ratio = (float(done.sum()) + one) / total
    left = (done - ratio * asked)[informative]
    error = math.sqrt(float(left @ left) + (one * (1 - ratio)) ** 2) / total
    upper, reach = (float(stats.t.ppf(q, number - 1)) * error for q in (0.95, 0.975))
    return ratio, upper, reach


def _fifths(of: Floats, belief: Floats) -> Codes:
    """Return in which fifth of the beliefs each of these lies."""
    return np.searchsorted(np.quantile(belief, np.arange(1, FIFTHS) / FIFTHS), of, side="right")


def _by_belief(choices: Choices) -> pd.DataFrame:
    """Return the share that acts by stake, or group of stakes, and by fifth of the belief."""
    belief, context = choices.reports.mean, choices.context
    stakes, lane = np.unique(np.round(choices.stake, 9), return_inverse=True)
    if len(stakes) > MOST_LANES:
        edges = np.quantile(choices.stake, np.arange(1, LANES) / LANES)
        lane = np.unique(np.searchsorted(edges, choices.stake), return_inverse=True)[1]
    n, m = int(lane.max()) + 1, belief[context]
    cell = lane * FIFTHS + _fifths(m, belief)
    stake = np.repeat(context_means(choices.stake, lane, n), FIFTHS)
    mean = context_means(m, cell, n * FIFTHS)
    return threshold.share_table(choices.acts, cell, context, "acts", stake=stake, belief=mean)


# What it loses


def _against(blank: partial[StakesResult], choices: Choices) -> StakesResult:
    """Estimate how often it chooses against its stated belief, by case, then over cases."""
    if choices.silent:
        return blank(reason=choices.silent)
    gain = np.round(choices.reports.mean[choices.context] - choices.stake, 9)
    wrong = np.select([gain > 0, gain < 0], [1 - choices.acts, choices.acts])
    values = context_means(wrong, choices.context, choices.n_contexts)
    of_cases = pd.Series(values, list(choices.cases))
    result = mean_result(blank, of_cases, choices.clusters, "share")
    tossed = choices.clusters.name == "context" and np.isin(values, (0.0, 1.0)).all()
    if result.keywords["interval"] is None or not tossed:
        return result()
    ends = exact_interval(result.keywords["statistic"], len(values), 0.95)  # one choice a case
    return result(interval=Interval(*ends, 0.95, "Clopper and Pearson"))


def _loss(blank: partial[StakesResult], choices: Choices) -> StakesResult:
    """Estimate the mean loss, by case, then over cases."""
    reports, n = choices.reports, choices.n_contexts
    (beliefs, factors), bounded = reports.thinned(), reports.too_coarse
    kept, equal = np.flatnonzero(~np.isnan(beliefs[0])), np.round(reports.values, 9)
    if n - len(kept) > MOST_LEFT * n:  # others may lose more
        bounded = SINGLE.format(n=n - len(kept), all=n)
        beliefs, factors, kept = reports.mean[None, :], np.zeros(2), np.arange(n)
    elif reports.noise > threshold.NOTHING:
        on_stakes = np.isin(equal, np.round(choices.stake, 9)).mean() >= MOST_ON_STAKES
        bounded = ON_STAKES if on_stakes else bounded
    if why := choices.silent or few_contexts(len(kept), "with two reports"):
        return blank(reason=why)
    gains = beliefs[:, choices.context] - choices.stake

    def of_policy(acts: Floats | float) -> list[Floats]:
        """Return the loss of each case: without noise, as it is, and without its root."""
        lost = np.maximum(gains, 0.0) - acts * gains
        means = context_means(lost.T, choices.context, n).T
        of = (factors[0], 0.0, factors[1])
        return [threshold.without_noise(means, factor)[kept] for factor in of]

    several, clusters = of_policy(choices.acts), choices.clusters.among(kept)
    named = [pd.Series(values, [choices.cases[at] for at in kept]) for values in several]
    filled = [mean_result(blank, values, clusters, "loss") for values in named]
    values, result, interval = several[0], filled[0], filled[0].keywords["interval"]
    if all(ends := [each.keywords["interval"] for each in filled]):
        low, high = min(of.low for of in ends), max(of.high for of in ends[:2])
        method = HULL.format(what=interval.method) if factors.any() else interval.method
        interval = Interval(low, high, 0.95, method)
    if bounded:
        reason, n_losing = bounded.format(what="add to the loss"), int((values > 0).sum())
        most = None if interval is None else interval.high
        if n_losing < FEWEST_LOSING:  # so few at the most, by all that a choice can lose
            rare = float(stats.beta.ppf(0.975, n_losing + 1, max(len(values) - n_losing, 1)))
            most = max(most or 0.0, rare * float(np.abs(gains[0]).max()))
        reason += "" if most is None else f", which is at most {most:.3f}"
        result, interval = partial(blank, reason=reason, at_most=most), None
    never, always = (float(of_policy(acts)[0].mean()) for acts in (0.0, 1.0))
    return result(interval=interval, n_contexts=len(kept), never=never, always=always)


# Which belief it acts from


def _fitted(choices: Choices) -> tuple[Fit, Floats] | str:
    """Fit a logit of acting on stake and belief; return it with its stakes, or why there is none.

    Its estimates are of all clusters and without each, by each of the beliefs of `thinned`.
    """
    told, (beliefs, (factor, _)) = ~np.isnan(choices.own), choices.reports.thinned()
    single = np.isnan(beliefs[0])
    kept = (choices.stake > 0) & (choices.stake < 1) & ~single[choices.context]
    context, t, acts = choices.context[kept], choices.stake[kept], choices.acts[kept]
    cases = np.unique(context)
    of, by = choices.clusters.among(cases), (choices.acts[~told], choices.acts[told])
    if why := few_contexts(len(cases), "with stakes that are neither 0 nor infinite") or of.too_few:
        return why
    if coarse := choices.reports.too_coarse:
        return coarse.format(what="make the slope steeper than it is")
    few = int(single.sum()), choices.n_contexts, "cases have fewer than two"
    if why := choices.silent or _by_chosen(*few, *by):
        return why
    stakes, at = np.unique(t, return_inverse=True)
    mixed = np.minimum(np.bincount(at, acts), np.bincount(at, 1 - acts)) >= FEWEST_OF_BOTH
    if mixed.sum() < 2:  # else the logit alone would say where the others change
        return f"both choices are seen {FEWEST_OF_BOTH} times at {mixed.sum()} stakes, not at two"
    cluster, fits = of.of_context[np.searchsorted(cases, context)], []
    for belief in beliefs[:, context]:
        columns = np.column_stack([np.ones(len(t)), t - 0.5, belief - 0.5])
        found, without = threshold.logit(columns, acts)
        fits.append(np.vstack([found, without(cluster, of.n)]))
    by_belief = np.array(fits)[0, :, 2]
    if not by_belief[0] > math.sqrt(threshold.jackknife(by_belief[1:, None] - by_belief[0]).item()):
        return "at equal stakes choices are not seen to rise with the belief"

    def estimate(above: Floats | None = None) -> dict[str, Any]:
        """Estimate how the belief from which it acts rises with the stake, or lies above these."""
        constant, by_stake, by_belief = np.moveaxis(np.array(fits), 2, 0)
        values = -by_stake / by_belief
        if above is not None:
            mean = float(above.mean())
            values = 0.5 - mean + (mean - 0.5) * values - constant / by_belief
        both = np.array([values[0], threshold.without_noise(values, factor)])
        away = np.sqrt(np.diag(threshold.jackknife((both[:, 1:] - both[:, :1]).T)))
        low, high = float((both[:, 0] - away).min()), float((both[:, 0] + away).max())
        method = HULL.format(what=JACKKNIFED.format(clusters=of.plural))
        interval = Interval(low, high, 0.95, method)
        return {"statistic": float(both[1, 0]), "interval": interval, "n_contexts": len(cases)}

    return estimate, stakes


def _said(
    empty: dict[str, partial[StakesResult]],
    fit: tuple[Fit, Floats] | str,
    said: Floats,
    stake: Floats,
    computed: bool,
) -> list[StakesResult]:
    """Estimate from which probability it says it acts; answers are independent, stakes alike."""
    stakes, at = np.unique(np.round(stake, 9), return_inverse=True)
    number, n = np.bincount(at), len(stakes)
    mean = context_means(said, at, n)
    squares = np.bincount(at, (said - mean[at]) ** 2)
    variance = squares / np.maximum(number - 1, 1) / number * (not computed)
    times = float(stats.t.ppf(0.975, max(int((number - 1).sum()), 1)))
    details = pd.DataFrame({"stake": stakes, "said": mean, "n_answers": number})

    def estimate(name: str, value: float, weights: Floats) -> StakesResult:
        found = partial(empty[name], statistic=value, n_rows=len(said), details=details)
        if not computed and number.min() < 2:
            return found(reason="stakes have one answer each")
        reach = times * math.sqrt(float(weights**2 @ variance))
        return found(interval=Interval(value - reach, value + reach, 0.95, OF_ANSWERS))

    spoken = estimate("said", float((mean - stakes).mean()), np.full(n, 1 / n))
    results, away = [spoken], stakes - stakes.mean()
    if n > 1:
        line = away / float(away @ away)
        results.append(estimate("said_slope", float(line @ mean), line))
    if isinstance(fit, str):
        return [*results, empty["acted_less_said"](reason=fit)]
    acted, interval = fit[0](stakes), None
    at, ends = acted["statistic"], acted["interval"]
    value = at - spoken.statistic
    if spoken.interval is not None:
        error = spoken.high - spoken.statistic
        low = value - math.hypot(at - ends.low, error)
        interval = Interval(low, value + math.hypot(ends.high - at, error))
    found: Any = acted | {"statistic": value, "interval": interval, "reason": spoken.reason}
    return [*results, empty["acted_less_said"](**found)]


def _confidence(blank: partial[StakesResult], choices: Choices) -> list[StakesResult]:
    """Estimate how far the belief itself moves from the lowest stake to the highest, if known."""
    told = ~np.isnan(choices.own)
    ends = choices.stake[told].min(initial=1.0), choices.stake[told].max(initial=0.0)
    if choices.reports.once or ends[0] >= ends[1]:
        return []
    low, high = (told & (choices.stake == end) for end in ends)
    moved = choices.paired_difference(choices.own, (high, low))
    return [blank(**moved)] if "statistic" in moved else []


# In an analysis


def _plan(data: EvaluationData, published: bool) -> Plan:
    of = threshold.asked_of(data, loss="loss", gain="gain", said="says_from", acts="acts")
    of["acts"] = of["acts"].dropna().iloc[0]
    yield partial(stakes_estimates, **of)


CHECK = Check(
    name=NAME,
    origin="Ours, of published parts",
    figure="plot_offers",
    needs=NEEDS_STAKES,
    sentences=SENTENCES,
    question=Question.STAKES,
    takes_margin=True,
    plan=_plan,
    by_itself=lambda runs: STAKES_QUESTIONS in runs.kinds_of_questions,
    beside_primary=True,
    family=Family.ESTIMATE,
)
