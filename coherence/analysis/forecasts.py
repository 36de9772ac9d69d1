"""Differences in the scores of forecasts, case by case, on the cases that two models share."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from coherence.inputs import MIN_CONTEXTS, Floats
from coherence.report.evaluation import EvaluationReport
from coherence.report.scores import DIFFERENCES, KEY
from coherence.result import ForecastScores
from coherence.statistics.mean_interval import difference_interval, difference_pvalue
from coherence.statistics.multiplicity import holm
from coherence.statistics.resample import clusters_of


def score_differences(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Compare the scores of each two models or prompts of a task on their common cases.

    Forecasts over as many states are compared. A difference is that of the row less that of the
    other, the better of the two by the Brier score on all its cases. P-values are
    adjusted by Holm over all pairs of the report.
    """
    by_task: dict[str, list[tuple[tuple[str, str], ForecastScores]]] = {}
    for evaluation in evaluations:
        for result in evaluation.results:
            if isinstance(scores := result.fitted, ForecastScores):
                name = evaluation.model, str(result.settings.get("prompt", ""))
                by_task.setdefault(evaluation.task, []).append((name, scores))
    rows = []
    for task, scored in by_task.items():
        # Undefined scores come last, where a comparison of NaN would leave them anywhere.
        scored.sort(key=lambda each: (math.isnan(each[1].brier), each[1].brier, *each[0]))
        common = _numbers_of_common_cases([scores.losses.index for _, scores in scored])
        pairs = combinations(enumerate(scored), 2)
        for (at_other, (other, better)), (at, (name, worse)) in pairs:
            if worse.n_states != better.n_states:
                continue
            n = int(common[at, at_other])
            # Of thousands of forecasters most share no case: they must not cost a look-up each.
            away = _difference(worse.losses, better.losses) if n >= MIN_CONTEXTS else {}
            rows.append({"n_contexts": n, **away, **_names(task, name, other)})
    table = pd.DataFrame(rows, columns=list(DIFFERENCES))
    return table.assign(pvalue_holm=holm(table["pvalue"]) if len(table) else math.nan)


def _names(task: str, name: tuple[str, str], other: tuple[str, str]) -> dict[str, str]:
    return dict(zip((*KEY, "other_model", "other_prompt"), (task, *name, *other), strict=True))


def _numbers_of_common_cases(cases: Sequence["pd.Index[Any]"]) -> "NDArray[np.int64]":
    """Count the cases that each two lists of them share."""
    codes, labels = pd.factorize(np.concatenate([index.to_numpy(dtype=object) for index in cases]))
    rows = np.repeat(np.arange(len(cases)), [len(index) for index in cases])
    ones = np.ones(len(codes), dtype=np.int64)
    there = sparse.csr_array((ones, (rows, codes)), shape=(len(cases), len(labels)))
    counts: NDArray[np.int64] = (there @ there.T).toarray()
    return counts


def _difference(losses: pd.DataFrame, others: pd.DataFrame) -> dict[str, Any]:
    """Return the mean differences on common cases, with intervals."""
    common = losses.index[losses.index.isin(others.index)]
    clusters = clusters_of(losses.get("group"), common)
    with np.errstate(invalid="ignore"):  # infinite log scores of both
        away = losses.loc[common, ["brier", "log"]] - others.loc[common, ["brier", "log"]]
    brier, log = (away[name].to_numpy(dtype=np.float64) for name in ("brier", "log"))
    record: dict[str, Any] = {"brier_difference": float(brier.mean())}
    if np.isfinite(log).all():
        record["log_difference"] = float(log.mean())
    if clusters.too_few:
        return record
    record |= _ends(clusters.values(brier), "low", "high")
    record["pvalue"] = difference_pvalue(clusters.values(brier))
    return record | (
        _ends(clusters.values(log), "log_low", "log_high") if np.isfinite(log).all() else {}
    )


def _ends(values: Floats, low: str, high: str) -> dict[str, float]:
    interval = difference_interval(values)
    return {} if interval is None else {low: interval.low, high: interval.high}
