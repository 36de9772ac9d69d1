"""What is found on the way from a file to a runs table: what was assumed, and all that is wrong.

A message speaks of the columns of the user's file, and shows cells as they are written there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import listing
from coherence.printable import capitalised
from coherence.runs.cells import Cells, numbers
from coherence.runs.columns import AS_IN_RUNS, Naming
from coherence.runs.design import case_column
from coherence.runs.notes import Code, Level, Note
from coherence.runs.runs import Runs


def rows_of(wrong: Any) -> str:
    """Name the first rows where something is wrong."""
    positions = np.flatnonzero(np.asarray(wrong))
    return f"row{'s' if positions.size > 1 else ''} {listing(positions)}"


def broken(
    title: str, rule: str, wrong: Any, cells: Cells, remedy: str, values: "Cells | None" = None
) -> Iterator[str]:
    """Say that some cells of a column break a rule; nothing where all keep it.

    `values` are what cells were read as, where the rule is about these.
    """
    wrong = np.asarray(wrong, dtype=bool)
    if not wrong.any():
        return
    first, read = cells[wrong].iloc[0], ""
    number = numbers(pd.Series([first], dtype=object)).values[0]
    shown = str(first).strip() if np.isfinite(number) else repr(first)  # as it is written
    if isinstance(first, int | float | np.number) and not isinstance(first, bool):
        shown = f"{first:.10g}"
    value = first if values is None else values[wrong].iloc[0]
    if isinstance(value, float) and not np.isclose(value, number, equal_nan=True):
        read = f", read as {value:.10g}"
    yield (
        f"column {title} must {rule}; {int(wrong.sum())} of {wrong.size} values do not, the first "
        f"is {shown}{read} ({rows_of(wrong)}). {remedy}"
    )


@dataclass
class Findings:
    """What is found on the way from a file to a runs table."""

    named: Naming = AS_IN_RUNS
    notes: list[Note] = field(default_factory=list)  # what was assumed
    of_options: list[str] = field(default_factory=list)  # errors that another word would mend
    of_table: list[str] = field(default_factory=list)  # errors of cells
    # columns that the user named and that are not there, or that could not be read
    absent: set[str] = field(default_factory=set)
    written: dict[str, Cells] = field(default_factory=dict)  # numbers as the file has them
    marked_actions: bool = False  # whether the user said which actions are missing
    n_labels: int = 0  # right labels, where predictions are compared with them

    def file_name(self, name: str) -> str:
        """Return what the file calls a column."""
        return self.named.columns.get(name, name)

    def note(self, code: Code, text: str, level: Level = Level.INFO) -> None:
        """Keep a remark."""
        self.notes.append(Note(code, text, level))

    def of_cases(self, runs: Runs) -> str:
        """Say which column has the cases, with the options for it, behind a blank; "" for none."""
        cases = case_column(runs.table, runs.unused_columns, self.named.columns)
        if cases is None:
            return ""
        return f" {capitalised(cases.sentence)}: {cases.options(runs.table, self.named.columns)}."

    def broken(self, name: str, rule: str, wrong: Any, cells: Cells, remedy: str) -> Iterator[str]:
        """Say that values of a column break a rule, its cells as they are written."""
        written = self.written.get(name, cells)
        return broken(self.named(name), rule, wrong, written, remedy, cells)
