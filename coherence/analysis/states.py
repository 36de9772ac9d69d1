"""Which state the beliefs of each task are in, as the labels or the user say it."""

from collections.abc import Sequence
from typing import Any

from coherence.checks.check import Check
from coherence.errors import InputError, closest, listing
from coherence.inputs import as_codes
from coherence.table.needs import TARGET, THETA
from coherence.table.runs import Runs
from coherence.table.states import known_pair, meant_by, unknown_pair


def positive_labels(positive: Any) -> list[Any]:
    """Return the labels that a user named, one or several or none, as a list."""
    wanted = list(positive) if isinstance(positive, list | tuple) else [positive]
    return [label for label in wanted if label is not None]


def states_of_tasks(
    runs: Runs, positive: Any, checks: Sequence[Check]
) -> dict[str, tuple[tuple[Any, ...], Any]]:
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
    states, errors, everywhere = {}, [], []
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
    errors += [
        f"positive must be a label of theta; received {word!r}. "
        f"{closest(word, dict.fromkeys(everywhere))}"
        for word in wanted
        if not meant_by(word, everywhere)
    ]
    if errors:
        raise InputError.all_at_once("", errors)
    return states
