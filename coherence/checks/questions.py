"""Checks of questions with a level in an analysis: from the rows of an evaluation to a call.

`EvaluationData.questions` has the parsed beliefs and, below them, the questions of their cases; of
a check, those of its kind count, and at least one must have been answered by one of two options.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from coherence.checks.check import Call, CallsAndNotes
from coherence.result import CheckResult
from coherence.statistics.evaluation import EvaluationData
from coherence.table.notes import not_run
from coherence.table.runs import Runs

Estimate = Callable[..., list[CheckResult]]
"""Takes the rows, and as keywords what all checks of questions with a level take."""


def asked_for(kind: str) -> Callable[[Runs], bool]:
    """Return what tells whether a table has questions of a kind."""
    return lambda runs: kind in runs.kinds_of_questions


def plan_of(
    data: EvaluationData, kind: str, name: str, options: tuple[str, str], estimate: Estimate
) -> CallsAndNotes:
    """Estimate where cases have both a belief and an answered question; else say so."""
    rows = pd.DataFrame() if data.questions is None else data.questions
    if len(rows):
        rows = rows[rows["kind"].isin(["", kind])]
    if not _answered(rows, options):
        lack = f"no case has a parsed belief and an answer to {kind}"
        yield not_run(f"{lack}: {name} was not run.", name)
        return
    call = partial(_estimated, estimate, rows, options, data.n_dropped, computed=data.computed)
    yield Call(call, draws=False)


def _answered(rows: pd.DataFrame, options: tuple[str, str]) -> bool:
    """Tell whether any question has an answer, chosen or computed."""
    if rows.empty:
        return False
    asked = rows[rows["level"].notna()]
    policies = [option for option in options if option in asked]
    if policies:
        return bool(asked[policies].notna().any(axis=None))
    return "action" in asked and bool(asked["action"].isin(options).any())


def _estimated(
    estimate: Estimate,
    rows: pd.DataFrame,
    options: tuple[str, str],
    n_dropped: int,
    *,
    computed: bool,
) -> list[CheckResult]:
    """Run a check on the rows of an evaluation, whose unparsed beliefs count as dropped."""
    policies = [option for option in options if option in rows]
    about: dict[str, Any] = {
        "belief": rows["belief"],
        "action": rows[policies] if policies else rows["action"],
        "level": rows["level"],
        "exact": rows["exact"],
        "order": rows["order"] if rows["order"].notna().any() else None,
        "context": rows["context"],
        "group": rows["group"] if rows["group"].notna().all() else None,
        "computed": computed,
    }
    results = estimate(rows, **about)
    return [replace(result, n_dropped=result.n_dropped + n_dropped) for result in results]
