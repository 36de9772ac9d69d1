"""From a runs table to the rows of every task and model: absent columns, states, prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.states import states_of_tasks
from coherence.analysis.unit import UnitRows
from coherence.checks.catalogue import declaration
from coherence.errors import listing
from coherence.table.column_names import unknown_columns
from coherence.table.faults import validate_runs
from coherence.table.frames import require_frame
from coherence.table.incoming import without_blank_labels
from coherence.table.labels import labels_alike, merge_alike
from coherence.table.prompts import REFERENCE, reference_prompt
from coherence.table.reading_notes import reading_notes
from coherence.table.rounding_errors import within_bounds
from coherence.table.schema import (
    ACTION_PREFIX,
    REPAIRS,
    action_columns,
    policy_rows,
    state_columns,
)

UNIT = ("task", "model")
NO_CONTEXT = (
    "no context column: every row was taken as its own context. If rows repeat a context, "
    "p-values and intervals are too optimistic; name the column (--context NAME)."
)
_REPEATED = (
    "every row has a context of its own, although rep counts repetitions: they were taken as "
    "independent. If rows repeat a context, p-values and intervals are too optimistic; name the "
    "column that tells contexts apart (--context NAME)."
)


def _one_writing(runs: pd.DataFrame, merge_labels: bool | None) -> tuple[pd.DataFrame, list[str]]:
    """Merge labels that differ only in how they are written, or say that they are kept apart."""
    if merge_labels:
        return merge_alike(runs)
    apart = [] if merge_labels is None else labels_alike(runs)
    return runs, [f"labels of {group.column!r} were kept apart: {group}." for group in apart[:5]]


def complete_columns(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Fill the columns that may be absent, and say what was assumed."""
    table, assumed = runs.reset_index(drop=True), []
    unread = unknown_columns(runs)
    if unread:
        assumed.append(f"columns that nothing reads: {listing(unread, 12)}.")
    # Notes on actions: in a unit without any, they would be taken for probabilities.
    notes = [name for name in table if str(name).startswith(ACTION_PREFIX)]
    if action_columns(table):
        of_policies = policy_rows(table)
        table = table.assign(**{str(name): table[name].where(of_policies) for name in notes})
    else:
        table = table.drop(columns=notes)
    table, rounded = within_bounds(table)
    assumed += rounded
    for name in ("task", "model"):
        if name not in table.columns:
            table = table.assign(**{name: ""})
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    if "z_state" not in table.columns:
        table = table.assign(z_state=None)
    if "prompt" not in table.columns:
        table = table.assign(prompt=REFERENCE)
    # A belief given z whose prompt is not named belongs to the reference prompt of its unit, which
    # need not be the usual one.
    unnamed = table["prompt"].isna()
    table["prompt"] = (
        table["prompt"]
        .astype(str)
        .astype(object)
        .mask(unnamed, REFERENCE)
        .mask(unnamed & table["z_state"].notna(), None)
    )
    if "context" not in table.columns:
        table = table.assign(context=np.arange(len(table)))
        assumed.append(NO_CONTEXT)
    if "rep" not in table.columns:
        asked = ["task", "model", "context", "prompt", "z_state"]
        # Two auxiliary variables may share the names of their states.
        variable = [table["z"].where(table["z_state"].notna())] if "z" in table.columns else []
        table = table.assign(
            rep=table.groupby([*asked, *variable], dropna=False, observed=True).cumcount()
        )
    return table, assumed


def alerts_of(rows: pd.DataFrame, notes: Sequence[str]) -> tuple[str, ...]:
    """Return what must be known before a p-value of one (task, model) is read."""
    if NO_CONTEXT in notes:
        return (NO_CONTEXT,)
    # A column that numbers the rows is easily taken for the one that names the cases.
    numbered = len(rows) > 1 and rows["context"].is_unique and rows["rep"].nunique() > 1
    return (_REPEATED,) if numbered else ()


def _without_repairs(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Empty what was read of repaired answers; the rows stay and are counted."""
    if "status" not in table.columns:
        return table, 0
    repaired = table["status"].isin(REPAIRS)
    names = ("p", *state_columns(table), "action", *action_columns(table), "p_z")
    read = [name for name in names if name in table.columns]
    return table.assign(**{name: table[name].mask(repaired) for name in read}), int(repaired.sum())


def part_by_unit(
    table: pd.DataFrame, states: Mapping[str, tuple[Sequence[Any], Any]], reference: str | None
) -> list[tuple[tuple[Any, ...], UnitRows]]:
    """Part a table by task and model, each with its states and its reference prompt."""
    units = []
    for key, rows in table.groupby(list(UNIT), sort=True):
        labels, named = states[str(key[0])]
        named_by = zip(UNIT, key, strict=True)
        where = " and ".join(f"{what} {name!r}" for what, name in named_by if name)
        prompt = reference_prompt(rows, reference, where=where or "the table")
        units.append((key, UnitRows(rows, positive=named, labels=labels, reference=prompt)))
    return units


def validated(
    runs: pd.DataFrame, *, strict: bool = False, merge_labels: bool | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Validate a table and fill what may be absent."""
    require_frame(runs)
    read = reading_notes(runs)
    runs, written = _one_writing(runs, merge_labels)
    validate_runs(runs, labels_apart=merge_labels is False)
    runs, of_blanks = without_blank_labels(runs)
    table, assumed = complete_columns(runs)
    assumed = [*read, *written, *of_blanks, *assumed]
    if strict:
        table, repaired = _without_repairs(table)
        assumed.append(f"strict: {repaired} repaired rows were treated as unreadable.")
    return table, assumed


def read_units(
    runs: pd.DataFrame,
    checks: Sequence[str],
    *,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    merge_labels: bool | None = None,
) -> tuple[list[tuple[tuple[Any, ...], UnitRows]], list[str]]:
    """Validate a table and part it by task and model."""
    table, assumed = validated(runs, strict=strict, merge_labels=merge_labels)
    states = states_of_tasks(table, positive, [declaration(name) for name in checks])
    return part_by_unit(table, states, reference), assumed
