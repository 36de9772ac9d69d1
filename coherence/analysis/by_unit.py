"""Tables larger than memory: every unit read, checked and forgotten, and one report over all.

A process reads a unit's rows itself, so that the table never passes between processes. What stays
of a unit is what its results say, without rows and beliefs.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.finishing import adjusted, measured, with_results
from coherence.analysis.planning import plan_unit
from coherence.analysis.reading import part_by_unit, validated
from coherence.analysis.states import states_of_tasks
from coherence.analysis.twin_runs import Beside
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration
from coherence.report.unit import Unit
from coherence.result import CheckResult
from coherence.statistics.parallel import run_calls
from coherence.table.fingerprint import fingerprint
from coherence.table.scan import Key, RunsScan, regrouped
from coherence.table.schema import state_columns

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Options:
    """What holds for all units."""

    checks: tuple[str, ...]
    published: bool
    strict: bool
    reference: str | None
    states: Mapping[str, tuple[Sequence[Any], Any]]


def analyze_scan(
    scan: RunsScan,
    checks: tuple[str, ...],
    *,
    published: bool,
    strict: bool,
    positive: Any,
    reference: str | None,
    n_jobs: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[list[Unit], dict[str, Any]]:
    """Analyse a table unit by unit, with the numbers that it has in memory."""
    labels = scan.labels.assign(**dict.fromkeys(state_columns_of(scan), np.nan))
    declared = [declaration(name) for name in checks]
    states = states_of_tasks(labels, positive, declared)
    options = _Options(checks, published, strict, reference, states)
    found: list[tuple[Unit, list[CheckResult], str]] = []
    with regrouped(scan) as laid_out:
        streams = rng.spawn(len(scan.units))
        jobs = [
            # A process gets the parts of its own unit alone.
            (replace(laid_out, parts={key: laid_out.parts[key]}), key, options, stream)
            for key, stream in zip(scan.units, streams, strict=True)
        ]
        for outcome in run_calls(_analyse, jobs, n_jobs):
            found.append(outcome)
            if progress is not None:
                progress(len(found), len(jobs), outcome[0].model)
    results = adjusted([of_unit for _, of_unit, _ in found])
    units = [
        with_results(unit, Beside(tuple(of_unit)))
        for (unit, _, _), of_unit in zip(found, results, strict=True)
    ]
    digest = hashlib.sha256("\n".join(print_ for _, _, print_ in found).encode()).hexdigest()
    return units, {"rows": scan.n_rows, "columns": len(scan.columns), "fingerprint": digest}


def state_columns_of(scan: RunsScan) -> list[str]:
    """Return the columns of beliefs in several states that a scanned table has."""
    return state_columns(pd.DataFrame(columns=list(scan.columns)))


def _analyse(
    scan: RunsScan, key: Key, options: _Options, rng: np.random.Generator
) -> tuple[Unit, list[CheckResult], str]:
    """Read and check one unit; also return the fingerprint of its rows."""
    runs = scan.read(*key)
    table, assumed = validated(runs, strict=options.strict)
    ((_, unit),) = part_by_unit(table, options.states, options.reference)
    streams = dict(zip(CHECKS, rng.spawn(len(CHECKS)), strict=True))
    jobs, notes = plan_unit(unit, options.checks, published=options.published, streams=streams)
    # A report of a table read by unit has no figure that draws what was fitted.
    results = [replace(result, fitted=None) for job in jobs for result in job.run()]
    return (
        measured(key, unit, (*assumed, *notes), with_rows=False),
        results,
        fingerprint(runs),
    )
