"""Labels that are written differently and look like one: ``yes``, ``YES`` and ``"yes "``.

Taken as different they double contexts and split actions, and every p-value is off; taken as one
they may hide a distinction that was meant. So a table that has them is refused, with the line of
pandas for either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from coherence.printable import counted
from coherence.table.notes import Code, Note
from coherence.table.runs import EVALUATION
from coherence.table.schema import AS_IN_RUNS, COLUMNS, Naming, answer_columns
from coherence.table.states import folded, tidy

# Their values come from lists of their own.
_LISTED = ("belief_kind", "belief_context", "status")
LABELS = tuple(
    column.name for column in COLUMNS if column.kind == "label" and column.name not in _LISTED
)
# What makes labels alike, as pandas writes it.
_ONE_WAY = ".str.normalize('NFC').str.casefold().str.split().str.join(' ')"
_AS_TEXT = ".map(str, na_action='ignore').str.removesuffix('.0')"


@dataclass(frozen=True)
class Alike:
    """Labels of one column that differ only in how they are written."""

    column: str  # column of the runs table
    # the task whose labels they are; empty for the labels of tasks and models themselves, and in a
    # table without tasks
    task: str
    counts: tuple[tuple[Any, int], ...]  # the labels and their rows, the most frequent first

    def __str__(self) -> str:
        """Return the labels side by side, such that they can be told apart."""
        texts = [repr(label) for label, _ in self.counts]
        if len({tidy(text) for text in texts}) < len(texts):
            # Accents that are one character or two look the same.
            texts = [ascii(label) for label, _ in self.counts]
        numbers = [counted(count, "row") for _, count in self.counts]
        return ", ".join(f"{text} ({n})" for text, n in zip(texts, numbers, strict=True))


def labels_alike(runs: pd.DataFrame, columns: Sequence[str] = LABELS) -> list[Alike]:
    """Find labels that differ only in how they are written."""
    found: list[Alike] = []
    for name in columns:
        # Numbers of one type are written in one way.
        if name not in runs.columns or pd.api.types.is_numeric_dtype(runs[name]):
            continue
        labels = runs[name].astype(object)
        different = labels.dropna().unique()
        if len({folded(label) for label in different}) == len(different):
            continue
        by = pd.DataFrame({"task": _tasks(runs, name), "label": labels})
        counts = by.groupby(["task", "label"], sort=False).size().reset_index(name="rows")
        counts["form"] = counts["label"].map(folded)
        for (task, _), group in counts.groupby(["task", "form"]):
            if len(group) > 1:
                pairs = zip(group["label"], group["rows"].tolist(), strict=True)
                by_size = sorted(pairs, key=_rank)
                found.append(Alike(name, str(task), tuple(by_size)))
    return found


def _rank(counted: tuple[Any, int]) -> tuple[int, bool, str]:
    """Order labels by rows, then number before text, so that the order of rows does not matter."""
    label, rows = counted
    return -rows, isinstance(label, str), str(label)


def _tasks(runs: pd.DataFrame, column: str) -> pd.Series:
    """Return the task within which each label of a column is compared."""
    if column in EVALUATION or "task" not in runs.columns:
        return pd.Series("", index=runs.index, dtype=object)
    return runs["task"].astype(object).where(runs["task"].notna(), "").astype(str).astype(object)


def _shown(texts: Sequence[str]) -> str:
    return "; ".join(texts[:5]) + (f" and {len(texts) - 5} more" if len(texts) > 5 else "")


def label_errors(runs: pd.DataFrame, named: Naming = AS_IN_RUNS) -> list[str]:
    """Say which labels differ only in how they are written, one sentence for each column."""
    groups: dict[str, list[Alike]] = {}
    if "theta" in runs.columns and (answers := answer_columns(runs)):
        # The truths of questions that nobody answered by a probability may be numbers and dates.
        runs = runs.assign(theta=runs["theta"].where(runs[answers].notna().any(axis="columns")))
    for group in labels_alike(runs):
        groups.setdefault(group.column, []).append(group)
    return [
        f"column {named(column)} has labels that differ only by blanks, case, Unicode form or "
        f"type: {_shown(list(map(str, alike)))}. "
        f"{_remedy(named.columns.get(column, column), alike)}"
        for column, alike in groups.items()
    ]


def _remedy(column: str, alike: Sequence[Alike]) -> str:
    """Return the lines of pandas that write labels in one way, or tell them apart."""
    labels = [label for group in alike for label, _ in group.counts]
    typed = "" if all(isinstance(label, str) for label in labels) else _AS_TEXT
    cells = [f"table[{name.strip()!r}]" for name in column.split(",")]  # of several of a context
    lines = "; ".join(f"{each} = {each}{typed}{_ONE_WAY}" for each in cells)
    one = f"If they are one, write them in one way, in pandas: {lines}"
    if len(cells) > 1:
        return f"{one}."
    texts = [label for label, _ in alike[0].counts if isinstance(label, str)]
    apart = f"{cells[0]}.replace({{{texts[-1]!r}: {f'{tidy(texts[-1])} (2)'!r}}})"
    return f"{one}; if they are meant to differ, name one otherwise: {cells[0]} = {apart}."


def without_blank_labels(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Take labels of blanks alone for empty cells, as spreadsheets show them."""
    changed, notes = {}, []
    for column in COLUMNS:
        if column.kind != "label" or column.name not in runs.columns:
            continue
        cells = runs[column.name]
        if not (pd.api.types.is_object_dtype(cells) or pd.api.types.is_string_dtype(cells)):
            continue
        if isinstance(cells.dtype, pd.StringDtype):  # few texts stand in many cells
            blank = cells.isin([text for text in cells.dropna().unique() if not text.strip()])
        else:
            blank = cells.map(lambda cell: isinstance(cell, str) and not cell.strip()).astype(bool)
        if n_blank := int(blank.sum()):
            changed[column.name] = cells.mask(blank, None)
            hold = counted(n_blank, "cell holds", "cells hold")
            text = f"{column.name}: {hold} blanks alone and count as empty."
            notes.append(Note(Code.MISSING, text))
    return runs.assign(**changed), notes
