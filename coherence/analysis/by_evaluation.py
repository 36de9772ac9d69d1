"""Tables larger than memory: every evaluation read, checked and forgotten, and one report over all.

A process reads an evaluation's rows itself, so that the table never passes between processes. What
stays of an evaluation is what its results say and its figures draw, without rows.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.finishing import adjusted, measured, with_results
from coherence.analysis.planning import plan_evaluation
from coherence.analysis.reading import States, evaluations_of, states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.report.evaluation import EvaluationReport
from coherence.result import CheckResult, ForecastScores
from coherence.statistics.parallel import Progress, run_calls
from coherence.table.runs import TELLING, Runs
from coherence.table.scan import Key, RunsScan


@dataclass(frozen=True)
class _Options:
    """What holds for all evaluations."""

    checks: tuple[str, ...]
    named: bool  # whether the user named them
    full: bool  # whether all of their parts run
    published: bool
    strict: bool
    reference: str | None
    state: str
    states: States


def analyze_scan(
    scan: RunsScan,
    checks: tuple[str, ...],
    *,
    named: bool,
    full: bool,
    published: bool,
    strict: bool,
    positive: Any,
    reference: str | None,
    state: str,
    n_jobs: int,
    seed: int,
    margin: float | None,
    progress: Progress | None,
) -> tuple[list[EvaluationReport], dict[str, Any]]:
    """Analyse a table evaluation by evaluation, with the numbers that it has in memory."""
    header = Runs(pd.DataFrame(columns=list(scan.columns)))
    # What tells states apart, or whose table it is, need only be there.
    telling = [*header.states, *(name for name in header.names if name in TELLING)]
    labels = Runs(scan.labels.assign(**dict.fromkeys(telling, np.nan)), named=scan.named)
    states = states_of_tasks(labels, positive, [declaration(name) for name in checks])
    options = _Options(checks, named, full, published, strict, reference, state, states)
    # A process gets what it needs of its own evaluation alone.
    alone = replace(scan, labels=pd.DataFrame())
    jobs = [
        (replace(alone, found={key: scan.found[key]}), key, options, seed)
        for key in scan.evaluations
    ]
    models = [model for _, model in scan.evaluations]
    found = list(run_calls(_analyse, jobs, n_jobs, progress=progress, labels=models))
    results = adjusted([of_evaluation for _, of_evaluation, _ in found])
    evaluations = [
        with_results(evaluation, of_evaluation, margin)
        for (evaluation, _, _), of_evaluation in zip(found, results, strict=True)
    ]
    digest = hashlib.sha256("\n".join(print_ for _, _, print_ in found).encode()).hexdigest()
    return evaluations, {"rows": scan.n_rows, "columns": len(scan.columns), "fingerprint": digest}


def _analyse(
    scan: RunsScan, key: Key, options: _Options, seed: int
) -> tuple[EvaluationReport, list[CheckResult], str]:
    """Read and check one evaluation; also return the fingerprint of its rows."""
    runs = scan.runs(*key)
    table = runs.completed()
    if options.strict:
        table = table.without_repairs()
    ((_, evaluation),) = evaluations_of(table, options.states, options.reference, options.state)
    jobs, notes = plan_evaluation(
        evaluation,
        options.checks,
        published=options.published,
        seed=seed,
        named=options.named,
        full=options.full,
    )
    # What was computed on the way stays behind; forecasts of several evaluations are compared by
    # their losses.
    results = [
        result if isinstance(result.fitted, ForecastScores) else replace(result, fitted=None)
        for job in jobs
        for result in job.run()
    ]
    return (
        measured(key, evaluation, table.notes, notes, with_rows=False),
        results,
        runs.fingerprint,
    )
