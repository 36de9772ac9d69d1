"""Belief sufficiency, the primary test: whether actions go with the state at equal stated belief.

The direction in which a higher belief moves choice (`coherence.checks.covariance`) sees an effect
that has one sign throughout. An effect that turns within the range of beliefs it cannot see: the
same products of differences, times the belief, can. The p-value is the smaller of both, each over
its part of the level. What rounding and noise of reports may leave unsaid does not count, in the
p-value, in any interval or in differences between models.

Beside the p-value stand effects: points at equal belief, weighed by what the belief leaves open of
the state, or each case alike; and the share of what choices know of the state that is not said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.by_name import takes_columns
from coherence.checks.check import Call, CallsAndNotes, Check, Interpretation, Question
from coherence.checks.covariance import CERTAIN, N_DRAWS, Arranged, arrangement_test
from coherence.checks.persons import own_belief_test
from coherence.checks.sufficiency_result import Sufficiency
from coherence.result import CheckResult, Estimate, Family
from coherence.runs.needs import STATE_AND_CHOICES
from coherence.statistics.evaluation import (
    EvaluationData,
    as_choices,
    in_several_states,
    one_dimensional,
)
from coherence.statistics.hidden_share import CLEAR, share_of_covariance
from coherence.statistics.report_noise import Reports, kind_of_reports
from coherence.statistics.resample import (
    LONGER,
    Seed,
    as_seed,
    check_stream,
    context_means,
    near_level,
)

NAME = "sufficiency"
SEQUENCES, PERMUTED = "direction and turn", "permuted blocks"
"""Which test was run."""
SHARE, PLAIN, SLOPE = "hidden_share", "plain_average", "slope"
MEANING = {
    SLOPE: "change in P(action) from a stated belief of 0 to one of 1, by least squares over "
    "cases; of the action that rises most, its interval adjusted for the number of actions",
    SHARE: "share of the covariance of choices and state that is left at equal stated belief",
    PLAIN: "difference in P(action) between the states at equal stated belief, each case alike",
}
UNIT = {SHARE: "share", PLAIN: "probability", SLOPE: "probability"}
FEWEST_OPEN = 0.9  # share of cases whose belief must leave the state open for a plain average
ENDS = (
    "{share:.0%} of cases have beliefs at which the state is settled to {certain:.0%}: what "
    "choices would do in the other state is not seen there"
)
UNSEEN = "its choices are not seen to know the state"
OPPOSITE = (
    "choices move {within} the state at equal belief, and {through} it through the belief: the "
    "parts do not add up to a whole"
)
GROUPS = "the covariance of choices and state takes ten groups for its error"
PERSONS = "it is estimated for one agent, and persons differ in it"
OWN_WEIGHTS = "of persons there is no average in which cases count alike, which a margin is of"
SEVERAL_STATES = "it is estimated for two states"
FEW_VALUES, STEPS_OF_PERSONS = 8, (0.2, 0.25, 1 / 3, 0.5)
NEAR_A_STEP, MOST_COARSE = 0.02, 0.25  # of a step, as .33 is a third; share of reports
MOST_UNTOLD = 1 / 3  # share of cases whose reports need not tell beliefs apart


@takes_columns("belief", "action", "truth", "exact", "context", "group", "person")
def sufficiency_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    person: ArrayLike | None = None,
    positive: Any = None,
    computed: bool = False,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> Sufficiency:
    """Test whether the stated belief could be the belief acted on: the primary test.

    Null: given the belief (and the group), the actions of a case do not covary with its state.

    Estimand: the difference in the probability of one action, that which rises most with the
    belief, between the states at equal belief (a probability, from -1 to 1); cases are weighted by
    the variance that their belief leaves of the state.

    Actions may vary with the text of a case and its taste. Tastes that go with the evidence, such
    as deciding more readily whenever an X-ray is mentioned, are a covariance with the state too.

    The hidden share is the part of the covariance of choices and state that is left at equal belief
    (a share; cases count alike); under the null it is 0.

    Parameters
    ----------
    truth : array-like, shape (n,), optional
        Labels of the realised state; constant within a context. May be left out with `exact`.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that a belief in one state is in, in [0, 1]; constant within a
        context. It then takes the place of the realised state, whose toss it is free of: the same
        power takes a quarter to a ninth of the contexts. Of two states only.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: contexts are compared within
        groups. Constant within a context.
    person : array-like, shape (n,), optional
        Who judged, where several persons judged each context: choices are then compared at each
        person's own belief. In two states.
    computed : bool
        Whether reports have no noise: computed from a model's distribution, or such that asking
        again gives them again.
    n_draws : int
        Random signs of runs, rounded up to a multiple of 128 (of more than two states:
        permutations; of persons none); at least 99. Ten times as many where the p-value lies within
        two Monte Carlo errors of .05.

    Returns
    -------
    Sufficiency
        `statistic` is the difference in the probability of one action between the states at equal
        belief, weighed by the variance that the belief leaves of the state: of the action that
        rises most with the belief, `action`; with one belief throughout, of the most
        frequent one. The interval is the test of the direction inverted, at its part of the level.
        With more than two actions or states the p-value is that of all of them together, and may be
        small where this interval holds 0. `details` has the difference of every action with the
        p-value that it has alone and one that holds for all of them (max-t), what is ``allowed``
        for (below), and, where choice follows the belief, the hidden shift: choices move with the
        truth as if the belief acted on were that much higher (units of belief, to first order).
        `also` has ``plain_average``, the same with every case alike, and ``hidden_share``,
        E cov(A, S | p) / cov(A, S). Fields of `coherence.checks.sufficiency_result.Sufficiency`
        say which `test` was run, what `reports` tell of their noise, its p-values apart, and more.
        Where there is no p-value, as below 20 contexts (10 that can be permuted with more than two
        states), `reason` says why and ``lack`` what for. `contributions` holds those of contexts to
        the statistic.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes that contexts are independent given belief and group, that what a group shares shifts
    state and actions evenly, and that state and actions are monotone in the belief but for a smooth
    part: on continuous beliefs no test holds without such an assumption (Shah and Peters 2020). A
    context has its mean belief and the shares of its actions, weighed by their linear slopes on the
    belief. What the belief foretells of state and score by isotonic regression, with a mean of each
    group where they are named, drawn towards the curves of groups of 8 contexts and more by as much
    as these differ beyond noise, goes out of both; differences of order 3, in the order of belief
    (ties averaged), are multiplied, and the signs of products are turned at random, with a factor
    for products that share contexts, and normal noise where their variance is below that of equal
    variances (rare states and actions). The estimate divides by the squared differences of the
    state, to which p* (1 - p*) is added where the state is the exact posterior, so that both states
    estimate the same difference; it is made good for what the fits take of either. Sequences stay
    inside groups; those of two and three contexts have shorter ones. With one belief throughout
    there are no slopes, and the p-value is that of the action that moves most (max-t).

    That is the direction. The turn is the same products times the mean belief of their neighbours,
    less the part that is correlated with the direction. The p-value is
    min(p_direction / .8, p_turn / .2).

    Reports that are rounded or noisy leave something of the belief unsaid that is acted on. It adds
    covariance of the sign of the slopes of choice and state, for which is allowed: 1.5 times the
    variance that rounding takes, times both slopes, or more where both may rise all at once inside
    values of a coarse scale (`coherence.checks.unsaid.rises_within_values`); and the mean of the
    variance of a mean report (pooled over neighbours; copies of a report, told by how often rows
    agree, count once) times both slopes around the case, within groups. The p-value of the
    direction is that of the distance beyond it, that of the turn beyond as much at the furthest
    belief, and every interval has its end towards 0 moved by it. Contexts whose report stands for
    more than its step, as 50 does for unsure, are left out, where enough others are left; reports
    that miss round numbers by a hair are these (``taken_for``). `computed` beliefs have no noise,
    and those finer than percents that hardly repeat no rounding. Where a third say one value,
    `in_heaps` says so.

    With persons, the difference is that at each person's own belief: the coefficient of the state
    in a linear probability model of the action shown, beside a line of each person's own on the own
    belief and the bends of a natural spline of it (five knots) that all share. Its variance is the
    jackknife's over contexts, plus that over persons, less that of rows (Cameron, Gelbach and
    Miller 2011), and not below the first; Student's t has as many degrees of freedom as contexts
    count, 1 / sum of squares of their shares of the freed state (``n_counting``), or persons, less
    one.
    Estimate, interval and p-value are of this one difference. With the exact posterior it is
    brought to the unit of the realised state by the variance of the toss. There is no result below
    five contexts of either state, or ten with the exact posterior. Assumes that persons and
    contexts are independent, that people differ by lines and not by bends, and that a report is the
    belief itself: single reports may be noise.

    More than two states: realised states of whole contexts are permuted between contexts of like
    belief, at least four to a block, after a spline is taken out of the actions; each state has its
    own slopes, the statistic sums over states, and a difference is between a state and all others.
    Its interval is that of a regression, and may disagree with the test near the level. There is no
    turn.

    The plain average weighs windows by 1 / (m (1 - m)), m the state as the belief foretells it; it
    is not given where m lies within .02 of 0 or 1 for more than a tenth of contexts. The hidden
    share takes choices as the share of the action shown, of three actions and more as the score
    that predicts the state, fitted on other contexts; its interval is Fieller's. It depends on the
    mix of cases.

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3), for the covariance; Hall, Kay and
    Titterington (1990), Biometrika 77(3), for difference sequences; Hoffman, Sen and Weinberg
    (2001), Biometrika 88(4), for averages over random orders; Dimitriadis, Gneiting and Jordan
    (2021), PNAS 118(8), for isotonic calibration; James and Stein (1961), Proceedings of the Fourth
    Berkeley Symposium 1, for curves of groups; Fieller (1954), Journal of the Royal Statistical
    Society B 16(2), for the share. Of more states: Runge (2018), AISTATS 84, for local permutation;
    Imbens and Kolesar (2016), Review of Economics and Statistics 98(4), for HC3 intervals with
    Satterthwaite's degrees of freedom. Of persons: Cameron, Gelbach and Miller (2011), Journal of
    Business and Economic Statistics 29(2).

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> columns = {"exact": "p_true", "context": "context", "data": rows}
    >>> result = sufficiency_test("p", "action", rng=1, **columns)
    >>> result.pvalue < 0.05  # actions know more of the state than the belief says
    True
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "group": group}
    choices = as_choices(belief, action, truth, context, exact=exact, person=person, **options)
    return sufficiency(replace(choices, computed=computed), n_draws=n_draws, rng=rng)


def sufficiency(
    choices: EvaluationData, *, n_draws: int = N_DRAWS, rng: Seed = None, level: float = 0.95
) -> Sufficiency:
    """Run `sufficiency_test` on validated data; `level` is of its intervals, in two states."""
    if choices.person is not None:
        result, slope = own_belief_test(choices, level)
        also = {
            SHARE: _none(SHARE, PERSONS),
            PLAIN: _none(PLAIN, result.reason or OWN_WEIGHTS),
            SLOPE: slope,
        }
        return replace(result, also=also, coarse=_coarse(choices) or None)
    seed = as_seed(rng)
    result = _of_one_agent(choices, n_draws, seed, level)
    drawn = result.n_draws
    if result.test != SEQUENCES or drawn is None:
        return result
    if near_level(result.pvalue or 0.0, drawn):
        result = _of_one_agent(choices, LONGER * n_draws, seed, level)
        if near_level(result.pvalue or 0.0, LONGER * drawn):
            result = replace(result, settings={**result.settings, "near_level": True})
    return result


def _of_one_agent(choices: EvaluationData, n_draws: int, seed: int, level: float) -> Sufficiency:
    """Test choices whose reports of a case are copies of one belief."""
    kind, noise = kind_of_reports(choices.belief, choices.context)
    if choices.computed:
        kind, noise = Reports.EXACT, 0.0
    direction, found = arrangement_test(choices, n_draws, check_stream(seed, NAME), level)
    two_states = len(choices.states) <= 2 and not in_several_states(choices)
    result = replace(
        direction,
        test=SEQUENCES if two_states else PERMUTED,
        reports=kind,
        noise_share=None if math.isnan(noise) else noise,
        coarse=(not two_states and _coarse(choices)) or None,
        also=_without(SEVERAL_STATES),
    )
    if not two_states:
        return result
    result = _with_effects(result, found, level)
    return replace(result, also={**result.also, SLOPE: _slope(choices, level)})


def _with_effects(result: Sufficiency, found: Arranged | None, level: float) -> Sufficiency:
    """Add the further effects to the test."""
    if found is None:
        return replace(result, also=_without(result.reason))
    plain = _plain_averages(found)
    also = {
        SHARE: _hidden_share(found, level),
        PLAIN: plain[found.scores.shown - found.scores.first],
    }
    details = result.details.copy()
    for name in ("value", "low", "high"):  # behind the actions may stand a shift, which has none
        column = [getattr(each, name) for each in plain]
        details[f"plain_{name}"] = [*column, *[math.nan] * (len(details) - len(column))]
    return replace(result, details=details, also=also)


def _slope(data: EvaluationData, level: float) -> Estimate:
    """Regress the share of the action that rises most on the belief, over contexts or groups."""
    clusters = data.clusters
    belief = context_means(one_dimensional(data, NAME), data.context, data.n_contexts)
    share = context_means(data.share, data.context, data.n_contexts)
    centred = belief - belief.mean()
    squares = float(centred @ centred)
    if squares < 1e-18:
        return _none(SLOPE, "the belief is the same in every case")
    room = 1 - centred**2 / squares - 1 / len(centred)
    if room.min() < 1e-9:
        return _none(SLOPE, "all cases but one have the same belief")
    slopes = centred @ share / squares
    at = int(np.argmax(np.round(slopes, 9)))
    if clusters.n < 3:
        few = f"{clusters.n} groups are too few for an interval"
        return Estimate(float(slopes[at]), math.nan, math.nan, UNIT[SLOPE], MEANING[SLOPE], few)
    left = share[:, at] - share[:, at].mean() - slopes[at] * centred
    # HC3: leaves out each context in turn, to first order; of groups the sums.
    scores = centred * left / room
    error = math.sqrt(float((np.bincount(clusters.of_context, scores) ** 2).sum())) / squares
    t = float(stats.t.ppf(1 - (1 - level) / 2 / max(share.shape[1] - 1, 1), clusters.n - 2))
    slope = float(slopes[at])
    return Estimate(slope, slope - t * error, slope + t * error, UNIT[SLOPE], MEANING[SLOPE])


def _without(reason: str) -> Mapping[str, Estimate]:
    return {name: _none(name, reason) for name in (SHARE, PLAIN)}


def _coarse(data: EvaluationData) -> bool:
    """Tell whether steps of reports hide beliefs, where no test allows for that.

    Of several states, few values stand for all beliefs; of persons, too many rows are of those who
    speak in fifths, quarters or thirds.
    """
    if data.person is None:
        return len(np.unique(np.round(data.belief, 2))) <= FEW_VALUES
    coarse = np.zeros(data.n_rows, dtype=bool)
    for step in STEPS_OF_PERSONS:
        between = np.abs(data.belief / step - np.round(data.belief / step)) > NEAR_A_STEP
        coarse |= (np.bincount(data.person, between) == 0)[data.person]
    return bool(coarse.mean() > MOST_COARSE)


def hides_all(result: CheckResult) -> bool:
    """Tell whether what reports may leave unsaid is more than any difference can be."""
    return isinstance(result, Sufficiency) and abs(result.allowed or 0.0) >= 1


def _none(name: str, reason: str) -> Estimate:
    return Estimate(math.nan, math.nan, math.nan, UNIT[name], MEANING[name], reason)


def _plain_averages(found: Arranged) -> list[Estimate]:
    """Average the difference of every action over cases alike, where beliefs leave states open."""
    scores = found.scores
    settled = (found.foretold < CERTAIN) | (found.foretold > 1 - CERTAIN)
    if settled.mean() > 1 - FEWEST_OPEN:
        why = ENDS.format(share=settled.mean(), certain=CERTAIN)
        return [_none(PLAIN, why)] * scores.n_actions
    averages = []
    for action in range(scores.n_actions):
        value, low, high = found.interval(scores.first + action, plain=True)
        low, high = max(low, -1.0), min(high, 1.0)
        averages.append(Estimate(value, low, high, UNIT[PLAIN], MEANING[PLAIN]))
    return averages


def _hidden_share(found: Arranged, level: float) -> Estimate:
    """Divide what choices know of the state at equal belief by all that they know of it."""
    sums, line, column = found.sums, found.line, found.scores.knowing
    scale = sums.n_windows * found.part
    added = np.asarray(sums.added[:, found.scores.gathered(column)])
    total = float(added.sum())
    within = float(sums.observed[column]) / scale
    ratio, less = (
        share_of_covariance(
            within - unsaid,
            math.sqrt(sums.variance(column)) / scale,
            # Of one total with random orders of equal beliefs; scaled to its expectation.
            added / scale * (sums.observed[column] / total if total else 1.0),
            found.scores.columns[:, column],
            line.state,
            line.group,
            level,
        )
        for unsaid in (0.0, float(found.allowed[column].mean()) / found.part)
    )
    if math.isnan(ratio.value):
        return _none(SHARE, GROUPS if line.group is not None else UNSEEN)
    if ratio.clear < CLEAR:
        return _none(SHARE, UNSEEN)
    if ratio.high < 0 or ratio.low > 1:
        signs = ("with", "against") if within > 0 else ("against", "with")
        words = dict(zip(("within", "through"), signs, strict=True))
        return _none(SHARE, OPPOSITE.format(**words))
    low, high = min(ratio.low, less.low), max(ratio.high, less.high)
    return Estimate(ratio.value, low, high, UNIT[SHARE], MEANING[SHARE])


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    yield Call(partial(sufficiency, data))


CHECK = Check(
    name=NAME,
    origin="Adapted from the generalised covariance measure (Shah and Peters 2020)",
    figure="plot_state_shares",
    needs=STATE_AND_CHOICES,
    sentences={
        "": Interpretation(
            rejected="Choices go with the truth at the same {belief}.",
            nominal="choices go with the truth at the same {belief}",
            not_rejected="No evidence that choices go with the truth at the same {belief}.",
            words="choices at equal belief",
            heading="choice at equal belief",
        ),
    },
    question=Question.ACTED_ON,
    takes_margin=True,
    planted="weight",
    power_draws={"n_draws": 999},
    plan=_plan,
    of_papers=False,
    of_persons=True,
    states_named=True,
    family=Family.PRIMARY,
)
