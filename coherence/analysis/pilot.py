"""Answers of a model that was asked, as `coherence.power` draws further tables from them.

Beliefs and choices are taken as they are. A table draws cases with their reports, a state
by what the beliefs foretell of it, and for each case the choices of another one of like belief, so
that given the belief nothing ties choices to the state. The signal moves the belief by which that
other case is found.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.agents import PROMPTS
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.reading import evaluations_of, states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.checks.covariance import RESOLVED
from coherence.checks.unsaid import rounding_bound
from coherence.errors import InputError, closest, listing
from coherence.inputs import Codes, Floats, few_contexts, require
from coherence.runs.columns import ACTION_PREFIX
from coherence.runs.needs import STATE_AND_CHOICES
from coherence.runs.runs import EVALUATION, Runs
from coherence.statistics.difference_sequences import FEWEST_CONTEXTS, left_by_belief, monotone_fit
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import context_means

ERROR = "beliefs and choices are those of {n} cases, whose own error the intervals do not hold."
ONCE = (
    "no case has two choices, so that it is not known how alike they are: they were taken as "
    "alike, and repetitions may bring more than shown."
)
UNGROUPED = (
    "cases of the table belong to groups, and simulated ones do not: with groups it takes more."
)
_SETTLED = 1e-3  # chances nearer to 0 or 1 than this are taken for it
_NEIGHBOURS = 0.05  # of the cases, whose choices are taken for those of a like belief


@dataclass(frozen=True)
class Pilot:
    """The cases of one model on one task, by rising belief."""

    name: str  # whose answers they are, for readers
    actions: tuple[str, ...]  # all actions, sorted
    policies: bool  # whether the probability of each action is known instead of one drawn action
    # belief, chance, exact: shape (n_cases,): mean report of a case, what the beliefs of the table
    # foretell of its state, and its exact posterior (None where not known)
    belief: Floats = field(repr=False)
    chance: Floats = field(repr=False)
    exact: Floats | None = field(repr=False)
    # reports, choices: shape (n_rows,) and (n_rows, n_actions), those of a case together; a choice
    # is 1 for the action taken, or the probability of each
    reports: Floats = field(repr=False)
    choices: Floats = field(repr=False)
    counts: Codes = field(repr=False)  # shape (n_cases,): rows of each case
    notes: tuple[str, ...] = ()  # what a reader must know beside the power

    def draw(
        self, signal: float, n_cases: int, n_reps: int, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Draw a runs table: cases with their reports, and for each the choices of a like one."""
        case = rng.integers(self.belief.size, size=n_cases)
        chance = self.chance[case]
        exact = chance if self.exact is None else self.exact[case]
        truth = (rng.random(n_cases) < exact).astype(np.int64)
        known = truth - 0.5 if self.exact is None else exact - chance
        acted_on = np.clip(self.belief[case] + signal * known, 0.0, 1.0)
        like = self._of_like_belief(acted_on, rng)
        choices = self.choices[self._rows_of(like, n_reps, rng)]
        columns: dict[str, Any] = {
            "task": "",
            "model": "",
            "context": np.repeat(np.arange(n_cases), n_reps),
            "rep": np.tile(np.arange(n_reps), n_cases),
            "prompt": PROMPTS[0],
            "p": self.reports[self._rows_of(case, n_reps, rng)],
            "theta": np.repeat(truth, n_reps),
        }
        if self.exact is not None:
            columns["p_true"] = np.repeat(exact, n_reps)
        if self.policies:
            names = (f"{ACTION_PREFIX}{action}" for action in self.actions)
            return pd.DataFrame(columns | dict(zip(names, choices.T, strict=True)))
        actions = np.array(self.actions, dtype=object)[choices.argmax(axis=1)]
        return pd.DataFrame(columns | {"action": actions})

    def _rows_of(self, case: Codes, n_reps: int, rng: np.random.Generator) -> Codes:
        """Draw rows of cases, none twice before all were, shape (n_cases * n_reps,).

        With replacement, what one draw of a case has by chance would stand in all of them, and
        choices of a case would be more alike than they are.
        """
        counts = self.counts[case]
        keys = rng.random((case.size, counts.max()))
        keys[np.arange(counts.max()) >= counts[:, None]] = np.inf
        at = np.arange(n_reps) % counts[:, None]
        rows = np.take_along_axis(np.argsort(keys, axis=1), at, axis=1)
        first = np.cumsum(self.counts) - self.counts
        return np.asarray(first[case][:, None] + rows).ravel()

    def _of_like_belief(self, acted_on: Floats, rng: np.random.Generator) -> Codes:
        """Draw for each belief one of the cases whose beliefs are nearest, shape (n,)."""
        low, high = (np.searchsorted(self.belief, acted_on, side) for side in ("left", "right"))
        at = low + np.floor(rng.random(acted_on.size) * (high - low + 1)).astype(np.int64)
        reach = max(2, round(_NEIGHBOURS * self.belief.size / 2))
        moved = at + rng.integers(-reach, reach + 1, size=at.size)
        return np.asarray(np.clip(moved, 0, self.belief.size - 1))


def _says_all(belief: Floats, exact: Floats, context: Codes) -> bool:
    """Tell whether a monotone function of mean reports gives the posterior, but for rounding."""
    if (n := int(context.max()) + 1) < 2:
        return False
    mean, state = (context_means(values, context, n) for values in (belief, exact))
    left, rounding = left_by_belief(mean, state), rounding_bound(belief, n)
    return left**2 <= max(min(RESOLVED, 0.1 * float(state.std())) ** 2, rounding)


def why_no_pilot(evaluation: EvaluationRows) -> str:
    """Say why no tables can be drawn from an evaluation; empty if they can."""
    rows = evaluation.rows_for(STATE_AND_CHOICES)
    if not evaluation.in_two_states or evaluation.n_states_seen or rows.empty:
        return "no row has a belief in one of two states, an action and a state (theta or p_true)"
    if evaluation.crossed:
        n_persons = evaluation.rows["person"].nunique()
        return f"{n_persons} persons judged the same cases, and it takes answers of one"
    data = evaluation.data(STATE_AND_CHOICES)
    if data.positive_code is None and data.exact is None:
        return f"nothing says which of {listing(data.states)} the belief is in (--positive LABEL)"
    if lack := data.degenerate or few_contexts(data.n_contexts, fewest=FEWEST_CONTEXTS):
        return lack
    if data.exact is not None and _says_all(data.belief, data.exact, data.context):
        return (
            "stated beliefs leave nothing of the exact posterior unsaid but rounding, of which "
            "choices could use a share (--state realised plans for choices that know what happened)"
        )
    return ""


def read_pilot(
    runs: Runs,
    *,
    task: str | None = None,
    model: str | None = None,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
) -> Pilot:
    """Take the rows of one (task, model) that hold belief, action and state."""
    completed = runs.completed()
    table = completed.table
    for column, wanted in zip(EVALUATION, (task, model), strict=True):
        there = sorted(table[column].unique())
        require(
            wanted is None or wanted in there,
            f"{column} must be one of the table; received {wanted!r}. "
            f"{closest(str(wanted), there)}",
        )
        table = table if wanted is None else table[table[column] == wanted]
    evaluations = sorted(map(tuple, table[list(EVALUATION)].drop_duplicates().to_numpy().tolist()))
    if len(evaluations) > 1:
        named = listing([f"task {of!r} with model {by!r}" for of, by in evaluations])
        raise InputError(
            "the table must leave one (task, model) to plan by; received "
            f"{len(evaluations)}: {named}. Keep the rows of one, or name it (--task, --model)."
        )
    states = states_of_tasks(completed, positive, [declaration("sufficiency")])
    ((_, evaluation),) = evaluations_of(completed.subset(table), states, reference, state)
    if why := why_no_pilot(evaluation):
        raise InputError(f"no tables can be drawn from these answers: {why}. Or name an agent.")
    name = " on ".join(filter(None, evaluations[0][::-1])) or "the table"
    return _as_pilot(evaluation.data(STATE_AND_CHOICES), name)


def _as_pilot(data: EvaluationData, name: str) -> Pilot:
    """Sort cases by their mean reports."""
    means = context_means(data.belief, data.context, data.n_contexts)
    order = np.argsort(means, kind="stable")
    state = np.zeros(data.n_contexts)
    state[data.context] = data.truth if data.exact is None else data.exact
    counts = np.bincount(data.context, minlength=data.n_contexts)
    rows = np.argsort(np.argsort(order)[data.context], kind="stable")
    belief, state = means[order], state[order]
    notes = [ERROR.format(n=data.n_contexts)]
    notes += [ONCE] if data.policy is None and counts.max() < 2 else []
    notes += [UNGROUPED] if data.group is not None else []
    return Pilot(
        name=name,
        actions=tuple(map(str, data.actions)),
        policies=data.policy is not None,
        belief=belief,
        chance=np.clip(monotone_fit(belief, state), _SETTLED, 1 - _SETTLED),
        exact=None if data.exact is None else np.clip(state, _SETTLED, 1 - _SETTLED),
        reports=data.belief[rows],
        choices=data.share[rows],
        counts=counts[order],
        notes=tuple(notes),
    )
