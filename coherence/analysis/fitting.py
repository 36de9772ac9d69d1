"""The nearest rational agent of one (task, model) of a runs table."""

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
from coherence.inputs import require
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import CANNOT_FIT, fitted, lacking
from coherence.statistics.difference_sequences import left_by_belief
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


def fit_evaluation(
    runs: Runs,
    *,
    task: str | None = None,
    model: str | None = None,
    positive: Any = None,
    reference: str | None = None,
) -> tuple[RationalAgent, str]:
    """Fit the rational agent that `coherence.analyze` fits to one (task, model)."""
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
            "the table must leave one (task, model) to be fitted; received "
            f"{len(evaluations)}: {named}. Name one: --task TASK --model MODEL (task=, model=)."
        )
    check = declaration("rational_agent")
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
    if lack := lacking(data):
        raise InputError(CANNOT_FIT.format(lack=lack))
    agent = fitted(data, noise=0.0 if data.computed else None)
    of, by = evaluations[0]
    return agent, " on ".join(part for part in (by, of) if part) or "the fitted agent"
