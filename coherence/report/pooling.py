"""What a model's effects say over several tasks: a random-effects mean of each.

Only effects that may have either sign and have a standard error are pooled: differences in choice
at equal belief, and signed gaps of iterated expectation. Sizes, which lie at zero or above, would
not average to zero where there is nothing.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
from scipy.stats import norm

from coherence.report.unit import Unit
from coherence.report.wording import clean, format_pvalue
from coherence.result import LEVEL, CheckResult
from coherence.statistics.random_effects import random_effects
from coherence.table.printable import format_numbers

LEAST_TASKS = 3
COLUMNS = (
    *("model", "check", "component", "unit", "n", "mean", "low", "high", "pvalue", "sd"),
    "pvalue_equal",
)
_SHIFT = "hidden shift of belief"


def pooled(units: Sequence[Unit]) -> pd.DataFrame:
    """Pool the effects of every model that was asked three tasks or more."""
    rows = [
        {"model": unit.model, "task": unit.task, "check": check, "component": component, **effect}
        for unit in units
        for result in unit.results
        for check, component, effect in _effects(result)
    ]
    found = []
    if rows:
        keys = ["model", "check", "component", "unit"]
        for key, group in pd.DataFrame(rows).groupby(keys, sort=False):
            if len(group) >= LEAST_TASKS:
                over = random_effects(
                    group["estimate"], group["standard_error"], group["n_contexts"]
                )
                found.append(dict(zip(keys, key, strict=True)) | asdict(over))
    return pd.DataFrame(found, columns=list(COLUMNS))


def pooled_sentences(units: Sequence[Unit]) -> list[tuple[str, list[str]]]:
    """Return the heading of every model, and a sentence for each of its effects over tasks."""
    said: dict[str, list[str]] = {}
    for row in pooled(units).to_dict("records"):
        said.setdefault(f"{clean(row['model'])} over its tasks", []).append(_sentence(row))
    return list(said.items())


def _sentence(row: Mapping[Hashable, Any]) -> str:
    mean, low, high, sd = format_numbers([row[name] for name in ("mean", "low", "high", "sd")])
    name = f"{row['check']}, {row['component']}" if row["component"] else row["check"]
    differ = "differ" if row["pvalue_equal"] <= LEVEL else "differ no more than their errors do"
    return (
        f"{clean(name)}: mean {mean} {clean(row['unit'])} [{low}, {high}] over {row['n']} tasks "
        f"({_p(row['pvalue'])}); the effects of the tasks {differ} (SD {sd}, "
        f"{_p(row['pvalue_equal'])})."
    )


def _p(pvalue: float) -> str:
    text = format_pvalue(pvalue)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _effects(result: CheckResult) -> Iterator[tuple[str, str, dict[str, float | str]]]:
    """Yield what may be pooled of a result, with its standard error."""
    if result.interval is None:
        return
    about: dict[str, float | str] = {"unit": result.unit, "n_contexts": result.n_contexts}
    if result.check == "residual_covariance":
        # Every action, not the one that moves most in this task: that would be chosen by its size.
        columns = ("component", "estimate", "standard_error")
        for name, estimate, error in zip(*(result.details[each] for each in columns), strict=True):
            if name != _SHIFT and error > 0:
                yield (
                    *(result.check, str(name)),
                    {"estimate": estimate, "standard_error": error, **about},
                )
    if result.check == "iterated_expectation":
        width = result.interval.high - result.interval.low
        error = width / 2 / float(norm.ppf((1 + result.interval.level) / 2))
        if error > 0:
            yield (
                result.check,
                "",
                {"estimate": result.statistic, "standard_error": error, **about},
            )
