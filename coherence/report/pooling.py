"""Evaluations together: how many reject, which tests they share, and means of a model over tasks.

Over several tasks, a model's effects have a random-effects mean. Only effects that may have either
sign and have a standard error are pooled: differences in choice at equal belief, and signed gaps of
iterated expectation. Sizes, which lie at zero or above, would not average to zero where there is
nothing.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
from scipy.stats import norm

from coherence.checks.catalogue import interpretation_of
from coherence.report.evaluation import EvaluationReport
from coherence.report.wording import clean, format_numbers, format_pvalue
from coherence.result import LEVEL, CheckResult, Family, Outcome
from coherence.runs.columns import Column
from coherence.statistics.random_effects import random_effects

FEW = 3
"""Units up to which a report shows everything at once."""


def evaluation_key(number: int) -> str:
    """Return the name of an evaluation in ids and files: its number, which no model can choose."""
    return f"evaluation-{number}"


def is_test(result: CheckResult) -> bool:
    """Tell whether a result has a p-value."""
    return result.pvalue is not None and not math.isnan(result.pvalue)


def shared_tests(evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return the tests that several evaluations have, the primary first, then the most frequent."""
    found = [
        result
        for evaluation in evaluations
        for result in evaluation.results
        if is_test(result) and math.isfinite(result.statistic)
    ]
    counts = Counter(result.check for result in found)
    first = {result.check for result in found if result.family is Family.PRIMARY}
    # A counter keeps the order in which names came, and sorting keeps it among equals.
    return sorted(
        (name for name, n in counts.items() if n >= min(len(evaluations), 2)),
        key=lambda name: (name not in first, -counts[name]),
    )


def primary_tests(evaluations: Sequence[EvaluationReport]) -> list[CheckResult]:
    """Return the primary tests that have a p-value."""
    return [each.primary for each in evaluations if each.primary and is_test(each.primary)]


def counted_rejections(evaluations: Sequence[EvaluationReport]) -> str:
    """Say in how many evaluations the primary test rejects, and how many false alarms to expect."""
    tested = primary_tests(evaluations)
    if not tested:
        return "The primary test could not be run."
    rejected = sum(result.outcome() is Outcome.REJECTED for result in tested)
    n = len(tested)
    if n == 1:
        return f"The primary test {'rejects' if rejected else 'does not reject'}."
    found = sum(result.pvalue_bh is not None and result.pvalue_bh <= LEVEL for result in tested)
    return (
        f"The primary test rejects in {rejected or 'none'} of {n} evaluations at {LEVEL}. If all "
        f"were coherent, {LEVEL * n:.2g} would be rejected by chance on average"
        + (
            f"; at a false discovery rate of {LEVEL:.0%} over all of them {found or 'none'} "
            f"{'remains' if found <= 1 else 'remain'}."
            if rejected
            else "."
        )
    )


# Over tasks

LEAST_TASKS = 3
POOLED = (
    Column("model", "text", "Name of the model."),
    Column("check", "text", "Name of the check."),
    Column("component", "text", "The difference that the effect is; empty where there is one."),
    Column("unit", "text", "Unit of mean, low, high and sd."),
    Column("n", "integer", "Tasks."),
    Column("mean", "number", "Random-effects mean."),
    Column("low", "number", "Lower end of its 95% interval (Hartung and Knapp)."),
    Column("high", "number", "Upper end."),
    Column("pvalue", "probability", "Of no effect on average."),
    Column("sd", "positive", "Of the true effects between tasks (Paule and Mandel)."),
    Column("pvalue_equal", "probability", "Of one effect in all tasks (Cochran's Q)."),
)
_SHIFT = "hidden shift of belief"


def pooled(evaluations: Sequence[EvaluationReport]) -> pd.DataFrame:
    """Pool the effects of every model that was asked three tasks or more."""
    rows = [
        {
            "model": evaluation.model,
            "task": evaluation.task,
            "check": check,
            "component": component,
            **effect,
        }
        for evaluation in evaluations
        for result in evaluation.results
        for check, component, effect in _effects(result)
    ]
    found = []
    if rows:
        keys = ["model", "check", "component", "unit"]
        for key, group in pd.DataFrame(rows).groupby(keys, sort=False):
            if len(group) >= LEAST_TASKS:
                columns = ("estimate", "standard_error", "n_contexts", "allowed")
                over = random_effects(*(group[name] for name in columns))
                mean = dict(zip(keys, key, strict=True)) | asdict(over)
                if mean["unit"] == "probability":  # of a difference
                    mean |= {"low": max(mean["low"], -1.0), "high": min(mean["high"], 1.0)}
                found.append(mean)
    return pd.DataFrame(found, columns=[column.name for column in POOLED])


def pooled_sentences(evaluations: Sequence[EvaluationReport]) -> list[tuple[str, list[str]]]:
    """Return the heading of every model, and a sentence for each of its effects over tasks."""
    said: dict[str, list[str]] = {}
    for row in pooled(evaluations).to_dict("records"):
        said.setdefault(f"{clean(row['model'])} over its tasks", []).append(_sentence(row))
    return list(said.items())


def _sentence(row: Mapping[Hashable, Any]) -> str:
    mean, low, high, sd = format_numbers([row[name] for name in ("mean", "low", "high", "sd")])
    name = ", ".join(filter(None, [interpretation_of(row["check"]).words, row["component"]]))
    pvalue, equal = (
        f"p {text}" if text.startswith("<") else f"p = {text}"
        for text in (format_pvalue(row[name]) for name in ("pvalue", "pvalue_equal"))
    )
    differ = "differ" if row["pvalue_equal"] <= LEVEL else "differ no more than their errors do"
    return (
        f"{clean(name)}: mean {mean} {clean(row['unit'])} [{low}, {high}] over {row['n']} tasks "
        f"({pvalue}); the effects of the tasks {differ} (SD {sd}, "
        f"{equal})."
    )


def _effects(result: CheckResult) -> Iterator[tuple[str, str, dict[str, float | str]]]:
    """Yield what may be pooled of a result, with its standard error."""
    if result.interval is None or not interpretation_of(result.check).pooled:
        return
    about: dict[str, float | str] = {
        "unit": result.unit,
        "n_contexts": result.n_contexts,
        "allowed": 0.0,
    }
    columns = ["estimate", "standard_error", "allowed"]
    if {"component", "standard_error"} <= {*result.details}:
        # Every action, not the one that moves most in this task: that would be chosen by its size.
        actions = result.details[result.details["component"] != _SHIFT].set_index("component")
        for name, row in actions.reindex(columns=columns, fill_value=0.0).iterrows():
            if row["standard_error"] > 0:
                yield result.check, str(name), about | {key: row[key] for key in columns}
    else:
        width = result.interval.high - result.interval.low
        error = width / 2 / float(norm.ppf((1 + result.interval.level) / 2))
        if error > 0:
            yield (
                result.check,
                "",
                {"estimate": result.statistic, "standard_error": error, **about},
            )
