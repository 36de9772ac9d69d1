"""All numbers of the papers' tables as one frame, and why some of them are not there."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.paper.supplement import ISOTONIC, UnitResult, supplement
from coherence.checks.catalogue import declaration, declared_name
from coherence.errors import InputError
from coherence.report.report import Report
from coherence.report.unit import Unit
from coherence.statistics.resample import Seed, as_generator
from coherence.table.runs import Runs

REPAIRED, PUBLISHED = "repaired", "published"
WITH_PUBLISHED = (
    "cmi",
    "predictive_gain",
    "monotone_choice",
    "prompt_consistency",
    "iterated_expectation",
)
"""Checks with a procedure of the papers that the tables show."""
COLUMNS = (
    *("procedure", "task", "model", "check", "statistic", "unit", "low", "high", "level"),
    *("interval_method", "pvalue", "pvalue_holm", "n_tests", "n_rows", "n_contexts", "n_dropped"),
    *("null", "reason"),
)
"""Columns of results.parquet of a paper, from `coherence.result.CheckResult.to_row` but the first
three."""
NOT_RUN = {
    PUBLISHED: "The published procedure was not run; --published runs it.",
    REPAIRED: "Only the published procedure was run.",
}
NEEDS_RUNS = "Not computed: this needs the runs table, and tables were made of a report alone."
_READ_BACK = ("strict", "reference", "merge_labels")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class PaperResults:
    """What the tables and figures of a paper are made of."""

    reports: dict[str, Report]  # `REPAIRED`, `PUBLISHED` or both
    # from `coherence.analysis.paper.supplement`, of the same procedures; empty without runs.
    supplements: dict[str, list[UnitResult]]

    def frame(self) -> pd.DataFrame:
        """Return every number, one row per procedure, task, model and check; see `COLUMNS`."""
        rows = [
            {"procedure": procedure, "task": task, "model": model, **result.to_row()}
            for procedure, task, model, result in (
                *(
                    (procedure, unit.task, unit.model, result)
                    for procedure, report in self.reports.items()
                    for unit in report.units
                    for result in unit.results
                ),
                *(
                    (procedure, *of_unit)
                    for procedure, results in self.supplements.items()
                    for of_unit in results
                ),
            )
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units of the first report: all have the same."""
        return next(iter(self.reports.values())).units

    def why_absent(self, procedure: str, task: str, model: str, check: str) -> str:
        """Say why there is no result."""
        if procedure not in self.reports:
            return NOT_RUN[procedure]
        name, _, variant = check.partition(":")
        of_report = name in _OF_REPORT and check != ISOTONIC
        if not of_report and procedure not in self.supplements:
            return NEEDS_RUNS
        report = self.reports[procedure]
        if of_report and name not in report.settings["checks"]:
            return as_sentence(f"{_spoken(name)} was not among the checks that were asked for")
        unit = next(unit for unit in report.units if (unit.task, unit.model) == (task, model))
        return _noted(unit, name, "" if check == ISOTONIC else variant)


def as_sentence(reason: str) -> str:
    """Return a reason with a capital and a full stop; empty for none."""
    return f"{reason[:1].upper()}{reason[1:].removesuffix('.')}." if reason else ""


_OF_REPORT = (*WITH_PUBLISHED, "calibration")


def _spoken(name: str) -> str:
    return declaration(declared_name(name)).spoken if name in _OF_REPORT else name


def _noted(unit: Unit, name: str, variant: str) -> str:
    """Find the note of a report on a check that has no result."""
    words = ["context-adjusted gain"] if variant == "features" else []
    words.append(_spoken(name))
    for word in words:
        for note in unit.notes:
            said = re.search(rf"\b{re.escape(word)}\b", note)
            if said and re.search(r"\bnot\b|\bneed", note):
                return as_sentence(note)
    if variant:
        return f"There is no row with {variant!r} in this task and model."
    return "No row of this task and model has what this needs."


def collect_results(
    report: Report,
    *,
    runs: Runs | pd.DataFrame | None = None,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> PaperResults:
    """Complete a report by what the papers' tables show besides."""
    settings = report.settings
    have, other = (PUBLISHED, REPAIRED) if settings["published"] else (REPAIRED, PUBLISHED)
    if runs is None:
        if published and have == REPAIRED:
            raise InputError(
                "published=True needs the runs table, because procedures are run on it; received "
                "none. Name it: runs=TABLE."
            )
        return PaperResults({have: report}, {})
    options: dict[str, Any] = {name: settings[name] for name in _READ_BACK}
    options |= {"positive": list(settings["positive"]) or None, "n_jobs": n_jobs}
    seed = settings["seed"] if rng is None else rng
    streams = as_generator(seed).spawn(2)
    reports = {have: report}
    wanted = [name for name in settings["checks"] if name in WITH_PUBLISHED]
    if (published or other == REPAIRED) and wanted:
        checks = wanted if other == PUBLISHED else settings["checks"]
        # The seed of the report, so that `analyze` by itself gives the same numbers.
        again: Any = int(seed) if isinstance(seed, int | np.integer) else seed
        reports[other] = analyze(
            runs,
            checks=checks,
            published=other == PUBLISHED,
            rng=again,
            progress=progress,
            **options,
        )
    supplements = {
        procedure: supplement(
            runs,
            beside=_pvalues(reports[procedure]),
            published=procedure == PUBLISHED,
            rng=stream,
            **options,
        )
        for procedure, stream in zip((REPAIRED, PUBLISHED), streams, strict=True)
        if procedure in reports
    }
    _require_same(report, [*supplements.values()])
    # Repaired first: its units and their order are those of the figures.
    return PaperResults(
        {name: reports[name] for name in (REPAIRED, PUBLISHED) if name in reports}, supplements
    )


def _pvalues(report: Report) -> list[float]:
    """Return the p-values of a report, of which the further tests of a paper enlarge the number."""
    results = [result for unit in report.units for result in unit.results]
    pvalues = [result.pvalue for result in results if result.pvalue is not None]
    return [pvalue for pvalue in pvalues if not math.isnan(pvalue)]


def _require_same(report: Report, supplements: Sequence[list[UnitResult]]) -> None:
    known = {(unit.task, unit.model) for unit in report.units}
    found = {(task, model) for results in supplements for task, model, _ in results}
    if strangers := sorted(found - known):
        raise InputError(
            f"runs must be the table that the report was made of; {strangers[0]} is no task and "
            "model of the report. Give the table that was analysed."
        )
