"""Belief sufficiency, the primary test: whether actions go with the state at equal stated belief.

Of two states, what difference sequences (`coherence.statistics.sequences`) leave of state and
actions is multiplied, as the notes of `sufficiency_test` say. More states are tested in
`coherence.checks.several_states`, persons in `coherence.checks.persons`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.by_name import takes_columns
from coherence.checks.check import Check, Interpretation, Plan, Question, blank
from coherence.checks.persons import own_belief_test
from coherence.checks.several_states import permuted_states
from coherence.checks.sufficiency_result import (
    MOVES_MOST,
    NO_SPREAD,
    SEPARATED,
    SETTLED,
    Sufficiency,
    lack_of,
    rare_state,
)
from coherence.checks.unsaid import allowed_for, too_coarse
from coherence.inputs import Floats, few_contexts
from coherence.result import EXACT_REPORT, LEVEL, Estimate, Family, Interval, Lack, joined_reasons
from coherence.runs.needs import STATE_AND_CHOICES
from coherence.statistics import report_noise, resample, sequences
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.figure_tables import shares_along
from coherence.statistics.permutation import Contexts, by_context, contexts_of, settled_by_groups
from coherence.statistics.resample import Seed

NAME = "sufficiency"
SEQUENCES, PERMUTED = "direction and turn", "permuted blocks"
"""Which test was run."""
NULL = "given the belief{group}, actions do not covary with the {state}"
NULL_OF_STATES = (
    "given the belief{group}, the realised states of whole contexts are exchangeable, so that no "
    "action is more frequent when its state holds"
)
N_DRAWS = 9_999
OF_DIRECTION, OF_TURN = 0.8, 0.2  # parts of the level
POSTERIOR_SETTLED = (
    "the stated belief{group} settles the exact posterior to half a percentage point, and leaves "
    "actions nothing more to know"
)
# Root mean squares of what is left beyond a monotone function of the belief: of a posterior, below
# which, and below a tenth of its spread, it is settled (whole percents leave .003), and of a score.
RESOLVED, ROUNDING = 0.005, 1e-9
ALIKE = "contexts of like belief (in groups: those of a group) have one state: nothing to compare"
FOLDS = 10
COARSE = 1 / 3  # share of contexts that say one value, or are in small groups
CERTAIN = 0.02  # chance of a state below which next to nothing is left open
INVERTED = "the test inverted (signs of products of neighbours)"
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
    "choices move with the state on one of two ways, at equal belief and through the belief, and "
    "against it on the other: the parts do not add up to a whole"
)
GROUPS = "the covariance of choices and state takes ten groups for its error"
PERSONS = "it is estimated for one agent, and persons differ in it"
OWN_WEIGHTS = "of persons there is no average in which cases count alike, which a margin is of"
SEVERAL_STATES = "it is estimated for two states"
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

    Actions may vary with the text of a case and its taste; tastes that go with the evidence are a
    covariance with the state too. The hidden share is the part of the covariance of choices and
    state that is left at equal belief (a share; cases count alike); under the null it is 0.

    Parameters
    ----------
    truth : array-like, shape (n,), optional
        Labels of the realised state; constant within a context. May be left out with `exact`.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that a belief in one state is in, in [0, 1]; constant within a
        context. It then takes the place of the realised state, whose toss it is free of: the same
        power takes a quarter to a ninth of the contexts. Of two states only.
    person : array-like, shape (n,), optional
        Who judged, where several persons judged each context: choices are then compared at each
        person's own belief. In two states.
    n_draws : int
        Random signs of runs, rounded up to a multiple of 128 (of more than two states:
        permutations; of persons none); at least 99. Ten times as many where the p-value lies within
        two Monte Carlo errors of .05.

    Returns
    -------
    Sufficiency
        `statistic` is the difference in the probability of one action between the states at equal
        belief: of the action that rises most with the belief, `action`; with one belief throughout,
        of the most frequent one. The interval is the test of the direction inverted, at its part of
        the level. With more than two actions or states the p-value is that of all of them together,
        and may be small where this interval holds 0. `details` has the difference of every action
        with the p-value that it has alone and one that holds for all of them (max-t), and what is
        ``allowed`` for (below). `also` has ``plain_average``, the same with every case alike,
        ``hidden_share``, E cov(A, S | p) / cov(A, S), and ``slope``, how much the action rises with
        the belief. Fields of `coherence.checks.sufficiency_result.Sufficiency` say which `test` was
        run, what `reports` tell of their noise, its p-values apart, and more. Where there is no
        p-value, as below 20 contexts (10 that can be permuted with more than two states), `reason`
        says why.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes that contexts are independent given belief and group, that what a group shares shifts
    state and actions evenly, and that state and actions are monotone in the belief but for a smooth
    part: on continuous beliefs no test holds without such an assumption (Shah and Peters 2020).

    What the belief foretells of the state, and of the shares of actions weighed by their slopes, by
    isotonic regression (in groups with a mean of each, drawn towards curves of their own), goes out
    of both; differences of order 3 in the order of belief, ties averaged, are multiplied, and the
    signs of products are turned at random. The estimate divides by the squared differences of the
    state, to which p* (1 - p*) is added where the state is the exact posterior, so that both states
    estimate the same difference. The turn is the same products times the belief, less what is
    correlated with the direction, and the p-value min(p_direction / .8, p_turn / .2). With one
    belief throughout it is that of the action that moves most (max-t).

    Allowed for, in the p-value and at the end of every interval towards 0, is what rounded or noisy
    reports leave unsaid of a belief that is acted on: 1.5 times the variance that rounding takes,
    times the slopes of choice and state, or more where both may rise at once inside values of a
    coarse scale; and the variance of a mean report, copies counted once, times both slopes around
    the case. Contexts whose report stands for more than its step, as 50 does for unsure, are left
    out where enough others are left; reports that miss round numbers by a hair are these.
    `computed` beliefs have no noise, and those finer than percents that hardly repeat no rounding.

    With persons, the difference is the coefficient of the state in a linear probability model of
    the action shown, beside a line of each person's own on the own belief and a spline that all
    share, with a jackknife's error over contexts and persons, both taken as independent. With more
    than two states, realised states of whole contexts are permuted between contexts of like belief
    after a spline is taken out of the actions, and a difference is between a state and all others;
    its interval is that of a regression, and may disagree with the test near the level.

    The plain average weighs windows by 1 / (m (1 - m)), m the state as the belief foretells it; it
    is not given where m lies within .02 of 0 or 1 for more than a tenth of contexts. The hidden
    share takes choices as the share of the action shown, of three actions and more as the score
    that predicts the state, fitted on other contexts; its interval is Fieller's (1954).

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3), for the covariance; Hall, Kay and
    Titterington (1990), Biometrika 77(3), for difference sequences; Hoffman, Sen and Weinberg
    (2001), Biometrika 88(4), for averages over random orders; Dimitriadis, Gneiting and Jordan
    (2021), PNAS 118(8), for isotonic calibration; James and Stein (1961), Proceedings of the Fourth
    Berkeley Symposium 1, for curves of groups; Runge (2018), AISTATS 84, and Imbens and Kolesar
    (2016), Review of Economics and Statistics 98(4), for more states; Cameron, Gelbach and Miller
    (2011), Journal of Business and Economic Statistics 29(2), for persons.

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
        panel, slope = own_belief_test(choices, level)
        also = {
            SHARE: _none(SHARE, PERSONS),
            PLAIN: _none(PLAIN, panel.keywords.get("reason") or OWN_WEIGHTS),
            SLOPE: slope,
        }
        return panel(also=also, coarse=too_coarse(choices) or None)
    seed = resample.as_seed(rng)
    result = _of_one_agent(choices, n_draws, seed, level)
    drawn, pvalue = result.n_draws, result.pvalue or 0.0
    if result.test == SEQUENCES and drawn is not None and resample.near_level(pvalue, drawn):
        result = _of_one_agent(choices, resample.LONGER * n_draws, seed, level)
        if resample.near_level(result.pvalue or 0.0, resample.LONGER * drawn):
            result = replace(result, settings={**result.settings, "near_level": True})
    return result


def _of_one_agent(data: EvaluationData, n_draws: int, seed: int, level: float) -> Sufficiency:
    """Test choices whose reports of a case are copies of one belief."""
    several = len(data.states) > 2 or data.in_several_states
    kind = report_noise.Reports.EXACT
    if not data.computed:
        kind = report_noise.kind_of_reports(data.belief, data.context)[0]
    undefined = blank(
        Sufficiency,
        data,
        NAME,
        (NULL_OF_STATES if several else NULL).format(
            group="" if data.group is None else " and the group",
            state="realised state" if data.exact is None else "exact posterior of the state",
        ),
        "probability",
        pvalue=math.nan,
        settings={"cluster of resampling": "context" + " in its group" * (data.group is not None)},
        state="realised" if data.exact is None else "exact",
        test=PERMUTED if several else SEQUENCES,
        reports=kind,
        coarse=(several and too_coarse(data)) or None,
        also={name: _none(name, SEVERAL_STATES) for name in (SHARE, PLAIN)},
    )
    contexts, reason, lack = contexts_of(data), data.degenerate, lack_of(data)
    if lack is Lack.CASES and not several and data.group is None:
        reason = few_contexts(data.n_contexts, fewest=sequences.FEWEST_CONTEXTS)
    if not reason:
        reason = SEPARATED if data.exact is None and data.separated else ""
        reason = reason or settled_by_groups(contexts)
    result, found = partial(undefined, reason=reason, lack=lack if reason else None), None
    rng = resample.check_stream(seed, NAME)
    if several:
        return result() if reason else permuted_states(data, contexts, n_draws, rng, undefined)
    if not reason:
        result, found = _in_two_states(data, contexts, n_draws, rng, undefined, level)
    if found is not None:
        plain = _plain_averages(found)
        also: dict[str, Estimate] = {
            SHARE: _hidden_share(found, level),
            PLAIN: plain[found.shown - found.first],
        }
        ends = {f"plain_{end}": [getattr(each, end) for each in plain] for end in ("low", "high")}
        result = partial(result, details=result.keywords["details"].assign(**ends))
    else:
        also = {name: _none(name, result.keywords["reason"]) for name in (SHARE, PLAIN)}
    return result(also={**also, SLOPE: _slope(data, level)})


def _in_two_states(
    data: EvaluationData,
    contexts: Contexts,
    n_draws: int,
    rng: np.random.Generator,
    undefined: partial[Sufficiency],
    level: float,
) -> tuple[partial[Sufficiency], Arranged | None]:
    """Return the test, and what contexts were arranged to where it has one."""
    data, taken = report_noise.in_round_numbers(data)
    contexts = contexts_of(data) if taken else contexts
    kept, heap, apart = report_noise.outside_heaps(data, contexts)
    done = "left out" if apart else "too few others to leave them out"
    found = _arranged(data, kept, n_draws, rng, undefined, level)
    if apart and heap.any() and not isinstance(found, Arranged):
        kept, apart, done = contexts, False, "the others leave nothing to test"
        found = _arranged(data, kept, n_draws, rng, undefined, level)
    if isinstance(found, Arranged):
        result, tested = _tested_by_products(data, found, undefined), found
    else:
        result, tested = found, None
    if heap.any():
        words = report_noise.said_by_many(contexts.belief[heap], data.n_contexts)
        left_out, in_heaps = (words, None) if apart else (None, words)
        reason = joined_reasons(result.keywords["reason"], f"{words}: {done}")
        result = partial(result, reason=reason, left_out=left_out, in_heaps=in_heaps)
    if apart:
        # Beliefs of which so many are one that it does not tell them apart.
        of = np.unique(np.round(kept.belief, 6), return_inverse=True)[1].ravel()
        many = np.bincount(of)[of] > COARSE * len(of)
        if many.any() and not report_noise.unrounded(data, kept.belief):
            words = report_noise.said_by_many(kept.belief[many], data.n_contexts)
            result = partial(result, in_heaps=words)
    taken_for = "reports that miss round numbers by a hair are taken for these" if taken else None
    return partial(result, taken_for=taken_for), tested


@dataclass(frozen=True)
class Arranged:
    """Two states along the belief, with what difference sequences leave of them and of actions."""

    contexts: Contexts
    line: Contexts
    # what of the actions is compared with the state, shape (n, n_scores): the score of the test
    # where beliefs give a direction, actions, and of three and more what predicts the state
    scores: Floats
    directed: bool  # whether beliefs give a direction
    shown: int  # column of the action that is shown
    knowing: int  # column of what choices know of the state: of two actions the one that is shown
    sums: sequences.ProductSums
    part: float  # of the squares of the state, what the isotonic fit leaves
    foretold: Floats  # shape (n,): the state as the belief foretells it
    weight: Floats  # shape (n,): of contexts, in plain averages
    allowed: Floats  # shape (n_scores, n): mean product that may be unsaid belief, by context
    n_untold: int  # contexts whose reports do not tell beliefs apart
    level: float  # of intervals

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return int(self.line.share.shape[1])

    @property
    def first(self) -> int:
        """Column of the first action."""
        return int(self.directed)

    def beyond(self, column: int, *, plain: bool = False) -> float:
        """Return which ratio of a score to the squares of the state may be unsaid belief."""
        mean = np.average(self.allowed[column], weights=None if not plain else self.weight)
        mean *= self.weight.mean() if plain else 1.0
        squares = float(self.sums.observed[-2 if plain else -1])
        return float(mean) * self.sums.n_windows / squares if squares > sequences.NOTHING else 0.0

    def interval(self, column: int, *, plain: bool = False) -> tuple[float, float, float]:
        """Return the ratio of a score to the squares of the state, and its interval.

        The test of the direction inverted, at its part of the level.
        """
        level = 1 - (1 - self.level) * (OF_DIRECTION if self.directed else 1.0)
        beyond = self.beyond(column, plain=plain)
        if plain:
            column += self.sums.n_scores + self.sums.n_turned
        value, low, high = self.sums.interval(column, -2 if plain else -1, level)
        return value, low - max(beyond, 0.0), high - min(beyond, 0.0)


def _arranged(
    data: EvaluationData,
    contexts: Contexts,
    n_draws: int,
    rng: np.random.Generator,
    undefined: partial[Sufficiency],
    level: float,
) -> Arranged | partial[Sufficiency]:
    """Lay contexts out along the belief and draw; `undefined` with a reason where nothing can."""
    line = sequences.in_canonical_direction(contexts)
    layout = sequences.layout_of(line.belief, line.group)
    if few := sequences.too_few_neighbours(layout):
        return partial(undefined, reason=few, lack=Lack.CASES)
    left, of_products, averages = sequences.part_left(layout, line, line.truth)
    resolved = min(RESOLVED, 0.1 * float(line.truth.std()))
    if line.exact is not None and np.sqrt((left**2).mean()) < resolved:
        group = "" if line.group is None else " in its group"
        return partial(undefined, reason=POSTERIOR_SETTLED.format(group=group), lack=Lack.OPEN)
    scores, directed, shown, knowing = _scores(line)
    freed = [sequences.part_left(layout, line, column) for column in scores.T]
    if directed and not np.sqrt((freed[0][0] ** 2).mean()) > ROUNDING:
        return partial(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED, settled=True)
    spread = partial(sequences.mean_squared_difference, layout, line.belief)
    kept, whole = spread(left), spread(line.truth)
    if whole <= sequences.NOTHING:
        return partial(undefined, reason=ALIKE, lack=Lack.OPEN)
    if line.exact is None and kept <= sequences.NOTHING:  # of means; rows may overlap
        return partial(undefined, reason=SEPARATED, lack=Lack.OPEN)
    # Of the toss's variance the fit takes what it takes of products.
    toss = np.zeros(len(left)) if line.exact is None else line.exact * (1 - line.exact)
    scales = [1 / of_products / of_score for _, of_score, _ in freed]
    if line.group is not None and not _small_groups(line):  # neighbours in them lie apart in belief
        of_products = sequences.kept_of_products(averages, averages)
        whole = kept / of_products
        scales = [1 / sequences.kept_of_products(averages, of_score) for _, _, of_score in freed]
    part = (kept + of_products * float(toss.mean())) / (whole + float(toss.mean()))
    foretold = line.truth - left
    if line.exact is None:
        # A block of the isotonic fit whose states are all alike leaves some doubt: half a case of
        # each state is added.
        _, block, size = np.unique(foretold, return_inverse=True, return_counts=True)
        size = size[block.ravel()]
        foretold = (foretold * size + 0.5) / (size + 1)
    open_state = np.clip(foretold, CERTAIN, 1 - CERTAIN)
    weight = 1 / (open_state * (1 - open_state))
    scaled = [of * part * scale for (of, *_), scale in zip(freed, scales, strict=True)]
    values = sequences.Values(
        line.belief,
        left,
        np.stack(scaled, axis=1),
        chance=None if line.exact is None else of_products * toss,
        weight=weight,
        n_turned=1 if directed else 0,
        gathered=(shown, knowing),
    )
    sums = sequences.product_sums(layout, values, n_draws=n_draws, rng=rng)
    allowed, n_untold = allowed_for(data, line, scores, part)
    found = line, scores, directed, shown, knowing, sums, part, foretold, weight, allowed, n_untold
    return Arranged(contexts, *found, level)


def _small_groups(line: Contexts) -> bool:
    """Tell whether too many contexts are in groups too small to show curves of their own."""
    if line.group is None:
        return False
    return bool((np.bincount(line.group)[line.group] < sequences.CURVE_OF_ITS_OWN).mean() > COARSE)


def _tested_by_products(
    data: EvaluationData, found: Arranged, undefined: partial[Sufficiency]
) -> partial[Sufficiency]:
    """Test the direction in which a higher belief moves choice, and whether it turns."""
    contexts, line, sums = found.contexts, found.line, found.sums
    actions = range(found.first, found.first + found.n_actions)
    of_actions = _pvalues_of_actions(found, actions)
    facts: dict[str, Any] = {}
    pvalue = float(of_actions[1].min())
    if found.directed:
        exact, direction = (sums.pvalue(sums.beyond(0, by)) for by in (0.0, found.beyond(0)))
        turn = sums.turn(found.allowed[0], line.belief)
        pvalue = min(direction / OF_DIRECTION, turn / OF_TURN, 1.0)
        facts = {"p_direction": exact, "p_beyond": direction, "p_turn": turn}
        facts["turns"] = pvalue <= LEVEL < direction / OF_DIRECTION
        if found.n_actions > 2:
            facts["tested"] = f"all {found.n_actions} actions together"
    names = data.difference_names(data.states[1], data.states[0])
    records = []
    for at, name, *pvalues in zip(actions, names, *of_actions, strict=True):
        estimate, *ends = found.interval(at)
        records.append((name, estimate, sums.error(at), *ends, *pvalues, found.beyond(at)))
    columns = ["component", "estimate", "standard_error", "low", "high"]
    columns += ["pvalue_single", "pvalue_adjusted", "allowed"]
    details = pd.DataFrame(records, columns=columns)
    at, surest = found.shown - found.first, int(np.argmin(of_actions[0]))
    # The one shown is chosen without a look at states, so that its interval covers.
    other = "" if found.directed or surest == at else details["component"][surest]
    estimate, low, high = (float(details[name][at]) for name in ("estimate", "low", "high"))
    added = sums.added[:, 0] - estimate * sums.added[:, -1]
    size = math.sqrt(float((added**2).sum()))
    # Of the size that products show, so that differences between models have that error.
    contributions = added * (sums.error(found.shown) / size if size > 0 else 0.0)
    no_interval = ""
    if contexts.exact is None:
        shares = (contexts.share[contexts.state == state] for state in (0, 1))
        spread = any(np.ptp(share, axis=0).any() for share in shares)
        no_interval = rare_state(contexts.state) if spread else NO_SPREAD.format("belief and state")
    interval = Interval(low, high, found.level, INVERTED).within(-1.0, 1.0)
    return partial(
        undefined,
        reason=joined_reasons(no_interval, MOVES_MOST.format(other) if other else ""),
        statistic=estimate,
        interval=None if no_interval else interval,
        pvalue=pvalue,
        settings={**undefined.keywords["settings"], "n_orders": len(sums.totals)},
        component=details["component"][at],
        action=str(data.actions[at]),
        states=[str(data.states[1]), str(data.states[0])],
        allowed=found.beyond(found.shown),
        small_groups=_small_groups(line) or None,
        n_untold=found.n_untold,
        n_draws=len(sums.drawn),
        **facts,
        details=details,
        assumptions=(
            "contexts are independent given belief"
            + ("" if contexts.group is None else " and group"),
            EXACT_REPORT,
            "state and actions are monotone in the belief but for a smooth part",
        ),
        fitted=shares_along(line, contexts, data.actions),
        # What is left out adds nothing.
        contributions=by_context(contributions, line, data).reindex(
            pd.Index(list(data.contexts), tupleize_cols=False), fill_value=0.0
        ),
    )


def _scores(line: Contexts) -> tuple[Floats, bool, int, int]:
    """Return `scores`, `directed`, `shown` and `knowing` of what is arranged."""
    centred, n_actions = line.belief - line.belief.mean(), line.share.shape[1]
    if np.abs(centred).max() < 1e-9:  # one belief throughout: the most frequent action is shown
        most = int(np.argmax(np.round(np.abs(line.share.mean(axis=0)), 9)))
        return line.share, False, most, most
    slopes = centred @ (line.share - line.share.mean(axis=0)) / (centred @ centred)
    rises = 1 + int(np.argmax(np.round(slopes, 9)))
    columns = np.hstack([(line.share @ slopes)[:, None], line.share])
    if n_actions < 3:
        return columns, True, rises, rises
    # The state as actions predict it linearly, each context from the others of other folds.
    score, fold = np.zeros(len(line.truth)), np.arange(len(line.truth)) % FOLDS
    for held in range(FOLDS):  # contexts are in the order of what they hold
        rest = fold != held
        centre = line.share[rest].mean(axis=0)
        rise = line.truth[rest] - line.truth[rest].mean()
        weights = np.linalg.lstsq(line.share[rest] - centre, rise)[0]
        score[~rest] = (line.share[~rest] - centre) @ weights
    return np.column_stack([columns, score]), True, rises, n_actions + 1


def _pvalues_of_actions(found: Arranged, actions: range) -> Floats:
    """Return the p-values of actions alone and by max-t, shape (2, k)."""
    sums = found.sums
    sizes = np.stack([sums.sizes(sums.beyond(at, found.beyond(at))) for at in actions], axis=1)
    alone = np.array([sequences.shares_reached(column)[0] for column in sizes.T])
    spread = sizes[1:].std(axis=0)
    standardised = sizes / np.where(spread > 1e-12, spread, np.inf)
    drawn = np.sort(standardised[1:].max(axis=1))
    reached = len(drawn) - np.searchsorted(drawn, standardised[0] * (1 - 1e-9))
    return np.stack([alone, (1 + reached) / (1 + len(drawn))])


def _slope(data: EvaluationData, level: float) -> Estimate:
    """Regress the share of the action that rises most on the belief, over contexts or groups."""
    clusters = data.clusters
    belief = resample.context_means(one_dimensional(data, NAME), data.context, data.n_contexts)
    share = resample.context_means(data.share, data.context, data.n_contexts)
    centred = belief - belief.mean()
    squares = float(centred @ centred)
    if squares < 1e-18:
        return _none(SLOPE, "the belief is the same in every case")
    room = 1 - centred**2 / squares - 1 / len(centred)
    if room.min() < 1e-9:
        return _none(SLOPE, "all cases but one have the same belief")
    slopes = centred @ share / squares
    at = int(np.argmax(np.round(slopes, 9)))
    slope = float(slopes[at])
    if clusters.n < 3:
        few = f"{clusters.n} groups are too few for an interval"
        return replace(_none(SLOPE, few), value=slope)
    left = share[:, at] - share[:, at].mean() - slope * centred
    # HC3: leaves out each context in turn, to first order; of groups the sums.
    scores = centred * left / room
    error = math.sqrt(float((np.bincount(clusters.of_context, scores) ** 2).sum())) / squares
    t = float(stats.t.ppf(1 - (1 - level) / 2 / max(share.shape[1] - 1, 1), clusters.n - 2))
    return _estimate(SLOPE, slope, slope - t * error, slope + t * error)


def _estimate(name: str, value: float, low: float, high: float, reason: str = "") -> Estimate:
    return Estimate(value, low, high, UNIT[name], MEANING[name], reason)


def _none(name: str, reason: str) -> Estimate:
    return _estimate(name, math.nan, math.nan, math.nan, reason=reason)


def _plain_averages(found: Arranged) -> list[Estimate]:
    """Average the difference of every action over cases alike, where beliefs leave states open."""
    settled = (found.foretold < CERTAIN) | (found.foretold > 1 - CERTAIN)
    if settled.mean() > 1 - FEWEST_OPEN:
        why = ENDS.format(share=settled.mean(), certain=CERTAIN)
        return [_none(PLAIN, why)] * found.n_actions
    averages = []
    for action in range(found.n_actions):
        value, low, high = found.interval(found.first + action, plain=True)
        averages.append(_estimate(PLAIN, value, max(low, -1.0), min(high, 1.0)))
    return averages


def _hidden_share(found: Arranged, level: float) -> Estimate:
    """Divide what choices know of the state at equal belief by all that they know of it."""
    sums, line, column = found.sums, found.line, found.knowing
    scale = sums.n_windows * found.part
    added = np.asarray(sums.added[:, (found.shown, column).index(column)])
    total = float(added.sum())
    within = float(sums.observed[column]) / scale
    (value, low, high, clear), less = (
        sequences.share_of_covariance(
            within - unsaid,
            math.sqrt(sums.variance(column)) / scale,
            # Of one total with random orders of equal beliefs; scaled to its expectation.
            added / scale * (sums.observed[column] / total if total else 1.0),
            found.scores[:, column],
            line.truth,
            line.group,
            level,
        )
        for unsaid in (0.0, float(found.allowed[column].mean()) / found.part)
    )
    if math.isnan(value):
        return _none(SHARE, GROUPS if line.group is not None else UNSEEN)
    if clear < sequences.CLEAR:
        return _none(SHARE, UNSEEN)
    if high < 0 or low > 1:
        return _none(SHARE, OPPOSITE)
    return _estimate(SHARE, value, min(low, less[1]), max(high, less[2]))


def _plan(data: EvaluationData, published: bool) -> Plan:
    yield partial(sufficiency, data)


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
