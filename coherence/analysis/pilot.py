"""The answers that a study is planned by: one (task, model) of a runs table."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.reading import states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.checks.covariance import RESOLVED
from coherence.errors import InputError, closest, listing
from coherence.inputs import few_contexts, require
from coherence.statistics.difference_sequences import FEWEST_CONTEXTS, left_by_belief
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.report_noise import rounding_bound
from coherence.table.needs import NEEDS_STATE_AND_ACTION
from coherence.table.runs import EVALUATION, Runs


def says_all(belief: ArrayLike, exact: ArrayLike, context: ArrayLike) -> bool:
    """Tell whether a monotone function of mean reports gives the posterior, but for rounding."""
    rows = pd.DataFrame({"belief": belief, "exact": exact, "context": context})
    means = rows.groupby("context")[["belief", "exact"]].mean()
    if len(means) < 2:
        return False
    state = means["exact"].to_numpy(dtype=np.float64)
    left = left_by_belief(means["belief"].to_numpy(dtype=np.float64), state)
    rounding = rounding_bound(rows["belief"].to_numpy(dtype=np.float64), len(means))
    return left**2 <= max(min(RESOLVED, 0.1 * float(state.std())) ** 2, rounding)


def read_pilot(
    runs: Runs,
    *,
    task: str | None = None,
    model: str | None = None,
    positive: Any = None,
    reference: str | None = None,
) -> tuple[EvaluationData, str]:
    """Return the rows that hold belief, action and state, and whose they are."""
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
            f"{len(evaluations)}: {named}. Name one: --task TASK --model MODEL (task=, model=)."
        )
    check = declaration("sufficiency")
    rows = completed.subset(table)
    labels, meant = states_of_tasks(rows, positive, [check])[str(evaluations[0][0])]
    evaluation = EvaluationRows(rows, positive=meant, labels=labels, reference=reference)
    require(
        evaluation.in_two_states and not evaluation.unpaired and len(evaluation.complete_cases) > 0,
        "the table must have rows with a belief in one of two states, an action and a state "
        "(theta); received none. An agent without answers is planned by its name.",
    )
    if evaluation.crossed:
        raise InputError(
            "the table must hold answers of one agent; received "
            f"{evaluation.rows['person'].nunique()} persons who judged the same "
            "contexts. Keep the rows of one person, or name an agent to plan for."
        )
    data = replace(evaluation.data(NEEDS_STATE_AND_ACTION), features=None)
    if data.clusters.too_few:
        data = replace(data, group=None)
    if evaluation.exact_state:
        data = data.with_exact_state()
    if lack := data.degenerate or few_contexts(data.n_contexts, fewest=FEWEST_CONTEXTS):
        raise InputError(
            f"the table cannot be planned by: {lack}. A plan takes {FEWEST_CONTEXTS} contexts or "
            "more, and two actions and both of two states in them; without them, name an agent."
        )
    of, by = evaluations[0]
    return data, " on ".join(part for part in (by, of) if part)
