"""Columns that follow the verdict in the page's table of results, a line each.

What stands before (check, effect, interval, p-value, verdict) is laid out by hand, because the
terminal shows it too and on narrow screens it becomes a card.
"""

from collections.abc import Callable
from dataclasses import dataclass

from coherence.result import CheckResult
from coherence.table.printable import counted


@dataclass(frozen=True)
class ResultColumn:
    """A column of the table of results."""

    heading: str  # what stands above it
    cell: Callable[[CheckResult], str]  # text of one result; the page escapes it


def _sample(result: CheckResult) -> str:
    left_out = f", {result.n_dropped} left out" if result.n_dropped else ""
    return f"{counted(result.n_rows, 'row')}, {counted(result.n_contexts, 'context')}{left_out}"


COLUMNS = (ResultColumn("sample", _sample),)
"""In the order of the page."""
