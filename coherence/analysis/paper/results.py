"""All numbers of the papers' tables as one frame.

Beyond the checks of a report: sufficiency under isotonic calibration, the within-context
SD of answers, and the error to the exact posterior under every prompt variant.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.reading import as_runs, read_evaluations
from coherence.checks.calibration import calibration_of
from coherence.checks.cmi import cmi
from coherence.checks.consistency import over_repetitions
from coherence.errors import InputError
from coherence.inputs import few_contexts
from coherence.report.document import MISSING
from coherence.report.report import Report
from coherence.result import CheckResult
from coherence.runs.needs import NEEDS_STATE_AND_ACTION
from coherence.runs.runs import REFERENCE, Runs, all_computed
from coherence.statistics.evaluation import evaluation_data, require_state
from coherence.statistics.mean_interval import mean_result
from coherence.statistics.resample import Progress, Seed, as_seed, clusters_of, run_calls

REPAIRED, PUBLISHED = "repaired", "published"
ISOTONIC, SCATTER = "cmi:isotonic", "repetition_sd"
SINGLE, NOISELESS = "truth_rmse", "truth_rmse_noise_removed"
WITH_PUBLISHED = (
    *("cmi", "predictive_gain", "monotone_choice", "prompt_consistency"),
    "iterated_expectation",
)
"""Checks with a procedure of the papers that the tables show."""
COLUMNS = (
    *("procedure", "task", "model", "check", "estimate", "unit", "low", "high", "level"),
    *("interval_method", "pvalue", "pvalue_holm", "n_tests", "n_rows", "n_contexts", "n_dropped"),
    *("null", "reason"),
)
"""Columns of results.parquet of a paper, from `coherence.result.CheckResult.to_row` but the first
three."""
_NO_ISOTONIC = "calibration takes chosen actions, and a belief in one of two states"
_PAPER_ORDER = (REFERENCE, "mse", "absolute", "bayes")

EvaluationResult = tuple[str, str, CheckResult]
"""Task, model, result."""


@dataclass(frozen=True)
class PaperResults:
    """What the tables and figures of a paper are made of."""

    reports: dict[str, Report]  # `REPAIRED`, `PUBLISHED` or both
    supplements: dict[str, list[EvaluationResult]]  # from `supplement`, of the same procedures

    def frame(self) -> pd.DataFrame:
        """Return every number, one row per procedure, task, model and check; see `COLUMNS`."""
        rows = [
            {"procedure": procedure, "task": task, "model": model, **result.to_row()}
            for procedure, task, model, result in (
                *(
                    (procedure, evaluation.task, evaluation.model, result)
                    for procedure, report in self.reports.items()
                    for evaluation in report.evaluations
                    for result in evaluation.results
                ),
                *((name, *result) for name, of in self.supplements.items() for result in of),
            )
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))


def evaluation_names(task: str, model: str) -> tuple[str, str]:
    """Return what a table calls a task and a model, which may have no name."""
    return task or "all rows", model or MISSING


def collect_results(
    report: Report,
    runs: Runs | pd.DataFrame,
    *,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> PaperResults:
    """Complete a report by what the papers' tables show besides; `runs` is its table."""
    settings = report.settings
    have, other = (PUBLISHED, REPAIRED) if settings["published"] else (REPAIRED, PUBLISHED)
    options: dict[str, Any] = {name: settings[name] for name in ("strict", "reference")}
    options |= {"positive": list(settings["positive"]) or None, "n_jobs": n_jobs}
    options["rng"] = as_seed(settings["seed"] if rng is None else rng)
    reports = {have: report}
    wanted = [name for name in settings["checks"] if name in WITH_PUBLISHED]
    if (published or other == REPAIRED) and wanted:
        checks = wanted if other == PUBLISHED else settings["checks"]
        how = options | {"published": other == PUBLISHED, "progress": progress}
        reports[other] = analyze(runs, checks=checks, **how)
    # Repaired first: its evaluations and their order are those of the figures.
    reports = {name: reports[name] for name in (REPAIRED, PUBLISHED) if name in reports}
    found = {name: supplement(runs, published=name == PUBLISHED, **options) for name in reports}
    return PaperResults(reports, found)


def in_paper_order(variants: Iterable[str]) -> list[str]:
    """Return names with the paper's own prompts first, each name once."""
    known = {name: at for at, name in enumerate(_PAPER_ORDER)}
    return sorted(dict.fromkeys(variants), key=lambda name: known.get(name, len(known)))


def supplement(
    runs: Runs | pd.DataFrame,
    *,
    published: bool = False,
    n_jobs: int = 1,
    rng: Seed = None,
    **reading: Any,
) -> list[EvaluationResult]:
    """Compute what the tables show beyond a report; `reading`: strict, positive, reference."""
    evaluations, _ = read_evaluations(as_runs(runs), ["cmi"], **reading)
    calls = [(evaluation, published, as_seed(rng)) for _, evaluation in evaluations]
    found = run_calls(_added, calls, n_jobs)
    return [
        (task, model, result)
        for ((task, model), _), results in zip(evaluations, found, strict=True)
        for result in results
    ]


def _added(evaluation: EvaluationRows, published: bool, rng: int) -> list[CheckResult]:
    """Compute what a report lacks of one task and model."""
    results = [_isotonic(evaluation, published, rng)] if len(evaluation.complete_cases) else []
    if published:
        return results
    if evaluation.runs.beliefs:
        results.append(_scatter(evaluation))
    plain = evaluation.rows[~evaluation.runs.given_z]
    for prompt in in_paper_order(plain["prompt"]):
        results += _errors(evaluation, plain[plain["prompt"] == prompt], prompt)
    return results


def _isotonic(evaluation: EvaluationRows, published: bool, rng: int) -> CheckResult:
    """Test sufficiency under isotonic calibration."""
    data = evaluation.data(NEEDS_STATE_AND_ACTION)
    try:
        if len(data.states) == 2:
            require_state(data)
        result = cmi(data, isotonic=True, published=published, rng=rng)
        return replace(result, check=ISOTONIC, n_dropped=data.n_dropped)
    except InputError as error:  # of what cannot be calibrated
        what, size = "information after isotonic calibration", (data.n_rows, 0, data.n_dropped)
        lacks = evaluation.policies or not evaluation.in_two_states
        why = _NO_ISOTONIC if lacks else str(error)
        return CheckResult(ISOTONIC, what, math.nan, "nats", None, math.nan, *size, reason=why)


def _undefined(check: str, what: str, asked: pd.DataFrame, reason: str) -> CheckResult:
    n, unit = int(asked["context"].nunique()), "probability"
    return CheckResult(check, what, unit=unit, n_rows=len(asked), n_contexts=n, reason=reason)


def _of_squares(
    check: str, what: str, squares: pd.Series, used: pd.DataFrame, asked: pd.DataFrame, of: str
) -> CheckResult:
    """Return the root of a mean over contexts, with its interval over contexts or groups."""
    squares = squares.dropna()
    clusters = clusters_of(used, squares.index)
    result = partial(
        CheckResult,
        check,
        what,
        unit="probability",
        n_rows=len(used),
        n_contexts=len(squares),
        n_dropped=len(asked) - len(used),
    )
    if few := few_contexts(len(squares), f"with {of}"):
        return result(reason=few)
    result = partial(result, assumptions=(f"{clusters.name}s are independent",))
    return mean_result(result, squares, clusters, "value", root=True)()


def _scatter(evaluation: EvaluationRows) -> CheckResult:
    rows, asked, of = evaluation.parsed, evaluation.reference_rows, "two parsed repetitions"
    what = f"root of the mean variance of repeated answers within contexts, {evaluation.reference}"
    if not evaluation.in_two_states:
        return _undefined(SCATTER, what, asked, "beliefs over several states")
    if all_computed(rows, evaluation.runs.beliefs):
        # One answer drawn from the distribution would have this variance.
        rows, of = rows[evaluation.runs.known("p_sd")[rows.index]], "an SD of computed answers"
        spread = rows["p_sd"] if len(rows) else rows["p"]
        squares = (spread**2).groupby(rows["context"], observed=True).mean()
        what = f"root of the mean variance of the computed distribution, {evaluation.reference}"
    else:
        squares = over_repetitions(evaluation.belief(rows), rows["context"])["variance"]
    return _of_squares(SCATTER, what, squares, rows, asked, of)


def _errors(evaluation: EvaluationRows, asked: pd.DataFrame, prompt: str) -> list[CheckResult]:
    """Estimate the error to the exact posterior of single and of expected answers to a prompt."""
    single, noiseless = f"{SINGLE}:{prompt}", f"{NOISELESS}:{prompt}"
    of_single = f"root-mean-square error of single answers, {prompt}"
    of_expected = f"root-mean-square error of expected answers, {prompt}"
    lack = ""
    if not evaluation.in_two_states:
        lack = f"beliefs over {len(evaluation.states)} states"
    elif not evaluation.runs.known("p_true")[asked.index].any():
        lack = "no exact posterior: p_true is missing or empty"
    elif (rows := asked.dropna(subset=[*(evaluation.states or ["p"]), "p_true"])).empty:
        lack = "no parsed answer"
    if lack:
        both = (single, of_single), (noiseless, of_expected)
        return [_undefined(check, what, asked, lack) for check, what in both]
    named: Any = {"context": rows["context"], "group": rows.get("group")}
    data = evaluation_data(evaluation.belief(rows), posterior=rows["p_true"], **named)
    result = calibration_of(data, by_state=False)
    n_dropped = len(asked) - len(rows)
    answers = over_repetitions(evaluation.belief(rows), rows["context"])
    truth = rows.groupby("context", observed=True)["p_true"].mean()
    # The mean of n answers misses the expected one by their variance over n.
    noise = (
        0.0 if all_computed(rows, evaluation.runs.beliefs) else answers["variance"] / answers["n"]
    )
    squares = (answers["mean"] - truth) ** 2 - noise
    return [
        replace(result, check=single, null=of_single, n_dropped=n_dropped, details=pd.DataFrame()),
        _of_squares(noiseless, of_expected, squares, rows, asked, "two parsed repetitions"),
    ]
