"""One effect of several models: estimates on the cases that all of them show, pairs and ranks.

Two models differ in a case by what it adds to one estimate less what it adds to the other, so that
differences are paired, and ranks allow for what models have in common
(`coherence.statistics.rank_intervals`). Effects of either sign are ranked by their distance from 0.
Of effects that are roots mean squares are compared, which order models alike and may fall below 0
by chance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.effects import Answers, Effect
from coherence.errors import listing
from coherence.inputs import MIN_CONTEXTS
from coherence.result import CheckResult
from coherence.statistics.rank_intervals import (
    compare_pairs,
    letters,
    rank_intervals,
    sizes_apart,
)
from coherence.statistics.resample import Clusters

NOT_RANKED = "hardly moves"
"""Reason of a model that has an estimate and no rank: its beliefs or choices hardly vary."""
FEWEST_SHARE = 0.5
"""Share of a task's cases that a model must show an effect in: else it would decide alone which few
cases are left for all others."""


@dataclass(frozen=True)
class Ranked:
    """One effect in one task."""

    # estimates, differences: rows of `Comparison.estimates` and `Comparison.differences`, without
    # the adjusted p-values.
    estimates: tuple[dict[str, Any], ...]
    differences: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()  # which cases were left out, or why nothing is compared


def rank_effect(
    task: str, answers: Mapping[str, Answers], effect: Effect, n_cases: int, entropy: int
) -> Ranked:
    """Compare models in one effect."""
    where = f"task {task!r}, {effect.name}: " if task else f"{effect.name}: "
    found: dict[str, CheckResult] = {}
    without: dict[str, str] = {}
    unranked: dict[str, CheckResult] = {}
    for model, given in answers.items():
        result = effect.of(given)
        n_shown = len(_cases(result))
        if result.contributions is None:
            without[model] = result.reason
        elif n_shown < max(MIN_CONTEXTS, FEWEST_SHARE * n_cases):
            without[model] = f"it can be had in {n_shown} of {n_cases} cases only"
        elif effect.has_no_rank(given):
            without[model], unranked[model] = NOT_RANKED, result
        else:
            found[model] = result
    common = sorted(set.intersection(*map(_cases, found.values()))) if found else []
    notes = []
    if len(found) > 1 and len(common) < MIN_CONTEXTS:
        few = f"{len(common)} cases that all models show it in are fewer than {MIN_CONTEXTS}"
        found, without = {}, without | dict.fromkeys(found, few)
    elif len(found) > 1 and len(common) < n_cases:
        lost = n_cases - len(common)
        notes.append(
            f"{where}{lost} of {n_cases} cases left out, which not every model shows it in."
        )
    # Groups are of the cases, and any model's table may name them.
    naming = [given for given in answers.values() if "group" in given.rows.names]
    clusters = (naming or list(answers.values()))[0].clusters(common)
    if common and clusters.too_few:
        return Ranked((), (), (f"{where}not compared ({clusters.too_few}).",))
    for model in [name for name, result in found.items() if len(_cases(result)) > len(common)]:
        found[model] = effect.of(answers[model].about(common))
        if _cases(found[model]) != set(common):
            without[model] = found.pop(model).reason
    if len(found) < 2:
        return Ranked((), (), (f"{where}not compared ({_why(found, without)}).",))
    shown = {str(result.settings.get("component", "")) for result in found.values()}
    if len(shown) > 1:
        said = listing(map(repr, sorted(shown)))
        notes.append(f"{where}models do not show the difference of one action: {said}.")
    rows, pairs = _ranked(found, common, clusters, entropy, signed=effect.signed)
    base = {"task": task, "effect": effect.name}
    estimates = [
        {
            **base,
            "model": model,
            **(rows.get(model) or _unranked(without[model], unranked.get(model))),
        }
        for model in answers
    ]
    return Ranked(tuple(estimates), tuple({**base, **pair} for pair in pairs), tuple(notes))


def _cases(result: CheckResult) -> set[str]:
    """Return the cases that add to an estimate."""
    return set() if result.contributions is None else set(result.contributions.index)


def _unranked(reason: str, result: CheckResult | None) -> dict[str, Any]:
    """Return the row of a model without a rank; with its estimate where it has one."""
    ranks = {"rank_low": None, "rank_high": None, "letters": "", "reason": reason}
    if result is None:
        numbers = dict.fromkeys(("estimate", "low", "high"), float("nan"))
        return {**numbers, "n_contexts": 0, **ranks}
    return {**_numbers(result), "n_contexts": result.n_contexts, **ranks}


def _numbers(result: CheckResult) -> dict[str, float]:
    """Return an estimate and the ends of its interval."""
    ends = result.interval
    low, high = (math.nan, math.nan) if ends is None else (ends.low, ends.high)
    return {"estimate": result.statistic, "low": low, "high": high}


def _why(found: Mapping[str, CheckResult], without: Mapping[str, str]) -> str:
    """Say why fewer than two models have an effect, models of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for model, reason in without.items():
        by_reason.setdefault(reason, []).append(repr(model))
    alone = [f"only {model!r} has it" for model in found]
    if not alone and len(by_reason) == 1:
        return next(iter(by_reason))
    said = [f"{listing(models, 3)}: {reason}" for reason, models in by_reason.items()]
    return "; ".join([*alone, *said])


def _ranked(
    found: Mapping[str, CheckResult],
    cases: list[str],
    clusters: Clusters,
    entropy: int,
    *,
    signed: bool,
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Return what is said of every model, and of every pair."""
    models, results = list(found), list(found.values())
    squared = results[0].mean_square is not None
    compared = [
        result.statistic if result.mean_square is None else result.mean_square for result in results
    ]
    # One value of each case, whose mean is the estimate.
    added = pd.concat([result.contributions for result in results], axis=1).loc[cases]
    values = np.array(compared) + len(cases) * added.to_numpy(dtype=np.float64)
    by_cluster = clusters.values(values)
    pairs = compare_pairs(by_cluster, np.random.default_rng(entropy))
    apart = pairs.apart()
    ranked = sizes_apart(by_cluster, np.random.default_rng(entropy)) if signed else apart
    low, high = rank_intervals(len(models), ranked)
    order = np.argsort(np.abs(compared) if signed else compared, kind="stable")
    shared = letters([int(at) for at in order], apart)
    rows = {}
    for at, (model, result) in enumerate(found.items()):
        rows[model] = {
            **_numbers(result),
            "n_contexts": len(cases),
            "rank_low": int(low[at]),
            "rank_high": int(high[at]),
            "letters": shared[at],
            "reason": "" if result.interval else result.reason,
        }
    differences = []
    for at in range(len(pairs.first)):
        reason = "all cases differ alike" if np.isnan(pairs.low[at]) else ""
        differences.append(
            {
                "model_a": models[pairs.first[at]],
                "model_b": models[pairs.second[at]],
                "difference": float(pairs.difference[at]),
                "low": float(pairs.low[at]),
                "high": float(pairs.high[at]),
                "pvalue": float(pairs.pvalue[at]),
                "pvalue_ranks": float(pairs.pvalue_ranks[at]),
                "n_contexts": len(cases),
                "scale": "mean square" if squared else "estimate",
                "reason": "no case differs" if np.isnan(pairs.pvalue[at]) else reason,
            }
        )
    return rows, differences
