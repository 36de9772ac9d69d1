"""Which column names the cases: its values have one truth each, as chance would hardly give.

A column that another role has, or none, may be the one that a design hangs on. It is looked for
wherever a message proposes columns for cases, persons or groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.runs.states import typed_option

_FEWEST = 6  # values, below which a column is rather an arm or a topic
_BY_CHANCE = 1e-3  # probability of one truth in every value, if rows were independent
_ROLES = ("rep", "prompt", "person", "group")  # that the column of cases may have by mistake


@dataclass(frozen=True)
class CaseColumn:
    """The columns whose values, together, have one truth each."""

    columns: tuple[str, ...]  # of the table
    names: tuple[str, ...]  # as the user calls them
    n_values: int

    @property
    def sentence(self) -> str:
        """Say what is known of it."""
        return f"each of the {self.n_values} values of {','.join(self.names)!r} has one truth"

    @property
    def remedy(self) -> str:
        """Return what to name where nobody else is named."""
        typed = typed_option("--context", ",".join(self.names))
        return f"{self.sentence}: {typed} takes it for the case"

    def options(self, table: pd.DataFrame, named: Mapping[str, str]) -> str:
        """Return the options for cases and for who or what is named as context, person or rep.

        Whoever saw a case that others saw too is a person; with cases of their own they are groups.
        Whole numbers that begin at 0 or 1 in every case count repetitions, or are persons.
        """
        case = table[list(self.columns)].astype(str).agg("\n".join, axis=1)
        typed, also = [typed_option("--context", ",".join(self.names))], ""
        for role in ("person", "context", "rep"):
            if role not in table.columns or role in self.columns:
                continue
            name = named.get(role, role)
            per_case = table.groupby(case, observed=True)[role].nunique()
            if per_case.max() == 1:
                typed.append(typed_option("--group", name) if role != "rep" else "")
            elif role != "person" and _counts(table[role]):
                typed.append(typed_option("--rep", name))
                if "person" not in table.columns:
                    also = f"; if {name!r} is who judged: {typed_option('--person', name)} for that"
            else:
                typed.append(typed_option("--person", name))
                for part, title in zip(self.columns, self.names, strict=True):
                    if role == "person" and part != "context" and len(self.columns) > 1:
                        both = typed_option("--person", f"{title},{name}")
                        also = f"; if {title!r} numbers persons anew: {both} for that"
        return " ".join(dict.fromkeys(filter(None, typed))) + also


def _counts(cells: pd.Series) -> bool:
    """Tell whether cells are whole numbers from 0 or 1 on, as those of repetitions."""
    numbers = pd.to_numeric(cells, errors="coerce")
    seen = np.unique(numbers.dropna())
    return bool(
        numbers.notna().all() and seen[0] in (0, 1) and seen[-1] - seen[0] + 1 == len(seen) < 100
    )


def case_column(
    table: pd.DataFrame, unused: Sequence[str], named: Mapping[str, str] | None = None
) -> CaseColumn | None:
    """Return the column that names the cases, or two of which one is the context; None without.

    Of several that of the fewest values. `named` says what a user calls the columns of a role.
    """
    truth = next((table[name] for name in ("theta", "p_true") if name in table.columns), None)
    if truth is None:
        return None
    shares = truth.value_counts(normalize=True)
    if len(shares) < 2:
        return None
    others = [*unused, *(role for role in _ROLES if role in table.columns)]
    found = [each for name in others if (each := _cases(table, truth, shares, (name,), named))]
    if not found and "context" in table.columns:  # numbered anew within another column
        pairs = [(name, "context") for name in others]
        found = [each for pair in pairs if (each := _cases(table, truth, shares, pair, named))]
    return min(found, key=lambda column: column.n_values, default=None)


def _cases(
    table: pd.DataFrame,
    truth: pd.Series,
    shares: pd.Series,
    columns: tuple[str, ...],
    named: Mapping[str, str] | None,
) -> CaseColumn | None:
    """Return columns if their values have one truth each, and chance would not give that."""
    cells = table[list(columns)]
    if cells.isna().any(axis=None):
        return None
    for name in columns:
        numbers = pd.to_numeric(cells[name], errors="coerce")
        if numbers.notna().all() and (numbers % 1 != 0).any():
            return None  # a measurement
    by = truth.groupby(cells.astype(str).agg("\n".join, axis=1), observed=True)
    sizes, kinds = by.count(), by.nunique()
    if len(sizes) < _FEWEST or len(sizes) == len(cells) or kinds.max() != 1:
        return None
    if sum(np.log((shares**size).sum()) for size in sizes[sizes > 1]) >= np.log(_BY_CHANCE):
        return None
    return CaseColumn(columns, tuple((named or {}).get(name, name) for name in columns), len(sizes))
