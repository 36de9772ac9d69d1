"""The wording that all faces of a comparison share: columns, ranks, differences, the legend."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from coherence.report.wording import clean, format_numbers, format_pvalue
from coherence.table.printable import span

ESTIMATES = {
    "task": "task",
    "effect": "what is compared",
    "model": "model",
    "estimate": "estimate; NaN where there is none",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "n_contexts": "cases behind it, the same for all models of the effect",
    "rank_low": "lowest rank it may have, 1 for the smallest value",
    "rank_high": "highest rank; all ranks of an effect hold together in 95%",
    "letters": "models that share a letter cannot be told apart",
    "reason": "why there is no estimate, or no interval",
}
"""Column of `Comparison.estimates` -> what it holds."""
DIFFERENCES = {
    "task": "task",
    "effect": "what is compared",
    "model_a": "first model",
    "model_b": "second model",
    "difference": "first less second, on the scale of the column `scale`",
    "low": "low end of its own 95% interval",
    "high": "high end",
    "pvalue": "of no difference, alone",
    "pvalue_ranks": "adjusted for all pairs of the effect, by which ranks are told apart",
    "n_contexts": "cases",
    "scale": "estimate, or mean square where the estimate is the root of one",
    "reason": "why there is no p-value or no interval",
    "pvalue_bh": "adjusted over all pairs, effects and tasks, by Benjamini and Hochberg",
    "pvalue_holm": "the same by Holm",
}
"""Column of `Comparison.differences` -> what it holds."""
LEGEND = (
    "ranks from the smallest value; models that share a letter cannot be told apart; the ranks of "
    "an effect hold together in 95%"
)


def rank_text(row: Mapping[Any, Any]) -> str:
    """Write a rank interval."""
    return span(row["rank_low"], row["rank_high"])


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the models that have an estimate, the smallest first."""
    known = rows[rows["rank_low"].notna()]
    return known.sort_values(["estimate", "rank_low", "model"], kind="stable")


def difference_cells(row: Mapping[Any, Any]) -> list[str]:
    """Write a row of the differences for a page: difference, interval, p-values."""
    numbers = format_numbers([row["difference"], row["low"], row["high"]])
    known = not pd.isna(row["low"])
    names = ("pvalue", "pvalue_ranks", "pvalue_bh")
    return [
        numbers[0],
        f"[{numbers[1]}, {numbers[2]}]" if known else clean(row["reason"]),
        *(format_pvalue(row[name]) for name in names),
    ]
