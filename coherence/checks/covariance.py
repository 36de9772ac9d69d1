"""Residual covariance, the engine of `sufficiency`: actions and state at equal belief.

Two states: contexts stand in the order of their belief, weighted differences of neighbours leave of
state and actions what the belief does not explain, and the signs of their products are turned
(`coherence.statistics.difference_sequences`). Actions are weighed by their linear slopes on the
belief, the direction in which a higher belief would move choice. The state is the exact posterior
where it is given, else the realised one: actions can know of the realised state only what the
evidence says, so that cov(action, theta | p) = cov(action, p* | p), and the toss of the coin
between them is noise. What rounding and noise of reports leave unsaid is allowed for in the p-value
and at one end of every interval: it adds covariance of the sign of the slopes of choice and state.

More states: a spline of the belief takes out of the actions what it explains, and realised states
are permuted between contexts of like belief (Runge 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import blank
from coherence.checks.several_states import permuted_states
from coherence.checks.sufficiency_result import (
    MOVES_MOST,
    NO_SPREAD,
    SEPARATED,
    SETTLED,
    Sufficiency,
    rare_state,
)
from coherence.checks.unsaid import (
    local_slopes,
    noise_of_means,
    rises_within_values,
    rounding_bound,
    untold,
)
from coherence.errors import listing
from coherence.inputs import Floats, few_contexts
from coherence.result import EXACT_REPORT, LEVEL, Interval, Lack
from coherence.statistics.difference_sequences import (
    CURVE_OF_ITS_OWN,
    FEWEST_CONTEXTS,
    NOTHING,
    Line,
    ProductSums,
    Values,
    beyond_belief,
    in_canonical_direction,
    layout_of,
    mean_squared_difference,
    part_left,
    product_sums,
    shares_reached,
    too_few_neighbours,
)
from coherence.statistics.evaluation import (
    EvaluationData,
    in_several_states,
    one_dimensional,
    separated,
)
from coherence.statistics.heaps import in_round_numbers, outside_heaps, unrounded
from coherence.statistics.permutation import (
    Contexts,
    by_context,
    contexts_of,
    settled_by_groups,
)
from coherence.statistics.report_noise import copied, squares_within
from coherence.statistics.resample import less_means
from coherence.statistics.state_shares import shares_along

NULL = "given the belief{group}, actions do not covary with the {state}"
PERMUTED = (
    "given the belief{group}, the realised states of whole contexts are exchangeable, so that no "
    "action is more frequent when its state holds"
)
STATES = {True: "exact posterior of the state", False: "realised state"}
UNIT = "probability"
N_DRAWS = 9_999
OF_DIRECTION, OF_TURN = 0.8, 0.2  # parts of the level
SHIFT = "hidden shift of belief"
POSTERIOR_SETTLED = (
    "the stated belief{group} settles the exact posterior to half a percentage point, and leaves "
    "actions nothing more to know"
)
# Root mean squares of what is left beyond a monotone function of the belief: of a posterior, below
# which, and below a tenth of its spread, it is settled (whole percents leave .003), and of a score.
RESOLVED, ROUNDING = 0.005, 1e-9
ALIKE = "contexts of like belief (in groups: those of a group) have one state: nothing to compare"
FOLDS = 10
ROUND = "reports that miss round numbers by a hair are taken for these"
COARSE = 1 / 3  # share of contexts that say one value
CERTAIN = 0.02  # chance of a state below which next to nothing is left open
TOGETHER = "all {} together"
INVERTED = "the test inverted (signs of products of neighbours)"
FOLLOWS = 5.0  # t of the slope of choice on belief from which a shift of belief can be read off it


def arrangement_test(
    data: EvaluationData,
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> tuple[Sufficiency, Arranged | None]:
    """Return the test, and what two states were arranged to where it has one.

    `level` is that of intervals, in two states.
    """
    exact = data.exact is not None
    several = len(data.states) > 2 or in_several_states(data)
    null = (PERMUTED if several else NULL).format(
        group="" if data.group is None else " and the group", state=STATES[exact]
    )
    undefined = blank(
        Sufficiency,
        data,
        "sufficiency",
        null,
        UNIT,
        pvalue=math.nan,
        settings={"cluster of resampling": "context" + " in its group" * (data.group is not None)},
        state="exact" if exact else "realised",
    )
    if lack := data.degenerate:
        in_one_sequence = not several and data.group is None
        if _lack_of(data) is Lack.CASES and in_one_sequence:
            lack = few_contexts(data.n_contexts, fewest=FEWEST_CONTEXTS)
        return untested(undefined, lack, _lack_of(data)), None
    if not exact and separated(data):
        return untested(undefined, SEPARATED, Lack.OPEN), None
    contexts = contexts_of(data)
    if settled := settled_by_groups(contexts):
        return untested(undefined, settled, Lack.OPEN), None
    if several:
        return permuted_states(data, contexts, n_draws, rng, undefined), None
    data, taken = in_round_numbers(data)
    contexts = contexts_of(data) if taken else contexts
    kept, heap, apart = outside_heaps(data, contexts)
    done = "left out" if apart else "too few others to leave them out"
    found = _arranged(data, kept, n_draws, rng, undefined)
    if apart and heap.any() and isinstance(found, Sufficiency):
        kept, apart, done = contexts, False, "the others leave nothing to test"
        found = _arranged(data, kept, n_draws, rng, undefined)
    tested = replace(found, level=level) if isinstance(found, Arranged) else None
    result = found if isinstance(found, Sufficiency) else undefined
    if tested is not None:
        result = _tested_by_products(data, tested, undefined)
    if heap.any():
        words = _said_by_many(contexts.belief[heap], data.n_contexts)
        left_out, in_heaps = (words, None) if apart else (None, words)
        result = result.noting(result.reason, f"{words}: {done}")
        result = replace(result, left_out=left_out, in_heaps=in_heaps)
    if apart and len(coarse := _too_frequent(data, kept.belief)):
        result = replace(result, in_heaps=_said_by_many(coarse, data.n_contexts))
    if taken:
        result = replace(result, taken_for=ROUND)
    return result, tested


def _too_frequent(data: EvaluationData, belief: Floats) -> Floats:
    """Return the beliefs of which so many are one that it does not tell them apart."""
    of, counts = np.unique(np.round(belief, 6), return_inverse=True, return_counts=True)[1:]
    many = counts[of.ravel()] > COARSE * len(belief)
    return np.asarray(belief[many & (not unrounded(data, belief))])


def _said_by_many(belief: Floats, n: int) -> str:
    """Say how many cases have a belief that stands for more than its step."""
    said = [f"{100 * value:g}%" for value in np.unique(np.round(belief, 6))]
    values = said[0] if len(said) == 1 else f"one of {listing(said)}"
    stand = "stands for more than its step" if len(said) == 1 else "stand for more than their step"
    return f"{len(belief)} of {n} cases say {values}, which {stand}"


def untested(undefined: Sufficiency, reason: str, lack: Lack) -> Sufficiency:
    """Say why there is no p-value, and what kind of thing is lacking."""
    return replace(undefined, reason=reason, lack=lack)


def _lack_of(data: EvaluationData) -> Lack:
    """Tell what degenerate data lack."""
    if data.own_answer is not None:
        return Lack.BELIEF
    if len(data.actions) < 2:
        return Lack.ACTIONS
    return Lack.CASES if few_contexts(data.n_contexts) else Lack.OPEN


@dataclass(frozen=True)
class Arranged:
    """Two states along the belief, with what difference sequences leave of them and of actions."""

    contexts: Contexts
    line: Line
    scores: Scores
    sums: ProductSums
    part: float  # of the squares of the state, what the isotonic fit leaves
    foretold: Floats  # shape (n,): the state as the belief foretells it
    weight: Floats  # shape (n,): of contexts, in plain averages
    allowed: Floats  # shape (n_scores, n): mean product that may be unsaid belief, by context
    n_untold: int  # contexts whose reports do not tell beliefs apart
    level: float = 0.95  # of intervals

    def beyond(self, column: int, *, plain: bool = False) -> float:
        """Return which ratio of a score to the squares of the state may be unsaid belief."""
        mean = np.average(self.allowed[column], weights=None if not plain else self.weight)
        mean *= self.weight.mean() if plain else 1.0
        squares = float(self.sums.observed[-2 if plain else -1])
        return float(mean) * self.sums.n_windows / squares if squares > NOTHING else 0.0

    def interval(self, column: int, *, plain: bool = False) -> tuple[float, float, float]:
        """Return the ratio of a score to the squares of the state, and its interval.

        The test of the direction inverted, at its part of the level.
        """
        level = 1 - (1 - self.level) * (OF_DIRECTION if self.scores.directed else 1.0)
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
    undefined: Sufficiency,
) -> Arranged | Sufficiency:
    """Lay contexts out along the belief and draw; `undefined` with a reason where nothing can."""
    line = in_canonical_direction(contexts)
    layout = layout_of(line.belief, line.group)
    if few := too_few_neighbours(layout):
        return untested(undefined, few, Lack.CASES)
    left, of_products = part_left(layout, line, line.state)
    if line.exact and _size(left.values) < min(RESOLVED, 0.1 * float(line.state.std())):
        group = "" if line.group is None else " in its group"
        return untested(undefined, POSTERIOR_SETTLED.format(group=group), Lack.OPEN)
    scores = _scores(line)
    freed = [part_left(layout, line, column) for column in scores.columns.T]
    if scores.directed and not _size(freed[0][0].values) > ROUNDING:
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED, settled=True)
    kept, whole = (
        mean_squared_difference(layout, line.belief, values) for values in (left.values, line.state)
    )
    if whole <= NOTHING:
        return untested(undefined, ALIKE, Lack.OPEN)
    if not line.exact and kept <= NOTHING:  # of mean beliefs; those of rows may overlap
        return untested(undefined, SEPARATED, Lack.OPEN)
    # Of the toss's variance the fit takes what it takes of products.
    toss = line.state * (1 - line.state) if line.exact else np.zeros(len(line.state))
    scales = [1 / of_products / of_score for _, of_score in freed]
    if line.group is not None and not _small_groups(line):  # neighbours in them lie apart in belief
        of_products = left.kept_of_products(left)
        whole = kept / of_products
        scales = [1 / left.kept_of_products(of) for of, _ in freed]
    part = (kept + of_products * float(toss.mean())) / (whole + float(toss.mean()))
    foretold = _foretold(line, left.values)
    open_state = np.clip(foretold, CERTAIN, 1 - CERTAIN)
    weight = 1 / (open_state * (1 - open_state))
    scaled = [of.values * part * scale for (of, _), scale in zip(freed, scales, strict=True)]
    values = Values(
        line.belief,
        left.values,
        np.stack(scaled, axis=1),
        chance=of_products * toss if line.exact else None,
        weight=weight,
        n_turned=1 if scores.directed else 0,
        gathered=(scores.shown, scores.knowing),
    )
    sums = product_sums(layout, values, n_draws=n_draws, rng=rng)
    allowed, n_untold = _allowed(data, contexts, line, scores, part)
    return Arranged(contexts, line, scores, sums, part, foretold, weight, allowed, n_untold)


def _small_groups(line: Line) -> bool:
    """Tell whether too many contexts are in groups too small to show curves of their own."""
    if line.group is None:
        return False
    return bool((np.bincount(line.group)[line.group] < CURVE_OF_ITS_OWN).mean() > COARSE)


def _size(left: Floats) -> float:
    """Return the root mean square of what the belief leaves."""
    return float(np.sqrt((left**2).mean()))


def _allowed(
    data: EvaluationData, contexts: Contexts, line: Line, scores: Scores, part: float
) -> tuple[Floats, int]:
    """Return the mean product that rounding and noise may leave in each score, by context.

    Rounding by slopes over all contexts or, where that is more, by rises within values; noise by
    slopes around each. Also counts the contexts whose reports do not tell beliefs apart.
    """
    n, columns = len(line.belief), [line.state, *scores.columns.T]
    if unrounded(data, line.belief):
        return np.zeros((len(columns) - 1, n)), 0
    belief = one_dimensional(data, "sufficiency_test")
    along, *columns = (_within_groups(line, x) for x in (line.belief, *columns))
    freed, spread = np.column_stack(columns), float(along @ along)
    slopes = along @ freed / spread if spread > NOTHING else 0.0 * freed[0]
    kept = belief[np.isin(data.context, contexts.order)]
    rounding = part * rounding_bound(kept, n) * slopes[0] * slopes[1:]
    steep = part * rises_within_values(line.belief, freed)
    rounding = np.where(np.abs(steep) > np.abs(rounding), steep, rounding)
    squares, rows = (
        values[contexts.order][line.order] for values in squares_within(belief, data.context)
    )
    share = copied(belief, data.context)
    noise = noise_of_means(0 * squares if data.computed else squares, rows, share)
    around = local_slopes(line.belief, along, freed, noise)
    return rounding[:, None] + noise * around[:, 0] * around[:, 1:].T, untold(line.belief, noise)


def _within_groups(line: Line, values: Floats) -> Floats:
    """Return values less the mean of their group, or of all."""
    if line.group is None:
        return np.asarray(values - values.mean())
    return less_means(values, np.unique(line.group, return_inverse=True)[1].ravel())


def _foretold(line: Line, left: Floats) -> Floats:
    """Return the state as the belief foretells it, given what it leaves."""
    foretold = line.state - left
    if not line.exact:
        # A block of the isotonic fit whose states are all alike leaves some doubt: half a case of
        # each state is added.
        _, block, size = np.unique(foretold, return_inverse=True, return_counts=True)
        size = size[block.ravel()]
        foretold = (foretold * size + 0.5) / (size + 1)
    return np.asarray(foretold)


def _tested_by_products(
    data: EvaluationData, found: Arranged, undefined: Sufficiency
) -> Sufficiency:
    """Test the direction in which a higher belief moves choice, and whether it turns."""
    contexts, line, scores, sums = found.contexts, found.line, found.scores, found.sums
    of_actions = _pvalues_of_actions(found)
    facts: dict[str, Any] = {}
    pvalue = direction = float(of_actions[1].min())
    if scores.directed:
        exact, direction = (sums.pvalue(sums.beyond(0, by)) for by in (0.0, found.beyond(0)))
        turn = sums.turn(found.allowed[0], line.belief)
        facts = {"p_direction": exact, "p_beyond": direction, "p_turn": turn}
        pvalue = min(direction / OF_DIRECTION, turn / OF_TURN, 1.0)
        facts["turns"] = pvalue <= LEVEL < direction / OF_DIRECTION
    details = _details(data, found, direction, of_actions)
    at = scores.shown - scores.first
    surest = int(np.argmin(of_actions[0]))
    # The one shown is chosen without a look at states, so that its interval covers.
    other = "" if scores.directed or surest == at else details["component"][surest]
    without_interval = _no_interval(contexts)
    tested = _tested(data, details, without_interval) if scores.directed else ""
    estimate, low, high = (float(details[name][at]) for name in ("estimate", "low", "high"))
    added = sums.added[:, 0] - estimate * sums.added[:, -1]
    size = math.sqrt(float((added**2).sum()))
    contributions = np.empty(len(added))
    # Of the size that products show, so that differences between models have that error.
    contributions[line.order] = added * (found.sums.error(scores.shown) / size if size > 0 else 0.0)
    result = replace(
        undefined,
        reason=MOVES_MOST.format(other) if other else "",
        statistic=estimate,
        pvalue=pvalue,
        settings={**undefined.settings, "n_orders": len(sums.totals)},
        component=details["component"][at],
        action=str(data.actions[at]),
        states=[str(data.states[1]), str(data.states[0])],
        tested=tested or None,
        allowed=found.beyond(scores.shown),
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
        contributions=by_context(contributions, contexts, data).reindex(
            pd.Index(list(data.contexts), tupleize_cols=False), fill_value=0.0
        ),
    )
    if without_interval:
        return result.noting(without_interval, result.reason)
    interval = Interval(low, high, found.level, INVERTED)
    return replace(result, interval=interval.within(-1.0, 1.0))


@dataclass(frozen=True)
class Scores:
    """What of the actions is compared with the state, in columns, shape (n, n_columns)."""

    # the score of the test where beliefs give a direction, actions, along the state, the shift
    columns: Floats
    directed: bool  # whether beliefs give a direction
    shown: int  # column of the action that is shown
    n_actions: int
    knowing: int  # column of what choices know of the state: of two actions the one that is shown
    shift: int | None = None  # column in units of belief

    @property
    def first(self) -> int:
        """Column of the first action."""
        return 1 if self.directed else 0

    def gathered(self, column: int) -> int:
        """Place of a column among those to which the contributions of contexts are gathered."""
        return (self.shown, self.knowing).index(column)


def _scores(line: Line) -> Scores:
    centred = line.belief - line.belief.mean()
    if np.abs(centred).max() < 1e-9:  # one belief throughout: the most frequent action is shown
        most = int(np.argmax(np.round(np.abs(line.share.mean(axis=0)), 9)))
        return Scores(line.share, False, most, line.share.shape[1], most)
    slopes = centred @ (line.share - line.share.mean(axis=0)) / (centred @ centred)
    rises = 1 + int(np.argmax(np.round(slopes, 9)))
    n_actions = line.share.shape[1]
    columns, knowing = [(line.share @ slopes)[:, None], line.share], rises
    if n_actions > 2:
        columns.append(_along_the_state(line)[:, None])
        knowing = n_actions + 1
    weights = _shift_weights(line, slopes)
    if weights is not None:
        columns.append((line.share @ weights)[:, None])
    stacked = np.hstack(columns)
    shift = None if weights is None else stacked.shape[1] - 1
    return Scores(stacked, True, rises, n_actions, knowing, shift)


def _along_the_state(line: Line) -> Floats:
    """Predict the state from actions linearly, each context from the others of other folds."""
    n, score = len(line.state), np.zeros(len(line.state))
    fold = np.arange(n) % FOLDS  # contexts are in the order of what they hold
    for held in range(FOLDS):
        rest = fold != held
        centre = line.share[rest].mean(axis=0)
        rise = line.state[rest] - line.state[rest].mean()
        slopes = np.linalg.lstsq(line.share[rest] - centre, rise)[0]
        score[~rest] = (line.share[~rest] - centre) @ slopes
    return score


def _pvalues_of_actions(found: Arranged) -> Floats:
    """Return the p-values of actions alone and by max-t, shape (2, k)."""
    sums, scores = found.sums, found.scores
    actions = range(scores.first, scores.first + scores.n_actions)
    sizes = np.stack([sums.sizes(sums.beyond(at, found.beyond(at))) for at in actions], axis=1)
    alone = np.array([shares_reached(column)[0] for column in sizes.T])
    spread = sizes[1:].std(axis=0)
    standardised = sizes / np.where(spread > 1e-12, spread, np.inf)
    largest = standardised.max(axis=1)
    drawn = np.sort(largest[1:])
    reached = len(drawn) - np.searchsorted(drawn, standardised[0] * (1 - 1e-9))
    return np.stack([alone, (1 + reached) / (1 + len(drawn))])


def _details(
    data: EvaluationData, found: Arranged, pvalue: float, of_actions: Floats
) -> pd.DataFrame:
    """Tabulate the difference of every action, and the shift of belief where one can be read."""
    scores = found.scores
    names = data.difference_names(data.states[1], data.states[0])
    records: list[tuple[Any, ...]] = []
    for at, name in enumerate(names):
        column = scores.first + at
        estimate, *ends = found.interval(column)
        error = found.sums.error(column)
        records.append((name, estimate, error, *ends, *of_actions[:, at], found.beyond(column)))
    if scores.shift is not None:
        estimate, *ends = found.interval(scores.shift)
        error, beyond = found.sums.error(scores.shift), found.beyond(scores.shift)
        records.append((SHIFT, estimate, error, *ends, pvalue, pvalue, beyond))
    columns = ["component", "estimate", "standard_error", "low", "high"]
    return pd.DataFrame(records, columns=[*columns, "pvalue_single", "pvalue_adjusted", "allowed"])


def _shift_weights(line: Line, slopes: Floats) -> Floats | None:
    """Weights of the actions that turn choices into units of belief; None where they do not follow.

    The shares so weighed rise by 1 with the belief, on average over where the state is open: that
    is the mean derivative of a cubic curve, weighed by what the belief leaves of the state.
    """
    belief = line.belief - line.belief.mean()
    acted_on = line.share @ slopes
    powers = np.stack([belief, belief**2, belief**3], axis=1)
    powers -= powers.mean(axis=0)
    curve = np.linalg.lstsq(powers, acted_on - acted_on.mean())[0]
    open_state = line.state * (1 - line.state) if line.exact else 0.0
    left = beyond_belief(line, line.state).values ** 2 + open_state
    if not left.any():
        return None
    steepness = np.average(
        curve[0] + 2 * curve[1] * belief + 3 * curve[2] * belief**2, weights=left
    )
    slope = float(belief @ acted_on) / float(belief @ belief)
    remains = acted_on - acted_on.mean() - slope * belief
    error = math.sqrt(float(((belief * remains) ** 2).sum())) / float(belief @ belief)
    follows = steepness > 0 and error * FOLLOWS < slope
    return np.asarray(slopes / steepness) if follows else None


def _tested(data: EvaluationData, details: pd.DataFrame, without_interval: str) -> str:
    """Say what the p-value concerns where that is more than the one difference shown."""
    if len(data.actions) < 3:
        return ""
    tested = TOGETHER.format(f"{len(data.actions)} actions")
    shift = details[details["component"] == SHIFT]
    if shift.empty or without_interval:
        return tested
    ends = shift[["estimate", "low", "high"]].to_numpy(dtype=float)[0]
    value, low, high = ends.clip(-1.0, 1.0)
    return f"{tested} ({SHIFT} {value:.3f} [{low:.3f}, {high:.3f}])"


def _no_interval(contexts: Contexts) -> str:
    """Say why there is no interval; empty where there is one."""
    if contexts.exact is not None:
        return ""
    if not any(np.ptp(contexts.share[contexts.state == state], axis=0).any() for state in (0, 1)):
        return NO_SPREAD.format("belief and state")
    return rare_state(contexts.state)
