"""Validation of a runs table: every error at once, with row numbers and remedies."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.table.frames import require_frame
from coherence.table.labels import label_faults, labels_alike, merge_alike, without_blank_labels
from coherence.table.naming import AS_IN_RUNS, Naming
from coherence.table.needs import EVIDENCE
from coherence.table.printable import counted
from coherence.table.probabilities import Tally
from coherence.table.runs import UNIT, Runs
from coherence.table.schema import (
    ACTION_PREFIX,
    ACTION_SUM_TOLERANCE,
    BELIEF_KINDS,
    COLUMN_NAMES,
    COLUMNS,
    FAILURES,
    FEATURE_PREFIX,
    KEY,
    PROBABILITIES,
    PROBABILITY_TOLERANCE,
    READABLE,
    REPAIRS,
    STATE_SUM_TOLERANCE,
    STATUSES,
)
from coherence.table.typos import column_faults, nearly_called

_TEXTS = tuple(column.name for column in COLUMNS if column.kind == "text")
_SORTED = (*UNIT, "context", "prompt", "z", "z_state")


def shape_faults(table: pd.DataFrame, named: Naming = AS_IN_RUNS) -> list[str]:
    """List what keeps a frame from being a table of plain cells under plain names."""
    if table.columns.nlevels > 1:
        return [
            f"columns must have one level of names; these have {table.columns.nlevels}. "
            "Join them, for example runs.columns = runs.columns.map('_'.join)."
        ]
    doubled = sorted(set(map(str, table.columns[table.columns.duplicated()])))
    if doubled:
        return [f"column names must be unique; {', '.join(doubled)} occur more than once."]
    indexed = [name for name in table.index.names if name is not None and name in table.columns]
    if indexed:
        return [
            f"the index and a column are both named {indexed[0]!r}, and may say different things. "
            "Drop the index: runs.reset_index(drop=True)."
        ]
    faults = []
    for name in table.columns:
        prefixed = str(name).startswith((FEATURE_PREFIX, ACTION_PREFIX, "p_"))
        # A raw answer may hold anything that a model said.
        if prefixed or (name in COLUMN_NAMES and name not in _TEXTS):
            faults += _cell_faults(table[name], named)
    return faults


def _cell_faults(column: "pd.Series[Any]", named: Naming) -> list[str]:
    """Return an error where cells hold lists and the like, or labels without an order."""
    title = named(str(column.name))
    if column.dtype != object and column.dtype.kind != "c":
        return []
    single = column.map(
        lambda cell: pd.api.types.is_scalar(cell) and not isinstance(cell, bytes | complex)
    ).to_numpy(dtype=bool)
    if not single.all():
        first = type(column[~single].iloc[0]).__name__
        return [
            f"column {title} must hold single values; {int((~single).sum())} of {len(column)} "
            f"cells do not, the first is a {first}. Give each part a column or a row of its own."
        ]
    # Texts are sorted apart from all others, and what is of one kind need not be.
    others = {type(cell): cell for cell in column.dropna() if not isinstance(cell, str)}
    try:
        sorted(others.values() if column.name in _SORTED else [])
    except TypeError:
        kinds = " and ".join(sorted(kind.__name__ for kind in others))
        return [
            f"column {title} must hold labels of one kind; it holds {kinds}, which have no order "
            "among them. Write them all as text: column.astype(str)."
        ]
    return []


def _rows(mask: np.ndarray) -> str:
    """Name the first rows where `mask` holds."""
    positions = np.flatnonzero(mask)
    shown = ", ".join(str(position) for position in positions[:5])
    return f"row{'s' if positions.size > 1 else ''} {shown}" + (
        f" and {positions.size - 5} more" if positions.size > 5 else ""
    )


def _missing_columns(runs: Runs, named: Naming) -> list[str]:
    names, states = runs.names, runs.states
    faults = []
    if len(states) == 1:
        faults.append(
            f"{states[0]!r} is the only column of beliefs, and beliefs per state need one column "
            f"p_<state> for each state. Rename it to 'p' (--belief {states[0]}) if it is the "
            "probability that theta = 1; otherwise add the columns of the other states."
        )
    elif "p" not in names and not states:
        faults.append(
            f"column 'p' (the stated belief) is missing. {nearly_called(['belief'], names)} Say "
            "which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME}), or rename "
            "the column of a DataFrame."
        )
    if "z" in names and not {"z_state", "p_z"} <= set(names):
        faults.append(f"column {named('z')} needs the columns 'z_state' and 'p_z' beside it.")
    return faults


def _nothing_to_check(runs: Runs, named: Naming) -> list[str]:
    names, states = runs.names, runs.states
    # Columns count even if nothing in them could be read: a report that shows the unreadable
    # answers is worth having. A missing belief is another rule's concern.
    several = len(states) > 1
    unmet = runs.unmet(names if several else [*names, "p"])
    if not all(unmet.intersection(needs) for needs in EVIDENCE):
        return []
    action, theta, exact = (
        "'action' (what was chosen)",
        "'theta' (the realised state)",
        "'p_true' (the exact posterior)",
    )
    if not several:
        wanted = (
            f"{action}, {theta}, {exact}, a second wording in 'prompt', or 'z', 'z_state' and 'p_z'"
        )
    else:
        wanted = (
            f"{action}, {theta} or {exact}"
            if len(states) == 2
            else f"{action} together with {theta}"
        )
    # A column that is known for something else is not meant.
    unknown = [name for name in names if name not in COLUMN_NAMES] or names
    lacking = [name for name in ("action", "theta", "p_true") if name not in names]
    return [
        f"there is nothing to check beliefs against: give {wanted}. "
        f"{nearly_called(lacking, unknown)} Say which is which: --action NAME, --truth NAME; in "
        "Python read_runs(..., "
        "columns={'action': NAME, 'theta': NAME}), or rename the columns of a DataFrame."
    ]


def _remedy_outside(numbers: np.ndarray) -> str:
    """Say what to do about numbers that should be probabilities, of which some lie outside."""
    largest, smallest = np.nanmax(numbers), np.nanmin(numbers)
    if max(largest - 1, -smallest) <= 0.01:
        return f" Up to {PROBABILITY_TOLERANCE:g} outside is a rounding error and would do."
    if not 1 < largest <= 100:
        return ""
    if Tally.of(numbers).mostly_below_1:
        return " Most values are probabilities; correct the others, a percentage by dividing it."
    scale = " Divide answers on a scale of 0 to 10 by 10." if largest <= 10 else ""
    return scale + " Divide percentages by 100. --percent (percent=True) reads them as they are."


def _probability_faults(runs: Runs, named: Naming) -> list[str]:
    faults = []
    for name in [*PROBABILITIES, *runs.states, *runs.policies]:
        if name not in runs.table.columns:
            continue
        column = runs.table[name]
        if name in runs.policies:
            column = column.where(runs.of_policies)
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.astype(column.dtype.subtype)
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        # True and False would pass as 1 and 0, and are no stated probabilities.
        boolean = np.full(len(column), pd.api.types.is_bool_dtype(column))
        if column.dtype == object:
            cells = column.map(lambda value: isinstance(value, bool | np.bool_))
            boolean = cells.to_numpy(dtype=bool)
        text = (np.isnan(numbers) & column.notna().to_numpy()) | boolean
        if text.any():
            faults.append(
                f"column {named(name)} must hold numbers; {int(text.sum())} of {len(column)} "
                f"values do not, the first is {column[text].iloc[0]!r} ({_rows(text)}). Leave the "
                "cell empty where there is no number: it counts as an unreadable answer."
            )
        outside = (numbers < -PROBABILITY_TOLERANCE) | (numbers > 1 + PROBABILITY_TOLERANCE)
        if outside.any():
            faults.append(
                f"column {named(name)} must hold probabilities in [0, 1]; {int(outside.sum())} of "
                f"{len(column)} values do not, the first is {numbers[outside][0]:.10g} "
                f"({_rows(outside)}).{_remedy_outside(numbers)}"
            )
    states = runs.states
    if len(states) > 1 and not faults:
        total = _numbers(runs.table, states).sum(axis=1)
        off = np.abs(total - 1) > STATE_SUM_TOLERANCE
        faults += _sum_faults(states, total, off, STATE_SUM_TOLERANCE)
    return faults


def _sum_faults(
    names: Sequence[str], total: np.ndarray, off: np.ndarray, within: float
) -> list[str]:
    if not off.any():
        return []
    return [
        f"the columns {', '.join(names)} must sum to 1 (within {within}); "
        f"{counted(int(off.sum()), 'row does', 'rows do')} not, the first sums to "
        f"{total[off][0]:g} ({_rows(off)})."
    ]


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def _policy_faults(runs: Runs, named: Naming) -> list[str]:
    """Check probabilities of actions, each one by itself being a probability already."""
    every = [name for name in runs.names if name.startswith(ACTION_PREFIX)]
    columns, of_policies = runs.policies, runs.of_policies.to_numpy()
    total = np.nansum(_numbers(runs.table, every), axis=1) if every else np.empty(0)
    sums = np.abs(total - 1) <= ACTION_SUM_TOLERANCE
    faults = []
    # Beside a chosen action, only what looks like probabilities of actions is meant as such.
    beside = ~of_policies
    if len(every) > 1 and (sums & beside).any() and (sums | (total == 0))[beside].all():
        faults.append(
            f"there are chosen actions in {named('action')} and their probabilities in "
            f"{', '.join(every)}; a task and model has one or the other. Drop one of them."
        )
    if not columns:
        return faults
    if len(columns) == 1:
        faults.append(
            f"{columns[0]!r} is the only column of probabilities of actions, and every action "
            "needs one. Add those of the others, or rename it if it holds something else."
        )
    there = runs.table[columns].notna().to_numpy() & of_policies[:, None]
    faults += _sum_faults(columns, total, there.any(axis=1) & ~sums, ACTION_SUM_TOLERANCE)
    # Tasks may have actions of their own, whose columns are empty for all others.
    unit = [name for name in UNIT if name in runs.names]
    # Unsorted: labels of several kinds have no order.
    units = runs.table.groupby(unit, dropna=False, observed=True, sort=False) if unit else None
    keys = np.zeros(len(runs)) if units is None else units.ngroup()
    used = pd.DataFrame(there).groupby(np.asarray(keys)).transform("any").to_numpy()
    partly = there.any(axis=1) & (there != used).any(axis=1)
    if partly.any():
        faults.append(
            f"probabilities of some actions are empty beside those of others in {_rows(partly)}. "
            "Give every action of the task its probability, 0 included, or none."
        )
    return faults


def _spread_faults(runs: Runs, named: Naming) -> list[str]:
    """Check what is said of the distribution of answers and of the way in which they were got."""
    table, faults = runs.table, []
    if "p_sd" in table.columns:
        spread = _numbers(table, ["p_sd"])[:, 0]
        # Half of the answers at 0 and half at 1 is as wide as answers can lie.
        wide = (spread > 0.5) & (spread <= 1)
        if wide.any():
            faults.append(
                f"column {named('p_sd')} must be at most 0.5, the largest standard deviation of "
                f"probabilities; the first above is {spread[wide][0]:g} ({_rows(wide)})."
            )
    if {"p_q05", "p_q95"} <= set(table.columns):
        low, high = _numbers(table, ["p_q05", "p_q95"]).T
        crossed = low > high
        if crossed.any():
            faults.append(
                f"{named('p_q05')} must not lie above {named('p_q95')}; it does in "
                f"{counted(int(crossed.sum()), 'row')} ({_rows(crossed)})."
            )
    if "belief_kind" in table.columns:
        kind = table["belief_kind"].astype("object")
        unknown = (kind.notna() & ~kind.isin(BELIEF_KINDS)).to_numpy()
        if unknown.any():
            faults.append(
                f"column {named('belief_kind')} must be one of {', '.join(BELIEF_KINDS)}; the "
                f"first other value is {kind[unknown].iloc[0]!r} ({_rows(unknown)})."
            )
    if "tokens" in table.columns:
        number = _numbers(table, ["tokens"])[:, 0]
        wrong = (number < 0) | (number % 1 > 0) | (np.isnan(number) & table["tokens"].notna())
        if wrong.any():
            faults.append(
                f"column {named('tokens')} must hold whole numbers of at least 0; the first other "
                f"value is {table['tokens'][wrong].iloc[0]} ({_rows(np.asarray(wrong))})."
            )
    return faults


def _status_faults(runs: Runs, named: Naming) -> list[str]:
    if "status" not in runs.names:
        return []
    faults = []
    status = runs.table["status"].astype("object")
    unknown = ~status.isin(STATUSES).to_numpy()
    if unknown.any():
        first = status[unknown].iloc[0]
        faults.append(
            f"column {named('status')} must be one of ok, {', '.join(FAILURES)}, or a repair "
            f"({', '.join(REPAIRS)}); the first other value is {first!r} ({_rows(unknown)})."
        )
    readable = status.isin(READABLE).to_numpy()
    if runs.beliefs:
        belief = runs.beliefs[0]
        known = runs.table[belief].notna().to_numpy()
        empty = ~known & readable
        if empty.any():
            first = status[empty].iloc[0]
            faults.append(
                f"{named.plain('status')} is {first!r} but {named(belief)} is empty in "
                f"{_rows(empty)}. Give the status that says why, or the belief."
            )
        filled = ~readable & ~unknown & known & runs.acted.to_numpy()
        if filled.any():
            first = status[filled].iloc[0]
            action = "the probabilities of actions" if runs.policies else named("action")
            faults.append(
                f"{named.plain('status')} is {first!r} but both {named(belief)} and {action} "
                f"are filled in {_rows(filled)}. Leave the unreadable one empty."
            )
    return faults


def _key_faults(runs: Runs, named: Naming) -> list[str]:
    faults: list[str] = []
    table, unit = runs.table, [name for name in UNIT if name in runs.names]
    if "context" not in table.columns:
        return faults
    unnamed = table["context"].isna().to_numpy()
    if unnamed.any():
        faults.append(f"column {named('context')} is empty in {_rows(unnamed)}.")
    if "theta" in table.columns:
        keys = [*unit, "context"]
        contexts = table.groupby(keys, dropna=False, observed=True, sort=False)
        states = contexts["theta"].transform("nunique")
        varies = (states > 1).to_numpy()
        if varies.any():
            names = table.loc[varies, "context"].astype(str).unique()
            faults.append(
                f"{named.plain('theta')} must be the same in all rows of a context; it varies "
                f"within {counted(len(names), 'context')}, the first is {names[0]!r} "
                f"({_rows(varies)}). Give every realised state its own context id."
            )
    if "group" in table.columns:
        ungrouped = table["group"].isna().to_numpy()
        if ungrouped.any():
            faults.append(
                f"column {named('group')} is empty in {_rows(ungrouped)}. Give each context of "
                "no group one of its own, or leave the column out."
            )
        contexts = table.groupby([*unit, "context"], dropna=False, observed=True, sort=False)
        varies = (contexts["group"].transform("nunique") > 1).to_numpy()
        if varies.any():
            faults.append(
                f"{named.plain('group')} must be the same in all rows of a context; it varies in "
                f"{_rows(varies)}. Contexts belong to one group each."
            )
    if "rep" in table.columns:
        key = [name for name in KEY if name in table.columns]
        twice = table.duplicated(key, keep=False).to_numpy()
        if twice.any():
            faults.append(
                f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
                f"share theirs with another ({_rows(twice)}). Number repetitions in "
                f"{named.plain('rep')}, and drop copies."
            )
    return faults


def examined(
    table: pd.DataFrame,
    *,
    merge_labels: bool | None = None,
    part: bool = False,
    named: Naming = AS_IN_RUNS,
    missing: Collection[str] = (),
) -> tuple[Runs, list[str]]:
    """Tell the columns of a table apart, and list everything that is wrong with it."""
    runs = Runs(table)
    if len(table) == 0:
        return runs, ["it has no rows."]
    if strange := shape_faults(table, named):  # every later rule would trip over them
        return runs, strange
    table, notes = without_blank_labels(table.reset_index(drop=True))
    if merge_labels:
        table, merged = merge_alike(table)
        notes += merged
    elif merge_labels is False:
        apart = labels_alike(table)[:5]
        notes += [f"labels of {group.column!r} were kept apart: {group}." for group in apart]
    runs = Runs(table, tuple(dict.fromkeys((*runs.notes, *notes))))
    rules = [_probability_faults, _policy_faults, _spread_faults, _status_faults, _key_faults]
    if not part and not missing:
        rules.insert(0, _nothing_to_check)
    if "p" not in missing:
        rules.insert(0, _missing_columns)
    faults = [fault for rule in rules for fault in rule(runs, named)]
    faults += column_faults(runs, missing)
    if merge_labels is None and not part:
        faults += label_faults(table, named)
    return runs, faults


def validate_runs(
    runs: pd.DataFrame, *, source: str = "runs table", labels_apart: bool = False
) -> Runs:
    """Raise if a table is not a valid runs table.

    Parameters
    ----------
    runs : DataFrame
        Candidate runs table; the columns are described in `COLUMNS`.
    source : str
        Name of the table in the message.
    labels_apart : bool
        Whether labels that differ only by blanks, case, Unicode form or type are meant to differ,
        and no fault.

    Returns
    -------
    Runs
        The table with its columns told apart; `coherence.analyze` takes it without validating it
        again.

    Raises
    ------
    SchemaError
        With every fault at once, each with its row numbers (counted from 0) and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> validate_runs(pd.DataFrame({"p": [0.2, 85], "action": ["no", "yes"], "theta": [0, 1]}))
    Traceback (most recent call last):
    coherence.errors.SchemaError: runs table has 1 fault: column 'p' must hold probabilities in \
[0, 1]; 1 of 2 values do not, the first is 85 (row 1). Divide percentages by 100. \
--percent (percent=True) reads them as they are.
    """
    require_frame(runs)
    if not isinstance(source, str):
        raise InputError(f"source must be a text; received {type(source).__name__}.")
    return valid(runs, source=source, merge_labels=False if labels_apart else None)


def require_plain_table(runs: pd.DataFrame) -> None:
    """Raise `InputError` unless a table has one name a column and one value a cell."""
    require_frame(runs)
    if strange := shape_faults(runs):
        raise InputError(f"runs: {strange[0]}")


def valid(
    table: pd.DataFrame, *, source: str = "runs table", merge_labels: bool | None = None
) -> Runs:
    """Return a table as `Runs`, or raise with all that is wrong with it."""
    runs, faults = examined(table, merge_labels=merge_labels)
    if faults:
        raise SchemaError(faults, source)
    return runs
