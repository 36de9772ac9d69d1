"""Belief movement: over the turns of an episode beliefs move as much as their uncertainty falls.

Of a Bayesian with the right prior the expected sum of squared changes of belief equals the expected
fall of p(1 - p), whatever the evidence (Augenblick and Rabin 2021, proposition 1). Report noise
adds movement; products of different reports of a turn are free of it. What is left is noise that
ends at 0 and 1: the interval covers reports of 0 and 1 taken as stated and as cut off.
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
from coherence.checks.check import NEVER, Call, CallsAndNotes, Check, Interpretation
from coherence.checks.iterated import grid_step
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_belief,
    as_codes,
    as_numbers,
    of_contexts,
    require,
    require_aligned,
)
from coherence.result import CheckResult, Interval
from coherence.statistics.evaluation import RESOLVED, EvaluationData
from coherence.statistics.mean_interval import (
    NO_SPREAD,
    NOTHING,
    PAIRED,
    difference_interval,
    difference_pvalue,
)
from coherence.statistics.report_noise import variances_within
from coherence.statistics.resample import Clusters, context_sums
from coherence.table.needs import NEEDS_TURNS
from coherence.table.notes import not_run
from coherence.table.runs import Runs, all_computed

NAME, SINGLE = "belief_movement", "single_reports"
NULL = (
    "over an episode the expected sum of squared changes of belief equals the expected fall of its "
    "uncertainty p(1 - p)"
)
UNIT = "squared probability"
BEYOND = math.sqrt(2 / math.pi)
"""Mean distance from 0, in standard deviations, of normal noise that was cut off there around a
belief of 0; around other beliefs it is less."""
EITHER_WAY = "0 and 1 as stated and as noise cut off"
ROUNDED = "the exact posterior as it is and rounded as reports are"
AS_EXACT = "reports taken as exact"
STILL = "every excess, less the posterior's where that is known, is exactly zero: nothing to test"
ADDED = (
    "one report a turn: noise with a standard deviation of {sd:.2f} would add as much movement by "
    "itself. Ask again at each turn, to take it off"
)
COARSE = 0.05  # step of reports from which rounding is spoken of
IN_STEPS = (
    "reports are multiples of {step:g} and hardly vary at a turn: rounding alone moves the excess"
)
HIDDEN = "one report a turn: noise adds movement, and without it the excess is lower still"


@takes_columns("belief", "turn", "episode", "rep", "exact", "group")
def belief_movement_test(
    belief: ArrayLike,
    turn: ArrayLike,
    episode: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    rep: ArrayLike | None = None,
    exact: ArrayLike | None = None,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> CheckResult:
    """Test whether beliefs move as much as their uncertainty falls over the turns of an episode.

    Null: over an episode the expected sum of squared changes of belief equals the expected fall of
    its uncertainty p(1 - p).

    Estimand: the mean of movement less reduction (squared probability, above 0 for too much
    movement); episodes count alike.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Belief in one state, in [0, 1], or in every state; three or more are summed over.
    turn : array-like, shape (n,)
        Numbers that order the reports of an episode; equal ones are repeated reports of a belief.
    episode : array-like, shape (n,)
        Ids of the streams of evidence.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and a list of names the beliefs.
    rep : array-like, shape (n,), optional
        Which repetition of the episode a report belongs to, once a turn; without it reports of a
        turn are numbered in their order.
    exact : array-like, shape (n,), optional
        Exact posterior of the same state given the evidence so far, the same for all reports of a
        turn.
    group : array-like, shape (n,), optional
        What episodes share; groups are then the clusters, at least ten.
    computed : bool
        Whether beliefs were computed from a model's distribution, so that they have no noise.

    Returns
    -------
    CheckResult
        `statistic` is the mean over episodes of movement less reduction: above 0 too much movement
        (overreaction), below 0 too little. With `exact` it is less its regression on that of the
        exact posterior on the same evidence, whose expectation is 0 (the slope is that of other
        episodes): the same quantity with a shorter interval.
        `details` has ``movement``, ``reduction`` and ``excess`` of the step to each turn, and of
        the exact posterior; `settings` the same of whole episodes, ``n_episodes``, and
        ``share_at_ends``, of reports 0 or 1 at turns where reports differ. `n_contexts` counts
        turns; `reason` says what noise of single reports, or rounding, may do. With one report a
        turn the check is ``belief_movement:single_reports``.

    Raises
    ------
    InputError
        Values outside [0, 1], two reports of one repetition at a turn, an exact posterior that
        varies within a turn.

    Notes
    -----
    Movement less reduction of a step is (p' - p)(1 - 2p), of mean 0 where E[p'] = p. Of two and
    more reports a turn, squares and products are means over pairs of different repetitions, which
    noise does not bias; turns with one report are left out. A report of 0 or 1 at a turn where
    reports differ may be noise cut off there. As such it stands for up to .80 standard deviations
    beyond; the interval reaches over both readings, and p is the larger one, 1 where the readings
    differ in sign. So too with the exact posterior as it is and rounded, where all reports are in
    steps and hardly vary. Reports of one a turn are taken as exact: noise of variance v adds 2v for
    each step. Test and interval over episodes are the more careful of Student's t and Hall's
    skewness-adjusted t.

    References
    ----------
    Augenblick and Rabin (2021), Belief movement, uncertainty reduction, and rational updating,
    Quarterly Journal of Economics 136(2), proposition 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng, n = np.random.default_rng(1), 200
    >>> state = rng.random(n) < 0.5
    >>> signal = np.where(rng.random((n, 6)) < np.where(state, 0.7, 0.3)[:, None], 1, -1)
    >>> odds = np.cumsum(np.c_[np.zeros(n), signal * np.log(7 / 3)], axis=1)
    >>> episode, turn = np.indices(odds.shape).reshape(2, -1)
    >>> overreacting = 1 / (1 + np.exp(-1.5 * odds.ravel()))
    >>> result = belief_movement_test(overreacting, turn, episode, computed=True)
    >>> 0 < result.low < 0.0623 < result.high  # by enumeration .0623
    True
    """
    require_aligned(belief=belief, turn=turn, episode=episode, rep=rep, exact=exact, group=group)
    checked = as_belief(belief)
    reports, episodes = _validated(checked, turn, episode, rep, exact)
    clusters = None
    if group is not None:
        codes, labels = as_codes(group, "group", len(checked))
        of_row = np.empty_like(codes)
        of_row[reports.order] = reports.episode[reports.cell]
        remedy = "These are episodes: give each one group."
        clusters = of_contexts(codes, labels, of_row, episodes, "group", remedy)
    return _belief_movement(reports, clusters, computed=computed, n_asked=len(checked))


@dataclass(frozen=True)
class _Reports:
    """Reports in the order of episodes and turns; a cell is a turn of an episode."""

    belief: Floats  # shape (n, n_states); one column where states are two
    cell: Codes  # shape (n,): of each report
    rep: Codes  # shape (n,)
    episode: Codes  # shape (n_cells,)
    turn: Floats  # shape (n_cells,)
    exact: Floats | None  # shape (n_cells,)
    order: Codes  # shape (n,): rows of the table

    @property
    def sizes(self) -> Codes:
        """Reports of each cell."""
        return np.bincount(self.cell, minlength=len(self.episode))

    def of_cells(self, kept: Any) -> _Reports:
        """Return the reports of some cells, without episodes of which one is left."""
        kept = kept & (np.bincount(self.episode[kept], minlength=len(kept))[self.episode] > 1)
        rows = kept[self.cell]
        return _Reports(
            self.belief[rows],
            np.unique(self.cell[rows], return_inverse=True)[1],
            self.rep[rows],
            self.episode[kept],
            self.turn[kept],
            None if self.exact is None else self.exact[kept],
            self.order[rows],
        )


def _validated(
    belief: Floats,
    turn: ArrayLike,
    episode: ArrayLike,
    rep: ArrayLike | None,
    exact: ArrayLike | None,
) -> tuple[_Reports, tuple[Any, ...]]:
    """Put reports in order; also return the labels of the episodes."""
    n = len(belief)
    codes, episodes = as_codes(episode, "episode", n)
    turns = as_numbers(turn, "turn")
    require(
        turns.shape == (n,) and bool(np.isfinite(turns).all()),
        "turn must hold one number per row of belief, which orders the reports of an episode; "
        f"received {_first_wrong(turns, n)}. Number turns, and drop rows without one.",
    )
    if belief.ndim == 1:
        belief = belief[:, None]
    belief = belief[:, 1:] if belief.shape[1] == 2 else belief  # p and 1 - p move alike
    require(
        exact is None or belief.shape[1] == 1,
        "exact is the posterior of one of two states; received beliefs over "
        f"{belief.shape[1]}. Leave it out.",
    )
    order = np.lexsort([turns, codes])
    first = np.r_[True, (np.diff(codes[order]) != 0) | (np.diff(turns[order]) != 0)]
    cell = np.cumsum(first) - 1
    if rep is None:
        number = np.arange(n) - np.flatnonzero(first)[cell]
    else:
        number = as_codes(rep, "rep", n)[0][order]
        twice = pd.DataFrame({"cell": cell, "rep": number}).duplicated().to_numpy()
        at = int(order[np.argmax(twice)])
        require(
            not twice.any(),
            f"rep must differ between the reports of a turn; {int(twice.sum())} of {n} share "
            f"theirs, the first at position {at} (turn {turns[at]:g} of episode "
            f"{episodes[codes[at]]!r}). Number them, or leave rep out.",
        )
    cells = np.flatnonzero(first)
    posterior = None if exact is None else _exact_of_cells(exact, order, cell, cells)
    of_cell = codes[order][cells], turns[order][cells]
    return _Reports(belief[order], cell, number, *of_cell, posterior, order), episodes


def _first_wrong(turns: Floats, n: int) -> str:
    if turns.shape != (n,):
        return f"shape {turns.shape} for {n} rows"
    at = int(np.argmax(~np.isfinite(turns)))
    return f"{turns[at]:g} at position {at}"


def _exact_of_cells(exact: ArrayLike, order: Codes, cell: Codes, cells: Codes) -> Floats:
    values = as_belief(exact, "exact")
    require(
        values.shape == order.shape,
        f"exact must be the posterior of one state, a value per row of belief; received shape "
        f"{values.shape} for {len(order)} rows. Give one column.",
    )
    values = values[order]
    away = np.abs(values - values[cells][cell])
    at = int(away.argmax())
    require(
        bool(away[at] < RESOLVED),
        "exact must be the same for all reports of a turn; at position "
        f"{order[at]} it is {values[at]:.6g} and before {values[cells][cell][at]:.6g}. Give other "
        "evidence a turn of its own.",
    )
    return values[cells]


def _belief_movement(
    reports: _Reports, group: Codes | None, *, computed: bool, n_asked: int
) -> CheckResult:
    """Run `belief_movement_test` on validated reports; `group` is that of each episode."""
    repeated = False
    if not computed:
        several = reports.of_cells(reports.sizes > 1)
        repeated = len(np.unique(several.episode)) >= MIN_CONTEXTS
    used = several if repeated else reports.of_cells(np.ones(len(reports.episode), dtype=bool))
    single = not (repeated or computed)
    episodes = np.unique(used.episode)
    exact = used.exact
    result = CheckResult(
        check=f"{NAME}:{SINGLE}" if single else NAME,
        null=f"{NULL}; reports have no noise" if single else NULL,
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=len(used.belief),
        n_contexts=len(used.episode),
        n_dropped=n_asked - len(used.belief),
        settings={"computed": computed, "n_episodes": len(episodes)},
    )
    if len(episodes) < MIN_CONTEXTS:
        n = f"{len(episodes)} episode{'s have' if len(episodes) != 1 else ' has'}"
        return replace(
            result, reason=f"{n} beliefs at two turns or more, fewer than {MIN_CONTEXTS}"
        )
    clusters = Clusters("episode", np.arange(len(episodes)))
    if group is not None:
        clusters = Clusters("group", np.unique(group[episodes], return_inverse=True)[1])
        if clusters.too_few:
            return replace(result, reason=clusters.too_few)
    steps = _steps(used, used.belief, repeated=repeated)
    readings, share_at_ends = [steps], math.nan
    if repeated:
        cut_off, share_at_ends = _as_cut_off(used)
        readings += [_steps(used, cut_off, repeated=True)] if share_at_ends else []
    step = _lasting_step(used)
    bayesians = [None] if exact is None else _bayesians(used, exact, step)
    bayesian = bayesians[0]
    values = [_excess(of, beside, clusters) for of in readings for beside in bayesians]
    of_cluster = [
        clusters.values(context_sums(value, steps.episode, len(episodes))) for value in values
    ]
    result = replace(
        result,
        statistic=float(values[0].sum() / len(episodes)),
        settings={
            **result.settings,
            **_totals(steps, bayesian, len(episodes)),
            "share_at_ends": share_at_ends,
            "step": step,
            "clusters": clusters.plural,
        },
        details=_by_turn(steps, bayesian, clusters),
        assumptions=(clusters.independent, *_assumed(single, repeated)),
    )
    how = [AS_EXACT] * single + [EITHER_WAY] * (len(readings) > 1)
    how += [ROUNDED] * (len(bayesians) > 1)
    method = ", ".join([PAIRED.format(clusters=clusters.plural), *how])
    result = _tested(result, of_cluster, method)
    if result.interval is None:
        return result
    of_step = result.statistic * len(episodes) / len(values[0])
    return replace(result, reason=_remark(of_step, step, single=single))


def _bayesians(reports: _Reports, exact: Floats, step: float) -> list[_Steps | None]:
    """Return the steps of the exact posterior; also of one that is rounded as reports are."""
    cells = np.arange(len(exact))
    of_cells = replace(reports, cell=cells, rep=np.zeros_like(cells))
    kinds = [exact, np.round(exact / step) * step] if step else [exact]
    return [_steps(of_cells, kind[:, None], repeated=False) for kind in kinds]


def _lasting_step(reports: _Reports) -> float:
    """Return the step that all reports are multiples of; 0 where they vary by a quarter of it.

    The rounding errors of reports that vary are as good as independent, and taken off as noise.
    """
    step, repeated = grid_step(reports.belief), reports.sizes > 1
    variances = variances_within(reports.belief, reports.cell)[repeated]
    varies = repeated.any() and math.sqrt(variances.mean()) > step / 4
    return 0.0 if varies else step


def _remark(of_step: float, step: float, *, single: bool) -> str:
    """Return what rounding and noise of reports may do to the excess; empty if nothing."""
    rounded, noisy = IN_STEPS.format(step=step) if step >= COARSE else "", ""
    if single:
        noisy = ADDED.format(sd=math.sqrt(of_step / 2)) if of_step > 0 else HIDDEN
    return "; ".join(filter(None, [rounded, noisy]))


def _tested(result: CheckResult, readings: list[Floats], method: str) -> CheckResult:
    """Complete a result by the hull of the intervals of all readings, and the largest p."""
    moved = [bool(np.abs(values).max() > NOTHING) for values in readings]
    if not any(moved):
        return replace(result, reason=STILL)
    above = [bool(values.mean() > 0) for values in readings]
    agree = all(moved) and (all(above) or not any(above))
    pvalue = max(map(difference_pvalue, readings)) if agree else 1.0
    zero = Interval(0.0, 0.0)
    ends = [
        difference_interval(values) if moves else zero
        for values, moves in zip(readings, moved, strict=True)
    ]
    known = [interval for interval in ends if interval is not None]
    if len(known) < len(ends):
        alike = NO_SPREAD.format(what="excess", clusters=result.settings["clusters"])
        return replace(result, pvalue=pvalue, reason=alike)
    low, high = min(each.low for each in known), max(each.high for each in known)
    return replace(result, interval=Interval(low, high, 0.95, method), pvalue=pvalue)


def _assumed(single: bool, repeated: bool) -> tuple[str, ...]:
    if single:
        return ("reports have no noise",)
    return ("different repetitions are independent reports of one belief",) if repeated else ()


@dataclass(frozen=True)
class _Steps:
    """Steps from one turn of an episode to the next."""

    episode: Codes  # numbered from 0
    turn: Floats  # the later one
    # movement, reduction: squared change of belief, and fall of p(1 - p), summed over states
    movement: Floats
    reduction: Floats


def _steps(reports: _Reports, belief: Floats, *, repeated: bool) -> _Steps:
    """Return the steps of beliefs; squares are products of different repetitions if `repeated`."""
    same = np.diff(reports.episode) == 0
    movement, reduction = np.zeros(len(same)), np.zeros(len(same))
    for column in belief.T:
        mean, square, across = _products(column, reports, repeated=repeated)
        movement += square[1:] - 2 * across + square[:-1]
        reduction -= np.diff(mean - square)
    episode = np.unique(reports.episode[1:][same], return_inverse=True)[1]
    return _Steps(episode, reports.turn[1:][same], movement[same], reduction[same])


def _products(
    belief: Floats, reports: _Reports, *, repeated: bool
) -> tuple[Floats, Floats, Floats]:
    """Return mean and squared belief of each cell, and its product with the cell before."""
    sizes = reports.sizes
    total = np.bincount(reports.cell, belief)
    mean = total / sizes
    if not repeated:
        return mean, mean**2, mean[1:] * mean[:-1]
    square = (total**2 - np.bincount(reports.cell, belief**2)) / (sizes * (sizes - 1))
    # Reports of one repetition at two turns may share what its conversation said.
    order = np.lexsort([reports.cell, reports.rep])
    cell, value = reports.cell[order], belief[order]
    one = (np.diff(reports.rep[order]) == 0) & (np.diff(cell) == 1)
    later, products = cell[1:][one], (value[1:] * value[:-1])[one]
    shared = np.bincount(later, products, len(sizes))[1:]
    n_pairs = sizes[1:] * sizes[:-1] - np.bincount(later, minlength=len(sizes))[1:]
    return mean, square, (total[1:] * total[:-1] - shared) / n_pairs


def _as_cut_off(reports: _Reports) -> tuple[Floats, float]:
    """Read 0 and 1 as noise that was cut off; also return the share of such reports."""
    belief, n_moved = reports.belief.copy(), 0
    for column in belief.T:
        variance = variances_within(column, reports.cell)
        at_end = (column <= 0) | (column >= 1)
        inside = np.bincount(reports.cell, at_end) == 0
        typical = variance[inside] if inside.any() else variance
        moved = at_end & (variance[reports.cell] > RESOLVED**2)
        n_moved += int(moved.sum())
        column[moved] += np.sign(column[moved] - 0.5) * BEYOND * math.sqrt(typical.mean())
    return belief, n_moved / belief.size


def _excess(steps: _Steps, bayesian: _Steps | None, clusters: Clusters) -> Floats:
    """Return movement less reduction of each step, less its regression on the exact posterior's.

    The slope comes from the other clusters, so that what is taken off has a mean of 0 whatever it
    is: about 1 of beliefs that follow the posterior, 0 of beliefs that never move.
    """
    excess = steps.movement - steps.reduction
    if bayesian is None:
        return excess
    exact = bayesian.movement - bayesian.reduction
    cluster = clusters.of_context[steps.episode]
    own, of_exact = np.bincount(cluster, excess), np.bincount(cluster, exact)
    product, square = own * of_exact, of_exact**2
    others = square.sum() - square
    slope = np.divide(product.sum() - product, others, out=np.zeros_like(others), where=others > 0)
    return np.asarray(excess - slope[cluster] * exact)


def _totals(steps: _Steps, bayesian: _Steps | None, n_episodes: int) -> dict[str, float]:
    """Return movement and reduction of the mean episode."""
    kinds = {"": steps} if bayesian is None else {"": steps, "exact_": bayesian}
    return {
        f"{kind}{name}": float(getattr(of, name).sum() / n_episodes)
        for kind, of in kinds.items()
        for name in ("movement", "reduction")
    }


def _by_turn(steps: _Steps, bayesian: _Steps | None, clusters: Clusters) -> pd.DataFrame:
    """Tabulate the mean step to each turn, with an interval for its excess."""
    excess = _excess(steps, bayesian, clusters)
    columns = {"movement": steps.movement, "reduction": steps.reduction}
    if bayesian is not None:
        columns |= {"exact_movement": bayesian.movement, "exact_reduction": bayesian.reduction}
    columns["excess"] = excess
    turns, at = np.unique(steps.turn, return_inverse=True)
    n, ends = np.bincount(at), []
    for turn in range(len(turns)):
        cluster = clusters.of_context[steps.episode[at == turn]]
        of_turn = Clusters(clusters.name, np.unique(cluster, return_inverse=True)[1])
        values = of_turn.values(excess[at == turn])
        interval = None if of_turn.too_few else difference_interval(values)
        ends.append((math.nan, math.nan) if interval is None else (interval.low, interval.high))
    means = {name: np.bincount(at, values) / n for name, values in columns.items()}
    low, high = np.array(ends).T
    return pd.DataFrame({"turn": turns, "n_episodes": n, **means, "low": low, "high": high})


def _holds_turns(runs: Runs) -> bool:
    return bool(runs.known("turn").any() and runs.known("group").any())


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    if data.runs is None or not _holds_turns(data.runs):
        yield not_run(_no_turns(data.runs), NAME)
        return
    if published:
        return
    runs = data.runs
    asked = runs.with_prompt(data.prompt) & runs.known("turn")
    rows = runs.table[asked & runs.believed]
    if rows.empty:
        yield not_run("no turn has a parsed belief: belief movement was not tested.", NAME)
        return
    belief = rows[runs.beliefs].to_numpy(dtype=np.float64)
    if belief.shape[1] > 1:
        belief = belief / belief.sum(axis=1, keepdims=True)
    # Several contexts may hold the reports of one turn.
    reports = _validated(
        belief[:, 0] if belief.shape[1] == 1 else belief,
        rows["turn"],
        rows["group"],
        None if rows.duplicated(["group", "turn", "rep"]).any() else rows["rep"],
        rows["p_true"] if _has_exact(rows) and belief.shape[1] < 3 else None,
    )[0]
    computed = all_computed(rows, runs.beliefs)
    options: dict[str, Any] = {"computed": computed, "n_asked": int(asked.sum())}
    yield Call(partial(_belief_movement, reports, None, **options), draws=False, twins=NEVER)


def _no_turns(runs: Runs | None) -> str:
    lack = [name for name in ("turn", "group") if runs is None or not runs.known(name).any()]
    options = " ".join(f"--{name} COLUMN" for name in lack)
    return f"no {' and '.join(lack)} column ({options}): belief movement was not tested."


def _has_exact(rows: pd.DataFrame) -> bool:
    """Tell whether every turn has one exact posterior."""
    if "p_true" not in rows or not rows["p_true"].notna().all():
        return False
    spread = rows.groupby(["group", "turn"], observed=True)["p_true"].agg(np.ptp)
    return bool((spread < RESOLVED).all())


_SIGNS = "the effect is above 0 where they move too much{noise}, below 0 where too little."
CHECK = Check(
    name=NAME,
    needs=NEEDS_TURNS,
    sentences={
        "": Interpretation(
            rejected="Beliefs do not move as much as they learn: " + _SIGNS.format(noise=""),
            nominal="beliefs move more or less than they learn",
            no_twin_reason="twins have no episodes",
        ),
        SINGLE: Interpretation(
            rejected="If single reports have no noise, beliefs do not move as much as they learn: "
            + _SIGNS.format(noise=" or reports have noise"),
            nominal="beliefs move more or less than they learn, if single reports have no noise",
            not_rejected="No evidence that beliefs move more or less than they learn. The interval "
            "holds only if single reports have no noise.",
            assumes_exact_reports=True,
            no_twin_reason="twins have no episodes",
        ),
    },
    plan=_plan,
    by_itself=_holds_turns,
)
