"""Belief sufficiency by residual covariance: whether actions move with the state at equal belief.

Two states: contexts stand in the order of their belief, weighted differences of neighbours leave of
state and actions what the belief does not explain, and the signs of runs of their products are
turned (`coherence.statistics.difference_sequences`). Actions are weighed by their linear slopes on
the belief, the direction in which a higher belief would move choice. The state is the exact
posterior where it is given, else the realised one: actions can know of the realised state only what
the evidence says, so that cov(action, theta | p) = cov(action, p* | p), and the toss of the coin
between them is noise.

More states: a spline of the belief takes out of the actions what it explains, and realised states
are permuted between contexts of like belief (Runge 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import (
    FEWEST_DRAWS,
    Call,
    CallsAndNotes,
    Check,
    Interpretation,
    ReferenceData,
)
from coherence.checks.several_states import permuted_states
from coherence.inputs import Floats, few_contexts, whole_number
from coherence.result import EXACT_REPORT, LEVEL, CheckResult, Family, Interval, Lack
from coherence.statistics.difference_sequences import (
    FEWEST_CONTEXTS,
    NOTHING,
    Line,
    RunSums,
    beyond_belief,
    in_canonical_direction,
    layout_of,
    left_by_belief,
    mean_squared_difference,
    run_sums,
    shares_reached,
    too_few_runs,
)
from coherence.statistics.evaluation import EvaluationData, as_choices, in_several_states, separated
from coherence.statistics.panels import Panel, as_panel
from coherence.statistics.permutation import (
    Contexts,
    by_context,
    contexts_of,
    settled_by_groups,
)
from coherence.statistics.resample import Seed, check_stream
from coherence.table.needs import STATE_AND_CHOICES

NULL = "given the belief{group}, actions do not covary with the {state}"
PERMUTED = (
    "given the belief{group}, the realised states of whole contexts are exchangeable, so that no "
    "action is more frequent when its state holds"
)
STATES = {True: "exact posterior of the state", False: "realised state"}
UNIT = "probability"
N_DRAWS = 9_999
SHIFT = "hidden shift of belief"
SEPARATED = (
    "a threshold of the belief separates the states, "
    "which leaves no other state to compare with at equal belief"
)
SETTLED = "the stated belief settles the action, and leaves the state nothing to move"
POSTERIOR_SETTLED = (
    "the stated belief settles the exact posterior to half a percentage point, and leaves actions "
    "nothing more to know"
)
# Root mean squares of what is left beyond a monotone function of the belief: of a posterior, below
# which, and below a tenth of its spread, it is settled (whole percents leave .003), and of a score.
RESOLVED, ROUNDING = 0.005, 1e-9
ALIKE = "contexts of like belief (in groups: those of a group) have one state: nothing to compare"
ONCE = "one state was seen in {n} contexts, and an interval takes {fewest}"
NO_SPREAD = "no interval, because belief and state leave nothing of choices to chance"
FEWEST_OF_STATE = 3
FOLDS = 10
CERTAIN = 0.02  # chance of a state below which next to nothing is left open
TOGETHER = "all {} together"
MOVES_MOST = "beliefs give no direction, and p is that of the difference that moves most, {}"
FEW_SHARED = (
    "{persons} persons share {n} cases, each with one state: whole cases are exchanged, however "
    "many persons judge each, and the test takes {fewest}"
)
WITHIN_PERSONS = (
    "; at each person's own belief choices differ by {points:.0f} points between the states (least "
    "squares, without an error: noisy reports look like that too)"
)
EXCHANGEABLE = (
    "contexts of one mean belief are exchangeable, however persons disagree there, and each "
    "person's choices go with the own belief by a straight line"
)
INVERTED = "the test inverted (signs of runs of neighbours)"
FOLLOWS = 5.0  # t of the slope of choice on belief from which a shift of belief can be read off it


@takes_columns("belief", "action", "truth", "exact", "context", "group", "person")
def residual_covariance_test(
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
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions still move with the truth once the stated belief is accounted for.

    Null: given the belief (and the group), the actions of a case do not covary with its state.

    Estimand: the difference in the probability of one action, that which rises most with the
    belief, between the states at equal belief (a probability, from -1 to 1); cases are weighted by
    the variance that their belief leaves of the state.

    Actions may vary with the text of a case and its taste. Tastes that go with the evidence, such
    as deciding more readily whenever an X-ray is mentioned, are a covariance with the state too.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, in [0, 1], or of every state.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,), optional
        Labels of the realised state; constant within a context. May be left out with `exact`.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that a belief in one state is in, in [0, 1]; constant within a
        context. It then takes the place of the realised state, whose toss it is free of: the same
        power takes a quarter to a ninth of the contexts. Of two states only.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: contexts are compared within
        groups. Constant within a context.
    person : array-like, shape (n,), optional
        Who judged, where several persons judged each context: beliefs and tastes are then those of
        persons, and the state that of the context. In two states.
    positive : Any
        Label of the state that a belief in one state is in; of two columns of beliefs, the second
        is in it. May be left out where the labels are 0 and 1, no and yes, or false and true.
    n_draws : int
        Random signs of runs, rounded up to a multiple of 128 (of more than two states:
        permutations); at least 99.
    rng : Generator, int or None
        Source of the draws.

    Returns
    -------
    CheckResult
        `statistic` is the difference in the probability of one action between the states at equal
        belief (0 under the null), contexts weighted by what the belief leaves open about the state:
        of the action that rises most with the belief, which `settings` names; with one belief
        throughout, of the most frequent one. Its interval is this test inverted. With more than two
        actions or states the p-value is that of all of them together, and may be small where this
        interval holds 0. `details` has the difference of every action with the p-value that it has
        alone and one that holds for all of them (max-t), and, where choice follows the belief, the
        hidden shift: choices move with the truth as if the belief acted on were that much higher
        (units of belief, to first order). NaN with a reason below 20 contexts (10 that can be
        permuted with more than two states), and where the belief settles the posterior.
        `contributions` holds those of contexts to the statistic.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes that contexts are independent given belief and group, that what a group shares shifts
    state and actions evenly, and that state and actions are smooth in the belief but for a few
    jumps: on continuous beliefs no test holds without such an assumption (Shah and Peters 2020). A
    context has its mean belief and the shares of its actions, weighed by their linear slopes on the
    belief. What the belief foretells of the state by isotonic regression, with a mean of each group
    where they are named, goes out of it; differences of order 3 of state and score, in the order of
    belief (ties averaged), are multiplied, summed in runs of two, and the signs of runs are turned
    at random, with a factor for products of further windows that share contexts, and normal noise
    where their variance is below that of equal variances (rare states and actions). The estimate
    divides by the squared differences of the state, to which p* (1 - p*) is added where the state
    is the exact posterior, less what the isotonic fit takes of the former, so that both states
    estimate the same difference. Sequences stay inside groups; those of two and three contexts have
    shorter ones. With one belief throughout there are no slopes, and the p-value is that of the
    action that moves most (max-t).

    With persons, a linear mixed model, ``choice ~ 0 + context + belief + (1 + belief | person)``,
    takes out what each person's own belief and taste explain; contexts have its effects for their
    shares. Their belief is the mean over persons, less the level of each (``belief ~ 0 + context +
    (1 | person)``), weighed by how steeply each acts on it. Assumes that what this mean leaves open
    of the state does not go with how persons disagree there.
    The p-value concerns these persons; the interval has the variance between persons added
    (Cameron, Gelbach and Miller 2011, without that of rows), with Student's t.

    More than two states: realised states of whole contexts are permuted between contexts of like
    belief, at least four to a block, after a spline is taken out of the actions; each state has its
    own slopes, the statistic sums over states, and a difference is between a state and all others.
    Its interval is that of a regression, and may disagree with the test near the level.

    References
    ----------
    Shah and Peters (2020), Annals of Statistics 48(3), for the covariance; Hall, Kay and
    Titterington (1990), Biometrika 77(3), for difference sequences; Hoffman, Sen and Weinberg
    (2001), Biometrika 88(4), for averages over random orders. Of more states: Runge (2018), AISTATS
    84, for local permutation; Imbens and Kolesar (2016), Review of Economics and Statistics 98(4),
    for HC3 intervals with Satterthwaite's degrees of freedom. Of persons: Cameron, Gelbach and
    Miller (2011), Journal of Business and Economic Statistics 29(2).

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = residual_covariance_test(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"], rng=1
    ... )
    >>> result.pvalue < 0.05  # actions know more of the state than the belief says
    True
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "group": group}
    choices = as_choices(belief, action, truth, context, exact=exact, person=person, **options)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    return residual_covariance(choices, n_draws=n_draws, rng=rng)


def residual_covariance(
    data: EvaluationData, *, n_draws: int = N_DRAWS, rng: Seed = None
) -> CheckResult:
    """Run `residual_covariance_test` on validated data."""
    return arrangement_test(data, n_draws, check_stream(rng, "sufficiency"), as_panel(data))[0]


def arrangement_test(
    data: EvaluationData,
    n_draws: int,
    rng: np.random.Generator,
    panel: Panel | None = None,
    level: float = 0.95,
) -> tuple[CheckResult, Arranged | None]:
    """Return the test, and what two states were arranged to where it has one.

    `level` is that of intervals, without a panel and in two states.
    """
    exact = data.exact is not None
    several = len(data.states) > 2 or in_several_states(data)
    null = (PERMUTED if several else NULL).format(
        group="" if data.group is None else " and the group", state=STATES[exact]
    )
    undefined = CheckResult(
        check="residual_covariance",
        null=null,
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings={
            "cluster of resampling": data.clusters.name,
            "state": "exact" if exact else "realised",
            **({} if panel is None else {"n_persons": panel.n_persons}),
        },
    )
    if panel is not None and len(data.actions) > 1 and data.n_contexts < FEWEST_CONTEXTS:
        return _few_shared(data, panel, undefined), None
    if data.degenerate:
        return lacking(undefined, data.degenerate, _lack_of(data)), None
    cases = data if panel is None else panel.cases
    if not exact and separated(cases):
        return lacking(undefined, SEPARATED, Lack.OPEN), None
    contexts = contexts_of(cases)
    if settled := settled_by_groups(contexts):
        return lacking(undefined, settled, Lack.OPEN), None
    if several:
        return permuted_states(data, contexts, n_draws, rng, undefined), None
    found = _arranged(contexts, n_draws, rng, undefined, panel)
    if isinstance(found, CheckResult):
        return found, None
    found = replace(found, level=level)
    return _direction_of(data, found, undefined), found


def _few_shared(data: EvaluationData, panel: Panel, undefined: CheckResult) -> CheckResult:
    """Say why so few cases are not tested, and what persons do at their own beliefs."""
    reason = FEW_SHARED.format(persons=panel.n_persons, n=data.n_contexts, fewest=FEWEST_CONTEXTS)
    state = data.truth.astype(np.float64) if data.exact is None else data.exact
    within = panel.within_persons(data.share, state)
    if not math.isnan(within):
        reason += WITHIN_PERSONS.format(points=100 * within)
        settings = {**undefined.settings, "within_persons": within}
        undefined = replace(undefined, settings=settings)
    return lacking(undefined, reason, Lack.CASES)


def lacking(undefined: CheckResult, reason: str, lack: Lack) -> CheckResult:
    """Say why there is no p-value, and what kind of thing is lacking."""
    return replace(undefined, reason=reason, lack=lack)


def _lack_of(data: EvaluationData) -> Lack:
    """Tell what degenerate data lack."""
    if len(data.actions) < 2:
        return Lack.ACTIONS
    return Lack.CASES if few_contexts(data.n_contexts) else Lack.OPEN


@dataclass(frozen=True)
class Arranged:
    """Two states along the belief, with what difference sequences leave of them and of actions."""

    contexts: Contexts
    line: Line
    scores: Scores
    sums: RunSums
    part: float  # of products with the state, what the isotonic fit leaves
    foretold: Floats  # shape (n,): the state as the belief foretells it
    panel: Panel | None = None  # of persons who judged the same contexts
    level: float = 0.95  # of intervals

    def interval(
        self, column: int, over: int = -1, *, score: int | None = None
    ) -> tuple[float, float, float]:
        """Return the ratio of two sums and its interval, with what persons add to it.

        `score` is the column of the scores that the first sum is of; None where that is its own.
        """
        value, *ends = self.sums.interval(column, over, self.level)
        if self.panel is None:
            return value, ends[0], ends[1]
        of_persons = self.error_of_persons(column if score is None else score, over)
        added = self.panel.reach * of_persons
        low, high = (
            value + side * math.hypot(end - value, added)
            for side, end in zip((-1.0, 1.0), ends, strict=True)
        )
        return value, low, high

    def error(self, column: int) -> float:
        """Return the standard error of a score's sum over the squares of the state."""
        return math.hypot(self.sums.error(column), self.error_of_persons(column))

    def error_of_persons(self, score: int, over: int = -1) -> float:
        """Return the standard error that is due to persons alone."""
        if self.panel is None or self.sums.observed[over] <= NOTHING:
            return 0.0
        line, influence = self.line, self.sums.influence[:, 0 if over == -1 else 1]
        exposure = influence * line.state
        weights, exposed = np.zeros((2, len(influence)))
        cases = self.contexts.order[line.order]
        weights[cases] = influence / float(self.sums.observed[over])
        exposed[cases] = exposure / float(exposure.sum())
        # Scores are linear in the shares of actions, whose signs are turned with the state.
        share = line.share - line.share.mean(axis=0)
        column = self.scores.columns[:, score]
        in_actions = np.linalg.lstsq(share, column - column.mean())[0]
        return self.panel.error(weights, in_actions, exposed)


def _arranged(
    contexts: Contexts,
    n_draws: int,
    rng: np.random.Generator,
    undefined: CheckResult,
    panel: Panel | None = None,
) -> Arranged | CheckResult:
    """Lay contexts out along the belief and draw; `undefined` with a reason where nothing can."""
    line = in_canonical_direction(contexts)
    layout = layout_of(line.belief, line.group)
    if few := too_few_runs(layout):
        return lacking(undefined, few, Lack.CASES)
    resolved = min(RESOLVED, 0.1 * float(line.state.std()))
    if line.exact and left_by_belief(line.belief, line.state) < resolved:
        return lacking(undefined, POSTERIOR_SETTLED, Lack.OPEN)
    scores = _scores(line)
    if scores.directed and not left_by_belief(line.belief, scores.columns[:, 0]) > ROUNDING:
        settled = {**undefined.settings, "settled": True}
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED, settings=settled)
    left, least = beyond_belief(line)
    kept, whole = (
        mean_squared_difference(layout, line.belief, values) for values in (left, line.state)
    )
    if whole <= NOTHING:
        return lacking(undefined, ALIKE, Lack.OPEN)
    if not line.exact and kept <= NOTHING:  # of mean beliefs; those of rows may overlap
        return lacking(undefined, SEPARATED, Lack.OPEN)
    # What the fit takes of products with the state it takes twice of squares; of the toss's
    # variance it takes what it takes of products.
    part = math.sqrt(min(max(kept / whole, least), 1.0))
    foretold = _foretold(line, left)
    open_state = np.clip(foretold, CERTAIN, 1 - CERTAIN)
    sums = run_sums(
        layout,
        line.belief,
        left,
        scores.columns,
        chance=part * line.state * (1 - line.state) if line.exact else None,
        weight=1 / (open_state * (1 - open_state)),
        turned=1 if scores.directed else 0,
        n_draws=n_draws,
        rng=rng,
        gathered=(scores.shown, scores.knowing),
    )
    return Arranged(contexts, line, scores, sums, part, foretold, panel)


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


def _direction_of(data: EvaluationData, found: Arranged, undefined: CheckResult) -> CheckResult:
    """Test the direction in which a higher belief moves choice."""
    contexts, line, scores, sums = found.contexts, found.line, found.scores, found.sums
    pvalue, of_actions = _pvalues(sums, scores)
    details = _details(data, found, pvalue, of_actions)
    at = scores.shown - scores.first
    surest = int(np.argmin(of_actions[0]))
    # The one shown is chosen without a look at states, so that its interval covers.
    other = "" if scores.directed or surest == at else details["component"][surest]
    without_interval = _no_interval(contexts)
    tested = _tested(data, details, without_interval) if scores.directed else ""
    estimate, low, high = (float(details[name][at]) for name in ("estimate", "low", "high"))
    n_draws = len(sums.drawn)
    doubt = 2 * math.sqrt(LEVEL * (1 - LEVEL) / n_draws)
    added = sums.added[:, 0] - estimate * sums.added[:, -1]
    size = math.sqrt(float((added**2).sum()))
    contributions = np.empty(len(added))
    # Of the size that runs of neighbours show, so that differences between models have that error.
    contributions[line.order] = added * (found.error(scores.shown) / size if size > 0 else 0.0)
    result = replace(
        undefined,
        reason=MOVES_MOST.format(other) if other else "",
        statistic=estimate,
        pvalue=pvalue,
        settings={
            **undefined.settings,
            "component": details["component"][at],
            "action": str(data.actions[at]),
            "states": [str(data.states[1]), str(data.states[0])],
            **({"tested": tested} if tested else {}),
            "n_draws": n_draws,
            "n_orders": len(sums.totals),
            **({"near_level": True} if abs(pvalue - LEVEL) <= doubt else {}),
        },
        details=details,
        assumptions=(
            "contexts are independent given belief"
            + ("" if contexts.group is None else " and group"),
            *(() if found.panel is None else (EXCHANGEABLE,)),
            EXACT_REPORT,
            "state and actions are smooth in the belief but for a few jumps",
        ),
        contributions=by_context(contributions, contexts, data),
    )
    if without_interval:
        return replace(result, reason="; ".join(filter(None, [without_interval, result.reason])))
    method = INVERTED if found.panel is None else f"{INVERTED}, with the variance between persons"
    interval = Interval(low, high, found.level, method)
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


def _pvalues(sums: RunSums, scores: Scores) -> tuple[float, Floats]:
    """Return the p-value of the test, and those of actions alone and by max-t, shape (2, k)."""
    one = np.eye(len(sums.observed))
    actions = range(scores.first, scores.first + scores.n_actions)
    sizes = np.stack([sums.sizes(one[at]) for at in actions], axis=1)
    alone = np.array([shares_reached(column)[0] for column in sizes.T])
    spread = sizes[1:].std(axis=0)
    standardised = sizes / np.where(spread > 1e-12, spread, np.inf)
    largest = standardised.max(axis=1)
    drawn = np.sort(largest[1:])
    reached = len(drawn) - np.searchsorted(drawn, standardised[0] * (1 - 1e-9))
    together = (1 + reached) / (1 + len(drawn))
    test = sums.pvalue(one[0]) if scores.directed else float(together.min())
    return test, np.stack([alone, together])


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
        error = found.error(column)
        records.append((name, estimate, error, *ends, *of_actions[:, at]))
    if scores.shift is not None:
        estimate, *ends = found.interval(scores.shift)
        records.append((SHIFT, estimate, found.error(scores.shift), *ends, pvalue, pvalue))
    columns = ["component", "estimate", "standard_error", "low", "high"]
    return pd.DataFrame(records, columns=[*columns, "pvalue_single", "pvalue_adjusted"])


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
    left = beyond_belief(line)[0] ** 2 + open_state
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
        return NO_SPREAD
    n = int(min((contexts.state == 1).sum(), (contexts.state != 1).sum()))
    return "" if n >= FEWEST_OF_STATE else ONCE.format(n=n, fewest=FEWEST_OF_STATE)


def _same_difference(
    original: ReferenceData,
    rng: Seed,
    *,
    test: partial[CheckResult],
) -> dict[str, float]:
    """Return the difference of a twin that the original shows."""
    result = test(n_draws=FEWEST_DRAWS, rng=rng)
    shown = original.results[CHECK.name].settings.get("component")
    if result.details.empty or shown is None:
        return {CHECK.name: result.statistic}
    by_name = result.details.set_index("component")["estimate"]
    return {CHECK.name: float(by_name.get(shown, math.nan))}


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    if not published:  # no paper has published a procedure to reproduce
        test = partial(residual_covariance, data)
        few = {"n_draws": FEWEST_DRAWS}
        same = partial(_same_difference, test=test)
        yield Call(test, data.n_dropped, cheapest_options=few, effects=same)


CHECK = Check(
    name="residual_covariance",
    needs=STATE_AND_CHOICES,
    sentences={
        "": Interpretation(
            rejected="Choices move with the truth at the same {belief}: "
            "it is not the belief acted on.",
            nominal="choices move with the truth at the same {belief}",
            not_rejected="No evidence that choices move with the truth at the same {belief}.",
            assumes_exact_reports=True,
            discrepancy=True,
        ),
    },
    family=Family.PART,
    plan=_plan,
    of_persons=True,
    states_named=True,
)
