"""One effect of several models: estimates on the cases that all of them show, pairs and ranks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.measured import Answers, Effect, Estimate, Unfit
from coherence.errors import listing
from coherence.inputs import MIN_CONTEXTS
from coherence.statistics.rank_intervals import compare_pairs, letters, rank_intervals
from coherence.statistics.resample import Units

FEWEST_SHARE = 0.5
"""Share of a task's cases that a model must show an effect in: else it would decide alone which few
cases are left for all others."""
MISSING_RANK = {"rank_low": None, "rank_high": None, "letters": ""}


@dataclass(frozen=True)
class Ranked:
    """One effect in one task."""

    # estimates, differences: rows of `Comparison.estimates` and `Comparison.differences`, without
    # the adjusted p-values.
    estimates: tuple[dict[str, Any], ...]
    differences: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()  # which cases were left out, or why nothing is compared


def _usable(answers: Mapping[str, Answers], effect: Effect, n_cases: int) -> tuple[Any, Any]:
    """Return the cases that show the effect, by model, and why a model is left out."""
    cases, without = {}, {}
    for model, given in answers.items():
        try:
            shown = set(effect.usable(given))
        except Unfit as reason:
            without[model] = str(reason)
            continue
        fewest = max(MIN_CONTEXTS, FEWEST_SHARE * n_cases)
        if len(shown) < fewest:
            without[model] = f"it can be had in {len(shown)} of {n_cases} cases only"
        else:
            cases[model] = shown
    return cases, without


def _left_out(reason: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("estimate", "low", "high"), float("nan"))
    return {**numbers, "n_contexts": 0, **MISSING_RANK, "reason": reason}


def rank_effect(
    task: str, answers: Mapping[str, Answers], effect: Effect, n_cases: int, entropy: int
) -> Ranked:
    """Compare models in one effect."""
    cases, without = _usable(answers, effect, n_cases)
    common = sorted(set.intersection(*cases.values())) if cases else []
    where = f"task {task!r}, {effect.name}: " if task else f"{effect.name}: "
    notes = []
    if len(cases) > 1 and len(common) < MIN_CONTEXTS:
        few = f"{len(common)} cases that all models show it in are fewer than {MIN_CONTEXTS}"
        without |= dict.fromkeys(cases, few)
        cases = {}
    elif len(cases) > 1 and len(common) < n_cases:
        lost = n_cases - len(common)
        notes.append(
            f"{where}{lost} of {n_cases} cases left out, which not every model shows it in."
        )
    # Groups are of the cases, and any model's table may name them.
    naming = [given for given in answers.values() if "group" in given.rows.columns]
    units = (naming or list(answers.values()))[0].units(pd.Index(common))
    if common and units.too_few:
        return Ranked((), (), (f"{where}not compared ({units.too_few}).",))
    found: dict[str, Estimate] = {}
    for model in cases:
        try:
            found[model] = effect.estimate(answers[model], common, entropy)
        except Unfit as reason:
            without[model] = str(reason)
    if len(found) < 2:
        return Ranked((), (), (f"{where}not compared ({_why(found, without)}).",))
    ranked = _ranked(found, units, entropy)
    rows = {**ranked[0], **{model: _left_out(reason) for model, reason in without.items()}}
    base = {"task": task, "effect": effect.name}
    estimates = [{**base, "model": model, **rows[model]} for model in answers]
    n = {"n_contexts": len(common), "scale": effect.scale}
    differences = [{**base, **row, **n} for row in ranked[1]]
    return Ranked(tuple(estimates), tuple(differences), tuple(notes))


def _why(found: Mapping[str, Estimate], without: Mapping[str, str]) -> str:
    """Say why fewer than two models have an effect, models of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for model, reason in without.items():
        by_reason.setdefault(reason, []).append(repr(model))
    alone = [f"only {model!r} has it" for model in found]
    if not alone and len(by_reason) == 1:
        return next(iter(by_reason))
    told = [f"{listing(models, 3)}: {reason}" for reason, models in by_reason.items()]
    return "; ".join([*alone, *told])


def _ranked(
    found: Mapping[str, Estimate], units: Units, entropy: int
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    models = list(found)
    values = np.column_stack([estimate.cases for estimate in found.values()])
    n_cases, values = len(values), units.values(values)
    pairs = compare_pairs(values, np.random.default_rng(entropy))
    apart = pairs.apart()
    low, high = rank_intervals(len(models), apart)
    shared = letters(
        [int(place) for place in np.argsort(values.mean(axis=0), kind="stable")], apart
    )
    estimates = {}
    for place, (model, estimate) in enumerate(found.items()):
        interval = estimate.interval
        estimates[model] = {
            "estimate": estimate.value,
            "low": float("nan") if interval is None else interval.low,
            "high": float("nan") if interval is None else interval.high,
            "n_contexts": n_cases,
            "rank_low": int(low[place]),
            "rank_high": int(high[place]),
            "letters": shared[place],
            "reason": estimate.reason,
        }
    differences = []
    for pair in range(len(pairs.first)):
        reason = ""
        if np.isnan(pairs.pvalue[pair]):
            reason = "no case differs"
        elif np.isnan(pairs.low[pair]):
            reason = "all cases differ alike"
        differences.append(
            {
                "model_a": models[pairs.first[pair]],
                "model_b": models[pairs.second[pair]],
                "difference": float(pairs.difference[pair]),
                "low": float(pairs.low[pair]),
                "high": float(pairs.high[pair]),
                "pvalue": float(pairs.pvalue[pair]),
                "pvalue_ranks": float(pairs.pvalue_ranks[pair]),
                "reason": reason,
            }
        )
    return estimates, differences
