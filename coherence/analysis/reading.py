"""From a runs table to its units: the rows of every task and model, with states and prompts."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from coherence.analysis.unit import UnitRows
from coherence.checks.catalogue import declaration
from coherence.checks.check import Check
from coherence.errors import InputError, closest, listing
from coherence.inputs import as_codes
from coherence.table.frames import require_frame
from coherence.table.needs import ACTION, TARGET, THETA
from coherence.table.reading import Reading, read_file
from coherence.table.runs import COPIES, NO_CONTEXT, UNIT, Runs
from coherence.table.states import known_pair, meant_by, unknown_pair
from coherence.table.validation import valid

_REPEATED = (
    "every row has a context of its own, although rep counts repetitions: they were taken as "
    "independent. If rows repeat a context, p-values and intervals are too optimistic; name the "
    "column that tells contexts apart (--context NAME)."
)
States = Mapping[str, tuple[tuple[Any, ...], Any]]
"""Task -> its labels of theta, and the one that beliefs are in."""


def as_runs(
    runs: Runs | pd.DataFrame | str | os.PathLike[str], *, merge_labels: bool | None = None
) -> Runs:
    """Return a validated table, whatever a user has of it: itself, a DataFrame or a file."""
    if isinstance(runs, Runs):
        return runs if not merge_labels else valid(runs.frame(), merge_labels=True)
    if isinstance(runs, str | os.PathLike):
        return read_file(runs, Reading(merge_labels=merge_labels))
    require_frame(runs)
    return valid(runs, merge_labels=merge_labels)


def alerts_of(rows: pd.DataFrame, notes: Sequence[str]) -> tuple[str, ...]:
    """Return what must be known before a p-value of one (task, model) is read."""
    if NO_CONTEXT in notes:
        return (NO_CONTEXT,)
    # A column that numbers the rows is easily taken for the one that names the cases.
    numbered = len(rows) > 1 and rows["context"].is_unique and rows["rep"].nunique() > 1
    return (_REPEATED,) if numbered else tuple(note for note in notes if note == COPIES)


def positive_labels(positive: Any) -> list[Any]:
    """Return the labels that a user named, one or several or none, as a list."""
    wanted = list(positive) if isinstance(positive, list | tuple) else [positive]
    return [label for label in wanted if label is not None]


def states_of_tasks(runs: Runs, positive: Any, checks: Sequence[Check]) -> States:
    """Find the labels of theta in each task, and the one that its beliefs are in."""
    columns = runs.states
    wanted = positive_labels(positive)
    if wanted and len(columns) > 2:
        raise InputError(
            f"positive names the state of a belief in one; received {listing(wanted)}, and there "
            f"are beliefs in {len(columns)} states. Leave it out."
        )
    # In columns of their own the states have names; else theta alone has.
    must_know = not columns and any(
        check.states_named and {THETA, TARGET} & set(check.needs) for check in checks
    )
    tests_choices = not columns and any(
        ACTION in check.needs and {THETA, TARGET} & set(check.needs) for check in checks
    )
    states: dict[str, tuple[tuple[Any, ...], Any]] = {}
    errors, everywhere = [], []
    for task, rows in runs.table.groupby("task", sort=True):
        labels = as_codes(runs.part(rows).theta, "theta")[1]
        named = runs.state_names or list(labels)
        everywhere += named
        meant = [label for word in wanted for label in meant_by(word, named)]
        states[str(task)] = labels, meant[0] if meant else None
        where = f"task {task!r}: " if task else ""
        if len(meant) > 1:
            errors.append(
                f"{where}positive must name one state of a task; received "
                f"{listing(map(repr, meant))}. Name one of them."
            )
        elif must_know and not meant and len(labels) == 2 and known_pair(labels) is None:
            errors.append(where + unknown_pair(labels, "theta"))
        elif tests_choices and not meant and len(labels) > 2:
            # Of equal p, evidence for one of the other states may rightly move choices.
            errors.append(
                f"{where}theta has {len(labels)} states ({listing(map(repr, labels), 4)}), of "
                "which p is the probability of one. Name it, to test it against all others "
                "(--positive LABEL), or give a column p_<state> for every state."
            )
    errors += [
        f"positive must be a label of theta; received {word!r}. "
        f"{closest(word, dict.fromkeys(everywhere))}"
        for word in wanted
        if not meant_by(word, everywhere)
    ]
    if errors:
        raise InputError.all_at_once("", errors)
    return states


def units_of(
    runs: Runs, states: States, reference: str | None, state: str = "auto"
) -> list[tuple[tuple[str, str], UnitRows]]:
    """Part a completed table by task and model, each with its states and its reference prompt."""
    units = []
    for key, rows in runs.units():
        labels, named = states[key[0]]
        named_by = zip(UNIT, key, strict=True)
        where = " and ".join(f"{what} {name!r}" for what, name in named_by if name)
        prompt = rows.reference(reference, where=where or "the table")
        options: dict[str, Any] = {"positive": named, "labels": labels, "reference": prompt}
        units.append((key, UnitRows(rows, **options, state=state)))
    return units


def read_units(
    runs: Runs,
    checks: Sequence[str],
    *,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
) -> tuple[list[tuple[tuple[str, str], UnitRows]], tuple[str, ...]]:
    """Part a validated table by task and model, and say what was assumed."""
    table = runs.completed()
    if strict:
        table = table.without_repairs()
    states = states_of_tasks(table, positive, [declaration(name) for name in checks])
    return units_of(table, states, reference, state), table.notes
