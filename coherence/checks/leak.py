"""Evidence leak: whether actions or beliefs know more of the realised state than the evidence does.

Where states were drawn from exact posteriors, nothing that saw the evidence alone can go with them
at equal posterior: states are drawn anew. Nothing is assumed of actions and beliefs.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import Check, Interpretation, Plan, Question, blank
from coherence.checks.sufficiency_result import NO_SPREAD, rare_state
from coherence.inputs import Floats, few_contexts, require
from coherence.result import CheckResult, Interval, joined_reasons
from coherence.runs.columns import DRAWN, KIND
from coherence.runs.needs import DRAWN_CHOICES
from coherence.runs.notes import not_run
from coherence.statistics import resample
from coherence.statistics.adjustment import differences, left_over, orthonormal
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.pvalues import SMALLEST, calibration_pvalue
from coherence.statistics.resample import Seed

NAME = "evidence_leak"
NULL = (
    "given the exact posterior, actions and beliefs are independent of the realised state, which "
    "is drawn from that posterior"
)
# Of the level, .7 to the direction in which a higher posterior moves choice, which is that of an
# agent that knows part of the state; the rest to an action that moves in another way (deferring)
# and to beliefs. Of two actions direction and largest are the same.
WEIGHTS = (0.7, 0.15, 0.15)
ASSUMED = ("contexts are independent", "states are draws from the exact posterior")
METHOD = "HC3 error over contexts, Satterthwaite's degrees of freedom"
STATES = "states less exact posterior"
SETTLED = "the exact posterior settles actions and beliefs, and leaves the state nothing to move"
RULED_OUT = (
    "the state of {n} of {total} contexts, the first is {first!r}, is one that the exact posterior "
    "rules out: rows were joined wrongly, the posterior is that of another state, or it was rounded"
)
ODD_STATES = (
    "the states do not look like draws from the exact posterior (score test of calibration, p = "
    "{p:.2g}): look for rows that were joined wrongly, or the posterior of another state"
)
ONE_DRAW = (
    "each of {n} groups has one state, and evidence leak takes "
    "states that were drawn for each context: it was not run. Test one context of each group."
)
BY_CHANCE = 0.001  # probability below which groups do not have one state each by chance
SURE = 1e-9  # posteriors this near 0 or 1 leave the state no chance
DEGREE = 3


class LeakResult(CheckResult):
    """Result of `coherence.evidence_leak_test`."""


@takes_columns("belief", "action", "truth", "exact", "context")
def evidence_leak_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    exact: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> LeakResult:
    """Test whether actions or beliefs know more of the realised state than the evidence does.

    Null: given the exact posterior, actions and beliefs are independent of the realised state,
    which is drawn from that posterior.

    Estimand: the difference in the probability of one action, that which rises most with the
    posterior, between the states at equal exact posterior (a probability, from -1 to 1); cases are
    weighted by the variance that the posterior leaves of the state.

    No agent that saw the evidence alone breaks the null, coherent or not. Answers in the prompt,
    contamination and tables that were joined wrongly do.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, 2)
        Stated probability of the state `positive`, in [0, 1], or of both states.

    Returns
    -------
    LeakResult
        `statistic` is the difference in the probability of an action between the states at equal
        exact posterior, for the action that rises most with the posterior; 0 where nothing leaks.
        `details` has every action and the belief, each with an interval and a p-value of its own,
        and `states`, the mean state less the posterior, with the p-value of their agreement.
        The p-value is two-sided and that of actions and beliefs together.

    Raises
    ------
    InputError
        An array breaks its rule, or nothing says which state the posterior is in.

    Notes
    -----
    Mean shares of actions and mean beliefs of contexts are taken less a cubic of the posterior.
    The sums of these residuals over the contexts in which the state holds, in standard deviations
    over draws of all states from their posteriors, are the statistics: of the actions weighted by
    their slopes on the posterior, of the action that moves most, and of the belief. Their p-values
    over the draws, divided by .7, .15 and .15, have a minimum, whose rank among those of the draws
    is the p-value, (1 + b) / (1 + B). It is exact in samples of any size, for any actions and
    beliefs. Residuals do not move with a cubic, so that a posterior that is off by a smooth
    function of itself does little harm.

    The estimate is that of a regression on the state and a cubic of the posterior, its interval by
    an error over contexts (HC3, or that of equal variances where it is larger) with Satterthwaite's
    degrees of freedom. It allows for shifts that differ between contexts, and may disagree with the
    p-value near the level.

    References
    ----------
    Candes, Fan, Janson and Lv (2018), Panning for gold, JRSS B 80(3), section 4; Westfall and Young
    (1993), Resampling-Based Multiple Testing, for the minimum of p-values over the same draws.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("clairvoyant", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> names = ("p", "action", "theta", "p_true")
    >>> evidence_leak_test(*names, context="context", data=rows, rng=1).pvalue < 0.01
    True
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "posterior": exact}
    # What goes with the state at equal posterior leaks, whatever the belief is about.
    choices = as_choices(belief, action, truth, context, may_be_confidence=False, **options)
    require(
        len(choices.states) < 3,
        f"truth must have two states, or positive must name the one that belief and exact are in; "
        f"received {len(choices.states)} states. Name it, to test it against all others.",
    )
    return _evidence_leak(choices, n_draws=n_draws, rng=rng)


def _evidence_leak(
    choices: EvaluationData, *, n_draws: int = 9_999, rng: Seed = None
) -> LeakResult:
    """Run `evidence_leak_test` on validated data."""
    stated = one_dimensional(choices, "evidence_leak_test")
    posterior, generator = choices.exact_of_contexts, resample.check_stream(rng, NAME)
    n, state = choices.n_contexts, _state_of_contexts(choices)
    share = resample.context_means(choices.share, choices.context, n)
    held = resample.context_means(stated, choices.context, n)
    settings = {"n_draws": n_draws, "weights": list(WEIGHTS), "degree": DEGREE}
    further: dict[str, Any] = {"settings": settings, "assumptions": ASSUMED, "pvalue": math.nan}
    result = blank(LeakResult, choices, NAME, NULL, "probability", **further)
    if reason := _no_test(choices, posterior, state):
        return result(reason=reason)
    basis = orthonormal(np.vander(2 * posterior - 1, DEGREE + 1))
    columns = np.column_stack([share, held])
    left = left_over(columns, basis)
    if not left.any():
        return result(reason=SETTLED)
    # How the share of each action rises with the posterior.
    centred = posterior - posterior.mean()
    square = float(centred @ centred)
    slopes = centred @ share / square if square > SURE**2 else np.zeros(share.shape[1])
    scores = np.column_stack([left @ np.append(slopes, 0.0), left])
    # By what contexts hold, so that neither their names nor the order of rows enters the draws.
    order = np.lexsort([np.round(values, 9) for values in (scores[:, 0], held, state, posterior)])
    size = np.abs(_sums(scores[order], posterior[order], state[order], n_draws, generator))
    of_parts = np.column_stack([size[:, 0], size[:, 1:-1].max(axis=1), size[:, -1]])
    together = _pvalues(-(_pvalues(of_parts) / WEIGHTS).min(axis=1, keepdims=True))[0, 0]
    of_states = calibration_pvalue(posterior[order], state[order] == 1)
    odd = ODD_STATES.format(p=of_states) if of_states < SMALLEST else ""
    (table, contributions), (other, one) = differences(columns, state, basis), choices.states
    table = table.drop(columns="standard_error").assign(pvalue=_pvalues(size[:, 1:])[0])
    # What the posterior settles has neither an error nor a test.
    table.loc[~left.any(axis=0), ["low", "high", "pvalue"]] = math.nan
    names = [*choices.difference_names(one, other), f"mean belief, state {one} less {other}"]
    table.insert(0, "component", names)
    headline = int(np.argmax(np.round(slopes, 9)))
    value, low, high = (float(table[name][headline]) for name in ("estimate", "low", "high"))
    moved, below, above = table.iloc[-1][["estimate", "low", "high"]]
    of_all = [STATES, (state - posterior).mean(), math.nan, math.nan, of_states]
    details = pd.DataFrame([*table.to_numpy(object), of_all], columns=table.columns)
    details = details.infer_objects()
    actions = f"{len(choices.actions)} actions" if len(choices.actions) > 1 else "the action"
    by = "" if math.isnan(below) else f" (beliefs move by {moved:.3f} [{below:.3f}, {above:.3f}])"
    reason = rare_state(state)
    if math.isnan(value):
        reason = "the exact posteriors settle the states"
    elif not high - low > 1e-9:  # or undefined
        reason = NO_SPREAD.format("posterior and state")
    added = contributions[:, headline]
    return result(
        statistic=value,
        pvalue=float(together),
        component=names[headline],
        tested=f"{actions} and beliefs together{by}",
        details=details,
        reason=joined_reasons(reason, odd),
        interval=None if reason else Interval(low, high, 0.95, METHOD).within(-1.0, 1.0),
        contributions=None if reason else choices.by_context(added - added.mean()),
    )


def _state_of_contexts(data: EvaluationData) -> Floats:
    state = np.zeros(data.n_contexts)
    state[data.context] = data.truth
    return state


def _no_test(data: EvaluationData, posterior: Floats, state: Floats) -> str:
    """Say why nothing can be tested; empty where it can."""
    if few := few_contexts(data.n_contexts):
        return few
    sure = np.minimum(posterior, 1 - posterior) <= SURE
    wrong = np.flatnonzero(sure & (np.abs(state - posterior) > 0.5))
    if len(data.states) == 2 and wrong.size:
        first = data.contexts[wrong[0]]
        return RULED_OUT.format(n=wrong.size, total=data.n_contexts, first=first)
    if few := few_contexts(int((~sure).sum()), "with an exact posterior between 0 and 1"):
        return few
    return "" if len(data.states) == 2 else f"truth is constant ({data.states[0]!r})"


def _sums(
    scores: Floats, posterior: Floats, state: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Sum scores over the contexts in which the state holds, in standard deviations over draws.

    Shape (1 + n_draws, n_scores): the data first, which count as one of the draws.
    """
    batch = max(1, resample.NUMBERS_HELD // len(posterior))
    sums = np.empty((1 + n_draws, scores.shape[1]))
    sums[0] = state @ scores
    # Single precision moves a probability by 6e-8 at the most, and takes half of the time.
    chance = posterior.astype(np.float32)
    for start in range(1, 1 + n_draws, batch):
        shape = (min(batch, 1 + n_draws - start), len(posterior))
        states = rng.random(shape, dtype=np.float32) < chance
        sums[start : start + batch] = states.astype(np.float64) @ scores
    variance = (posterior * (1 - posterior)) @ scores**2
    deviation = np.where(variance > 1e-20, np.sqrt(variance), np.inf)
    return np.asarray((sums - posterior @ scores) / deviation)


def _pvalues(size: Floats) -> Floats:
    """Return the share of rows at least as large, itself among them, for each row and column."""
    # Equal sums differ in the last bits when they are added in another order.
    rounded = np.round(size, 9)
    smaller = [np.searchsorted(np.sort(column), column, side="left") for column in rounded.T]
    return np.asarray(1 - np.stack(smaller, axis=1) / len(size))


def _plan(data: EvaluationData, published: bool) -> Plan:
    rows = data.known("posterior", "truth")
    if data.drawn is not None:
        rows &= data.drawn
    if not rows.any():
        yield not_run("no p_true: evidence leak was not run.", NAME)
        return
    used = data.subset(rows)
    if _one_draw_a_group(used):
        yield not_run(ONE_DRAW.format(n=len(used.groups)), NAME)
        return
    yield partial(_evidence_leak, used)


def _one_draw_a_group(data: EvaluationData) -> bool:
    """Tell whether contexts of a group share one state: all do, and independent ones would not."""
    if data.group is None or len(data.states) > 2:
        return False
    n_groups = len(data.groups)
    of_one = np.bincount(data.group, _state_of_contexts(data), n_groups)
    sizes = np.bincount(data.group, minlength=n_groups)
    if np.any((of_one > 0) & (of_one < sizes)):
        return False
    posterior = np.clip(data.exact_of_contexts, SURE, 1 - SURE)
    logs = (np.bincount(data.group, np.log(each), n_groups) for each in (posterior, 1 - posterior))
    return float(np.logaddexp(*logs).sum()) < math.log(BY_CHANCE)


CHECK = Check(
    name=NAME,
    origin="Adapted from the conditional randomisation test (Candès, Fan, Janson and Lv 2018)",
    needs=DRAWN_CHOICES,
    sentences={
        "": Interpretation(
            rejected="At the same exact posterior, actions or beliefs go with the realised state, "
            "of which the evidence says no more: look for answers in the prompt, contamination, or "
            "rows that were joined wrongly.",
            nominal="actions or beliefs know more of the realised state than the evidence says",
            words="choices at equal exact posterior",
        ),
    },
    question=Question.KNOWS,
    plan=_plan,
    of_papers=False,
    states_named=True,
    by_itself=lambda runs: KIND in runs.table and bool((runs.table[KIND] == DRAWN).any()),
    beside_primary=True,
)
