"""Belief sufficiency by residual covariance: whether actions move with the truth at equal belief.

A spline of the belief takes out of the actions what the belief explains. What is left of a context
is weighed by the linear slopes of the actions on the belief, the direction in which a higher belief
would move choice, and summed over the contexts in which the state holds; realised states are then
permuted between contexts of like belief (Runge 2018). It is the generalised covariance of Shah and
Peters (2020) in one direction, with the context as the unit and a permutation in place of its
normal limit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.check import (
    FEWEST_DRAWS,
    Call,
    CallsAndNotes,
    Check,
    Facts,
    Original,
    Sentences,
)
from coherence.inputs import Codes, Floats, require_aligned, whole_number
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.adjustment import Differences, differences, explained_by, left_over
from coherence.statistics.choices import ChoiceData, as_choices, separated
from coherence.statistics.permutation import (
    Contexts,
    Permuted,
    Statistic,
    by_context,
    contexts_of,
    permutation_blocks,
    permutation_test,
    pvalues_of,
    share_reached,
    too_few,
)
from coherence.statistics.resample import Seed, as_generator
from coherence.table.needs import JUDGED_CHOICES

NULL = (
    "given the belief{group}, the realised states of whole contexts are exchangeable, so that no "
    "action is more frequent when its state holds"
)
UNIT = "probability"
SHIFT = "hidden shift of belief"
SEPARATED = (
    "a threshold of the belief separates the states, "
    "which leaves no other state to compare with at equal belief"
)
SETTLED = "the stated belief settles the action, and leaves the state nothing to move"
ONCE = "one state was seen in {n} contexts, and an interval takes {fewest}"
FEW_GROUPS = "{n} too few for an interval over groups; {fewest} are needed"
NO_SPREAD = "no interval, because belief and state leave nothing of choices to chance"
FEWEST_OF_STATE, FEWEST_GROUPS = 3, 10
TOGETHER = "all {} together"
MOVES_MOST = "beliefs give no direction, and p is that of the difference that moves most, {}"
FOLLOWS = 5.0  # t of the slope of choice on belief from which a shift of belief can be read off it
MANY = 5_000  # contexts from which permuted sums are drawn from their normal limit


def residual_covariance_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions still move with the truth once the stated belief is accounted for.

    Null: given the belief (and the group), the realised states of whole contexts are exchangeable.
    Policies and choices may vary with the text and the taste of a context, but not with what is
    true there.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, in [0, 1], or of every state.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Labels; constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: states are permuted within
        groups, and the interval takes groups for its units. Constant within a context.
    positive : Any
        Label of the state that a belief in one state is in; of two columns of beliefs, the second
        is in it. May be left out where the labels are 0 and 1, no and yes, or false and true.
    n_draws : int
        Random permutations, at least 99; ten times as many where the p-value lies within two Monte
        Carlo errors of .05. All arrangements where they are fewer.
    rng : Generator, int or None
        Source of the permutations.

    Returns
    -------
    CheckResult
        `statistic` is the difference in the probability of one action between the states at equal
        belief (0 under the null): of the action that rises most with the belief, which `settings`
        names; with one belief throughout, of the most frequent one. Its interval treats contexts,
        or groups, as units. With more than two actions or states the p-value is that of all of them
        together, and may be small where this interval holds 0. `details` has the difference of
        every action with the p-value that it has alone and one that holds for all of them (max-t),
        and, where choice follows the belief, the hidden shift: choices move with the truth as if
        the belief acted on were that much higher (units of belief, to first order). NaN with a
        reason where fewer than ten contexts can be permuted. No interval where a state was seen in
        fewer than three contexts, or with fewer than ten groups. `contributions` holds those of
        contexts to the statistic.

    Raises
    ------
    InputError
        An array breaks its rule, or it is not known which of two states the belief is in.

    Notes
    -----
    Assumes that contexts (groups, where they are named) are independent, and that within a block
    the state is about as probable in one context as in another. A context has its mean belief and
    the shares of its actions. Equal beliefs (to 1e-9) share a block, and neighbouring ones are
    joined until it holds four contexts; beliefs over several states are joined with their nearest
    neighbours. Beliefs that four contexts and more state have a mean of their own on top of the
    spline. With more than two states each state has its own slopes, and the statistic sums over
    states; the difference is then between a state and all others. With one belief throughout there
    are no slopes, and the p-value is that of the action that moves most (max-t).

    Test and interval are procedures of their own and may disagree near the level.

    References
    ----------
    Runge (2018), AISTATS 84, for local permutation; Shah and Peters (2020), Annals of Statistics
    48(3), for the covariance; Imbens and Kolesar (2016), Review of Economics and Statistics 98(4),
    for HC3 intervals with Satterthwaite's degrees of freedom.

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
    require_aligned(belief=belief, group=group)
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    return covariance_of(data, n_draws, as_generator(rng), group=group)


def covariance_of(
    data: ChoiceData,
    n_draws: int,
    rng: np.random.Generator,
    *,
    group: ArrayLike | None = None,
) -> CheckResult:
    """Run `residual_covariance_test` on validated data."""
    undefined = CheckResult(
        check="residual_covariance",
        null=NULL.format(group="" if group is None else " and the group"),
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings={"unit of resampling": "context" if group is None else "group"},
    )
    if data.degenerate or separated(data):
        return replace(undefined, reason=data.degenerate or SEPARATED)
    contexts = contexts_of(data, group)
    cuts, pooled = permutation_blocks(contexts.belief, contexts.group)
    if few := too_few(cuts[0], contexts.state):
        return replace(undefined, reason=few)
    basis = explained_by(contexts.belief, contexts.group)
    left = left_over(contexts.share, basis)
    if not left.any():
        return replace(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED)
    slopes = _slopes(contexts, data)
    pairs = _pairs(data)
    permuted = _permuted(left, slopes, pairs, cuts, contexts.state, n_draws, rng)
    headline = _headline(slopes, pairs, contexts)
    details, shown = _details(data, contexts, basis, pairs, permuted, slopes)
    surest = int(np.argmax(np.abs(permuted.observed[1:])))
    # The one shown is chosen without a look at states, so that its interval covers.
    other = "" if slopes is not None or surest == headline else details["component"][surest]
    without_interval = _no_interval(contexts, pairs[headline][1])
    tested = "" if slopes is None else _tested(data, details, without_interval)
    result = replace(
        undefined,
        reason=MOVES_MOST.format(other) if other else "",
        statistic=float(details["estimate"][headline]),
        pvalue=float(permuted.pvalues[0]),
        settings={
            **undefined.settings,
            "component": details["component"][headline],
            **({"tested": tested} if tested else {}),
            **({"pooled": pooled} if pooled else {}),
            **permuted.settings,
        },
        details=details,
        assumptions=(
            "contexts are independent" if group is None else "groups are independent",
            EXACT_REPORT,
            "at similar belief, states are exchangeable under the null",
        ),
        contributions=(
            None
            if math.isnan(details["estimate"][headline])
            else by_context(shown.contributions[:, headline], contexts, data)
        ),
    )
    if without_interval:
        reasons = filter(None, [without_interval, result.reason])
        return replace(result, reason="; ".join(reasons))
    low, high = (float(details[end][headline]) for end in ("low", "high"))
    if high - low < 1e-9:
        return replace(result, reason="; ".join(filter(None, [NO_SPREAD, result.reason])))
    error = "HC3 error over contexts" if group is None else "CR3 error over groups"
    interval = Interval(low, high, 0.95, f"{error}, Satterthwaite's degrees of freedom")
    return replace(result, interval=interval.within(-1.0, 1.0))


def _slopes(contexts: Contexts, data: ChoiceData) -> Floats | None:
    """Linear slope of each action on the belief in each state, shape (n_actions, n_states).

    None where beliefs are all the same, or not one for each state.
    """
    columns = contexts.belief.reshape(len(contexts.belief), -1)
    centred = columns - columns.mean(axis=0)
    if np.abs(centred).max() < 1e-9:
        return None
    slopes = np.linalg.lstsq(centred, contexts.share - contexts.share.mean(axis=0))[0].T
    if columns.shape[1] == 1 and len(data.states) == 2:
        return np.asarray(np.hstack([-slopes, slopes]))
    return slopes if columns.shape[1] == len(data.states) else None


def _pairs(data: ChoiceData) -> list[tuple[int, int]]:
    """Action and state of each difference; of two states, the one that the belief is in."""
    n_states = len(data.states)
    states = [1] if n_states == 2 else range(n_states)
    return [(action, state) for state in states for action in range(len(data.actions))]


def _headline(slopes: Floats | None, pairs: list[tuple[int, int]], contexts: Contexts) -> int:
    """Return the pair whose share rises most with the belief: chosen without a look at states."""
    if slopes is None:
        return int(np.argmax(np.round(contexts.share.mean(axis=0), 9)))
    return int(np.argmax([round(float(slopes[pair]), 9) for pair in pairs]))


def _permuted(
    left: Floats,
    slopes: Floats | None,
    pairs: list[tuple[int, int]],
    cuts: list[Codes],
    state: Codes,
    n_draws: int,
    rng: np.random.Generator,
) -> Permuted:
    """Permute states; the p-values are those of the test, of each pair alone, and by max-t."""

    def score(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
        size, sizes = np.abs(observed), np.abs(drawn)
        largest = np.broadcast_to(sizes[:, 1:].max(axis=1, keepdims=True), (len(drawn), len(pairs)))
        of_test, among = size[:1], sizes[:, :1]
        if slopes is None:
            of_test, among = size[1:].max(keepdims=True), largest[:, :1]
        return np.hstack([of_test, size[1:], size[1:]]), np.hstack([among, sizes[:, 1:], largest])

    def standardised(blocks: Codes) -> tuple[Floats, Floats]:
        return _standardised(left, slopes, pairs, blocks, state)

    def statistic(blocks: Codes) -> Statistic:
        return partial(_sums, of_state=standardised(blocks)[0])

    if len(left) <= MANY:
        return permutation_test(statistic, score, cuts, state, n_draws, rng)
    limit = standardised(cuts[0])[1]
    drawn = rng.multivariate_normal(np.zeros(len(limit)), limit, size=n_draws, method="eigh")
    observed = statistic(cuts[0])(state[None])[0]
    pvalues = pvalues_of(share_reached(*score(observed, drawn)), n_draws)
    settings: dict[str, object] = {"n_permutations": n_draws, "exact": False}
    return Permuted(pvalues, observed, drawn, {**settings, "normal_limit": True})


def _sums(states: Codes, of_state: Floats) -> Floats:
    """Sum what contexts add in the state that each has, for every arrangement."""
    n_states, _, n_sums = of_state.shape
    sums = np.zeros((len(states), n_sums))
    for which in range(1 if n_states == 2 else 0, n_states):
        sums += np.asarray(states == which, dtype=np.float64) @ of_state[which]
    return sums


def _standardised(
    left: Floats,
    slopes: Floats | None,
    pairs: list[tuple[int, int]],
    blocks: Codes,
    state: Codes,
) -> tuple[Floats, Floats]:
    """What a context adds to each sum in each state, and the covariance of sums of variance 1.

    The first sum is the statistic, the others are those of the pairs.
    """
    n_blocks, n_states = int(blocks.max()) + 1, int(state.max()) + 1
    size = np.bincount(blocks, minlength=n_blocks).astype(np.float64)
    # What a block has on average adds the same to every arrangement.
    means = [np.bincount(blocks, weights=column, minlength=n_blocks) / size for column in left.T]
    centred = left - np.stack(means, axis=1)[blocks]
    of_state = np.zeros((n_states, len(left), 1 + len(pairs)))
    for at, (action, which) in enumerate(pairs, 1):
        of_state[which, :, at] = centred[:, action]
        if slopes is not None:
            of_state[which, :, 0] += slopes[action, which] * centred[:, action]
    covariance = _covariance(of_state, blocks, state, size)
    error = np.sqrt(np.diag(covariance))
    scale = np.where(error > 1e-12, error, np.inf)
    return of_state / scale, covariance / scale / scale[:, None]


def _covariance(of_state: Floats, blocks: Codes, state: Codes, size: Floats) -> Floats:
    """Covariance of the sums over all arrangements, shape (n_sums, n_sums)."""
    n_states, _, n_sums = of_state.shape
    held = np.zeros((size.size, n_states))
    np.add.at(held, (blocks, state), 1.0)
    pairs = np.maximum(size * (size - 1), 1.0)
    covariance = np.zeros((n_sums, n_sums))
    for first in range(n_states):
        for second in range(n_states):
            times = -held[:, first] * held[:, second] / pairs
            if first == second:
                times += held[:, first] * size / pairs
            covariance += (of_state[first] * times[blocks, None]).T @ of_state[second]
    return covariance


def _details(
    data: ChoiceData,
    contexts: Contexts,
    basis: Floats,
    pairs: list[tuple[int, int]],
    permuted: Permuted,
    slopes: Floats | None,
) -> tuple[pd.DataFrame, Differences]:
    """Tabulate the difference of every action, and the shift of belief where one can be read."""
    records, parts = [], []
    for which in dict.fromkeys(state for _, state in pairs):
        holds = (contexts.state == which).astype(np.float64)
        values = contexts.share
        shift = None
        if slopes is not None and len(data.states) == 2:
            shift = _follows(contexts, slopes[:, 1], left_over(holds[:, None], basis)[:, 0])
        if shift is not None:
            values = np.column_stack([values, contexts.share @ shift])
        found = differences(values, holds, basis, contexts.group)
        parts.append(found)
        other = data.states[0] if len(data.states) == 2 else f"not {data.states[which]}"
        names = data.difference_names(data.states[which], other)
        for at, name in enumerate([*names, SHIFT][: values.shape[1]]):
            low, high = found.interval(at)
            records.append((name, found.estimate[at], found.standard_error[at], low, high))
    columns = ["component", "estimate", "standard_error", "low", "high"]
    table = pd.DataFrame(records, columns=columns)
    alone, together = np.split(permuted.pvalues[1:], 2)
    of_test = [permuted.pvalues[0]] * (len(table) - len(pairs))
    table["pvalue_single"] = [*alone, *of_test]
    table["pvalue_adjusted"] = [*together, *of_test]
    contributions = np.hstack([part.contributions[:, : len(data.actions)] for part in parts])
    return table, replace(parts[0], contributions=contributions)


def _follows(contexts: Contexts, slopes: Floats, moved: Floats) -> Floats | None:
    """Weights of the actions that turn choices into units of belief; None where they do not follow.

    The shares so weighed rise by 1 with the belief, on average over where the state is open: that
    is the mean derivative of a cubic curve, weighed by what the belief leaves of the state.
    """
    belief = contexts.belief - contexts.belief.mean()
    acted_on = contexts.share @ slopes
    powers = np.stack([belief, belief**2, belief**3], axis=1)
    powers -= powers.mean(axis=0)
    if not (belief.any() and moved.any()):
        return None
    curve = np.linalg.lstsq(powers, acted_on - acted_on.mean())[0]
    steepness = np.average(
        curve[0] + 2 * curve[1] * belief + 3 * curve[2] * belief**2, weights=moved**2
    )
    slope = float(belief @ acted_on) / float(belief @ belief)
    remains = acted_on - acted_on.mean() - slope * belief
    error = math.sqrt(float(((belief * remains) ** 2).sum())) / float(belief @ belief)
    follows = steepness > 0 and error * FOLLOWS < slope
    return np.asarray(slopes / steepness) if follows else None


def _tested(data: ChoiceData, details: pd.DataFrame, without_interval: str) -> str:
    """Say what the p-value concerns where that is more than the one difference shown."""
    n_actions, n_states = len(data.actions), len(data.states)
    several = [f"{n_actions} actions"] * (n_actions > 2) + [f"{n_states} states"] * (n_states > 2)
    if not several:
        return ""
    tested = TOGETHER.format(" and ".join(several))
    shift = details[details["component"] == SHIFT]
    if shift.empty or without_interval:
        return tested
    ends = shift[["estimate", "low", "high"]].to_numpy(dtype=float)[0]
    value, low, high = ends.clip(-1.0, 1.0)
    return f"{tested} ({SHIFT} {value:.3f} [{low:.3f}, {high:.3f}])"


def _no_interval(contexts: Contexts, state: int) -> str:
    """Say why there is no interval; empty where there is one."""
    if contexts.group is not None and (n := np.unique(contexts.group).size) < FEWEST_GROUPS:
        few = "1 group is" if n == 1 else f"{n} groups are"
        return FEW_GROUPS.format(n=few, fewest=FEWEST_GROUPS)
    n = int(min((contexts.state == state).sum(), (contexts.state != state).sum()))
    return "" if n >= FEWEST_OF_STATE else ONCE.format(n=n, fewest=FEWEST_OF_STATE)


def _same_difference(
    original: Original,
    rng: np.random.Generator | None,
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


def _plan(facts: Facts) -> CallsAndNotes:
    if not facts.published:  # no paper has published a procedure to reproduce
        arrays = facts.belief, facts.action, facts.truth
        options = {"context": facts.context, "group": facts.group, "positive": facts.positive}
        test = partial(residual_covariance_test, *arrays, **options)
        few = {"n_draws": FEWEST_DRAWS}
        same = partial(_same_difference, test=test)
        yield Call(test, facts.n_dropped, fewest=few, effects=same)


CHECK = Check(
    name="residual_covariance",
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="Choices move with the realised state at the same {belief}: "
            "it is not the belief acted on.",
            sign="choices move with the realised state at the same {belief}",
            kept="No sign that choices move with the realised state at the same {belief}.",
            scatter_misleads=True,
            discrepancy=True,
        ),
    },
    plan=_plan,
    states_named=True,
)
