"""From results to finished units: p-values adjusted over the report, and what is said."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from coherence.analysis.reading import alerts_of
from coherence.analysis.twins import Beside
from coherence.analysis.unit import UnitRows, unreadable
from coherence.analysis.verdict import allowing, cautions, conclude, verdict
from coherence.checks.check import NotRun
from coherence.report.movement import movement
from coherence.report.unit import Unit
from coherence.report.wording import belief_noun
from coherence.result import CheckResult
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.table.audit import answering, count_statuses, label_rows, worst_case_bounds
from coherence.table.typos import spelling_notes


def adjusted(
    outcomes: Sequence[list[CheckResult]], *, beside: Sequence[float] = ()
) -> list[list[CheckResult]]:
    """Add the p-values adjusted over every test of the report, and those `beside` it."""
    pvalues = [
        math.nan if result.pvalue is None else result.pvalue
        for results in outcomes
        for result in results
    ]
    pvalues += beside
    n_tests = sum(not math.isnan(pvalue) for pvalue in pvalues)
    by_test = iter(zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True))

    def with_adjusted(result: CheckResult) -> CheckResult:
        by_holm, by_bh = next(by_test)
        return (
            result
            if result.pvalue is None
            else replace(
                result, pvalue_holm=float(by_holm), pvalue_bh=float(by_bh), n_tests=n_tests
            )
        )

    return [[with_adjusted(result) for result in results] for results in outcomes]


def measured(
    key: Sequence[Any],
    unit: UnitRows,
    assumed: Sequence[str],
    planned: Sequence[NotRun | str],
    *,
    with_rows: bool = True,
) -> Unit:
    """Put down what a unit holds, before anything is said about it."""
    left_out = [step for step in planned if isinstance(step, NotRun)]
    notes = (*assumed, *(step.note if isinstance(step, NotRun) else step for step in planned))
    way = answering(unit.runs)
    alerts = alerts_of(unit.rows, notes)
    labels = label_rows(unit.runs, unit.reference)
    kept: dict[str, Any] = {
        "beliefs": unit.shown(),
        "rows": unit.runs,
        "labels": labels,
    }
    return Unit(
        task=str(key[0]),
        model=str(key[1]),
        results=(),
        verdicts=(),
        notes=(
            *(alert for alert in alerts if alert not in notes),
            *spelling_notes(unit.rows),
            *notes,
        ),
        absent={name: step.note for step in left_out for name in step.results},
        alerts=alerts,
        statuses=count_statuses(labels),
        bounds=worst_case_bounds(unit.runs, unit.reference),
        unreadable=unreadable(unit.rows),
        answering=way,
        scatter=unit.scatter,
        state_names=_state_names(unit),
        movement=movement(unit.shown(), unit.runs),
        **(kept if with_rows else {}),
    )


def with_results(unit: Unit, beside: Beside) -> Unit:
    """Add results, whose p-values are adjusted, and what they say."""
    assert unit.answering is not None
    assert unit.scatter is not None
    results, noun, scatter = beside.results, belief_noun(unit.answering), unit.scatter
    allowed = allowing(results)
    return replace(
        unit,
        results=results,
        verdicts=tuple(
            verdict(result, belief=noun, scatter=scatter, allowed=allowed) for result in results
        ),
        notes=(*unit.notes, *beside.notes),
        conclusion=conclude(results, belief=noun, scatter=scatter, moves=unit.movement),
        cautions=cautions(results, scatter),
        sensitivity=beside.sensitivity,
    )


def _state_names(unit: UnitRows) -> tuple[str, str]:
    """Name the states as the table does, else by the label whose probability was stated."""
    named = set(unit.rows["theta_name"].dropna()) if "theta_name" in unit.rows else set()
    name = named.pop() if len(named) == 1 else unit.positive
    return ("state 0", "state 1") if name is None else (f"not {name}", str(name))
