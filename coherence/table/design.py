"""Which column names the cases: its values have one truth each, as chance would hardly give.

A column that nothing reads may be the one that a design hangs on. It is looked for wherever a
message proposes columns for cases, persons or groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.table.states import typed_option

_FEWEST = 6  # values, below which a column is rather an arm or a topic
_BY_CHANCE = 1e-3  # probability of one truth in every value, if rows were independent


@dataclass(frozen=True)
class CaseColumn:
    """A column that nothing reads, whose values have one truth each."""

    name: str
    n_values: int

    def options(self, table: pd.DataFrame, who: str, named: str) -> str:
        """Return the options for it, and for the column `who`, which the user calls `named`.

        Who saw a case that others saw too is a person; with cases of their own they are groups.
        """
        cases = table.groupby(table[self.name].astype(str), observed=True)[who].nunique()
        role = "--person" if cases.max() > 1 else "--group"
        return f"{typed_option('--context', self.name)} {typed_option(role, named)}"

    @property
    def sentence(self) -> str:
        """Say what is known of it."""
        return f"each of the {self.n_values} values of {self.name!r} has one truth"

    @property
    def remedy(self) -> str:
        """Return what to name where nobody else is named."""
        return f"{self.sentence}: {typed_option('--context', self.name)} takes it for the case"


def case_column(table: pd.DataFrame, unused: Sequence[str]) -> CaseColumn | None:
    """Return the unused column that names the cases, that of the fewest values; None without."""
    truth = next((table[name] for name in ("theta", "p_true") if name in table.columns), None)
    if truth is None:
        return None
    shares = truth.value_counts(normalize=True)
    if len(shares) < 2:
        return None
    found: list[CaseColumn] = []
    for name in unused:
        cells = table[name]
        numbers = pd.to_numeric(cells, errors="coerce")
        if cells.isna().any() or (numbers.notna().all() and (numbers % 1 != 0).any()):
            continue  # a measurement, or no id of every row
        by = truth.groupby(cells.astype(str), observed=True)
        sizes, kinds = by.count(), by.nunique()
        if len(sizes) < _FEWEST or len(sizes) == len(cells) or kinds.max() != 1:
            continue
        log_chance = sum(np.log((shares**size).sum()) for size in sizes[sizes > 1])
        if log_chance < np.log(_BY_CHANCE):
            found.append(CaseColumn(str(name), len(sizes)))
    return min(found, key=lambda column: column.n_values, default=None)
