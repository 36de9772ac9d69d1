"""The validator of the runs table: every fault at once, with row numbers and remedies."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.table.column_names import column_faults, nearly_called
from coherence.table.frames import require_frame
from coherence.table.labels import label_faults
from coherence.table.naming import AS_IN_RUNS, Naming
from coherence.table.needs import EVIDENCE, missing
from coherence.table.percentages import remedy_outside
from coherence.table.printable import counted
from coherence.table.schema import (
    ACTION_PREFIX,
    ACTION_SUM_TOLERANCE,
    BELIEF_KINDS,
    COLUMN_NAMES,
    FAILURES,
    KEY,
    PROBABILITIES,
    PROBABILITY_TOLERANCE,
    READABLE,
    REPAIRS,
    STATE_SUM_TOLERANCE,
    STATUSES,
    action_columns,
    has_action,
    policy_rows,
    state_columns,
)
from coherence.table.shape_faults import shape_faults


def _rows(mask: np.ndarray) -> str:
    """Name the first rows where `mask` holds."""
    positions = np.flatnonzero(mask)
    shown = ", ".join(str(position) for position in positions[:5])
    return f"row{'s' if positions.size > 1 else ''} {shown}" + (
        f" and {positions.size - 5} more" if positions.size > 5 else ""
    )


def _missing_columns(runs: pd.DataFrame, named: Naming) -> list[str]:
    names = [str(name) for name in runs.columns]
    faults = []
    states = state_columns(runs)
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


def _nothing_to_check(runs: pd.DataFrame, named: Naming) -> list[str]:
    names = [str(name) for name in runs.columns]
    states = state_columns(runs)
    # Columns count even if nothing in them could be read: a report that shows the unreadable
    # answers is worth having. A missing belief is another rule's concern.
    several = len(states) > 1
    unmet = missing(runs, names if several else [*names, "p"])
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


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= 2**1023


def _probability_faults(runs: pd.DataFrame, named: Naming) -> list[str]:
    faults = []
    policies, of_policies = action_columns(runs), policy_rows(runs)
    for name in [*PROBABILITIES, *state_columns(runs), *policies]:
        if name not in runs.columns:
            continue
        column = runs[name].where(of_policies) if name in policies else runs[name]
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.astype(column.dtype.subtype)
        if column.dtype == object:  # an integer beyond all floats is no probability either
            column = column.map(lambda value: np.inf if _is_huge(value) else value)
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
                f"({_rows(outside)}).{remedy_outside(numbers)}"
            )
    states = state_columns(runs)
    if len(states) > 1 and not faults:
        total = (
            runs[states]
            .apply(pd.to_numeric, errors="coerce")
            .to_numpy(dtype=float, na_value=np.nan)
            .sum(axis=1)
        )
        off = np.abs(total - 1) > STATE_SUM_TOLERANCE
        if off.any():
            faults.append(
                f"the columns {', '.join(states)} must sum to 1 (within {STATE_SUM_TOLERANCE}); "
                f"{counted(int(off.sum()), 'row does', 'rows do')} not, the first sums to "
                f"{total[off][0]:g} ({_rows(off)})."
            )
    return faults


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def _policy_faults(runs: pd.DataFrame, named: Naming) -> list[str]:
    """Check probabilities of actions, each one by itself being a probability already."""
    every = [str(name) for name in runs.columns if str(name).startswith(ACTION_PREFIX)]
    columns, of_policies = action_columns(runs), policy_rows(runs).to_numpy()
    total = np.nansum(_numbers(runs, every), axis=1) if every else np.empty(0)
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
    there = runs[columns].notna().to_numpy() & of_policies[:, None]
    off = there.any(axis=1) & ~sums
    if off.any():
        faults.append(
            f"the columns {', '.join(columns)} must sum to 1 (within {ACTION_SUM_TOLERANCE}); "
            f"{counted(int(off.sum()), 'row does', 'rows do')} not, the first sums to "
            f"{total[off][0]:g} ({_rows(off)})."
        )
    # Tasks may have actions of their own, whose columns are empty for all others.
    unit = [name for name in ("task", "model") if name in runs.columns]
    # Unsorted: labels of several kinds have no order.
    units = runs.groupby(unit, dropna=False, observed=True, sort=False) if unit else None
    keys = np.zeros(len(runs)) if units is None else units.ngroup()
    used = pd.DataFrame(there).groupby(np.asarray(keys)).transform("any").to_numpy()
    partly = there.any(axis=1) & (there != used).any(axis=1)
    if partly.any():
        faults.append(
            f"probabilities of some actions are empty beside those of others in {_rows(partly)}. "
            "Give every action of the task its probability, 0 included, or none."
        )
    return faults


def _spread_faults(runs: pd.DataFrame, named: Naming) -> list[str]:
    """Check what is said of the distribution of answers and of the way in which they were got."""
    faults = []
    if "p_sd" in runs.columns:
        spread = _numbers(runs, ["p_sd"])[:, 0]
        # Half of the answers at 0 and half at 1 is as wide as answers can lie.
        wide = (spread > 0.5) & (spread <= 1)
        if wide.any():
            faults.append(
                f"column {named('p_sd')} must be at most 0.5, the largest standard deviation of "
                f"probabilities; the first above is {spread[wide][0]:g} ({_rows(wide)})."
            )
    if {"p_q05", "p_q95"} <= set(runs.columns):
        low, high = _numbers(runs, ["p_q05", "p_q95"]).T
        crossed = low > high
        if crossed.any():
            faults.append(
                f"{named('p_q05')} must not lie above {named('p_q95')}; it does in "
                f"{counted(int(crossed.sum()), 'row')} ({_rows(crossed)})."
            )
    if "belief_kind" in runs.columns:
        kind = runs["belief_kind"].astype("object")
        unknown = (kind.notna() & ~kind.isin(BELIEF_KINDS)).to_numpy()
        if unknown.any():
            faults.append(
                f"column {named('belief_kind')} must be one of {', '.join(BELIEF_KINDS)}; the "
                f"first other value is {kind[unknown].iloc[0]!r} ({_rows(unknown)})."
            )
    if "tokens" in runs.columns:
        number = _numbers(runs, ["tokens"])[:, 0]
        wrong = (number < 0) | (number % 1 > 0) | (np.isnan(number) & runs["tokens"].notna())
        if wrong.any():
            faults.append(
                f"column {named('tokens')} must hold whole numbers of at least 0; the first other "
                f"value is {runs['tokens'][wrong].iloc[0]} ({_rows(np.asarray(wrong))})."
            )
    return faults


def _status_faults(runs: pd.DataFrame, named: Naming) -> list[str]:
    if "status" not in runs.columns:
        return []
    faults = []
    status = runs["status"].astype("object")
    unknown = ~status.isin(STATUSES).to_numpy()
    if unknown.any():
        first = status[unknown].iloc[0]
        faults.append(
            f"column {named('status')} must be one of ok, {', '.join(FAILURES)}, or a repair "
            f"({', '.join(REPAIRS)}); the first other value is {first!r} ({_rows(unknown)})."
        )
    readable = status.isin(READABLE).to_numpy()
    belief = next((name for name in ("p", *state_columns(runs)) if name in runs.columns), None)
    if belief is not None:
        empty = runs[belief].isna().to_numpy() & readable
        if empty.any():
            first = status[empty].iloc[0]
            faults.append(
                f"{named.plain('status')} is {first!r} but {named(belief)} is empty in "
                f"{_rows(empty)}. Give the status that says why, or the belief."
            )
        acted = has_action(runs).to_numpy()
        filled = ~readable & ~unknown & runs[belief].notna().to_numpy() & acted
        if filled.any():
            first = status[filled].iloc[0]
            action = "the probabilities of actions" if action_columns(runs) else named("action")
            faults.append(
                f"{named.plain('status')} is {first!r} but both {named(belief)} and {action} "
                f"are filled in {_rows(filled)}. Leave the unreadable one empty."
            )
    return faults


def _key_faults(runs: pd.DataFrame, named: Naming) -> list[str]:
    faults: list[str] = []
    unit = [name for name in ("task", "model") if name in runs.columns]
    if "context" not in runs.columns:
        return faults
    unnamed = runs["context"].isna().to_numpy()
    if unnamed.any():
        faults.append(f"column {named('context')} is empty in {_rows(unnamed)}.")
    if "theta" in runs.columns:
        keys = [*unit, "context"]
        contexts = runs.groupby(keys, dropna=False, observed=True, sort=False)
        states = contexts["theta"].transform("nunique")
        varies = (states > 1).to_numpy()
        if varies.any():
            names = runs.loc[varies, "context"].astype(str).unique()
            faults.append(
                f"{named.plain('theta')} must be the same in all rows of a context; it varies "
                f"within {counted(len(names), 'context')}, the first is {names[0]!r} "
                f"({_rows(varies)}). Give every realised state its own context id."
            )
    if "group" in runs.columns:
        ungrouped = runs["group"].isna().to_numpy()
        if ungrouped.any():
            faults.append(
                f"column {named('group')} is empty in {_rows(ungrouped)}. Give each context of "
                "no group one of its own, or leave the column out."
            )
        contexts = runs.groupby([*unit, "context"], dropna=False, observed=True, sort=False)
        varies = (contexts["group"].transform("nunique") > 1).to_numpy()
        if varies.any():
            faults.append(
                f"{named.plain('group')} must be the same in all rows of a context; it varies in "
                f"{_rows(varies)}. Contexts belong to one group each."
            )
    if "rep" in runs.columns:
        key = [name for name in KEY if name in runs.columns]
        twice = runs.duplicated(key, keep=False).to_numpy()
        if twice.any():
            faults.append(
                f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
                f"share theirs with another ({_rows(twice)}). Number repetitions in "
                f"{named.plain('rep')}, and drop copies."
            )
    return faults


def find_faults(
    runs: pd.DataFrame,
    *,
    part: bool = False,
    labels_apart: bool = False,
    named: Naming = AS_IN_RUNS,
    missing: Collection[str] = (),
) -> list[str]:
    """List every fault of a runs table."""
    doubled = [str(name) for name in runs.columns[runs.columns.duplicated()]]
    if doubled:
        # Every later rule selects columns by name and would see two of them.
        return [
            f"column names must be unique; {', '.join(sorted(set(doubled)))} occur more than once."
        ]
    if len(runs) == 0:
        return ["it has no rows."]
    if strange := shape_faults(runs, named):
        return strange
    rules: Sequence[Callable[[pd.DataFrame, Naming], list[str]]] = (
        _missing_columns,
        _nothing_to_check,
        _probability_faults,
        _policy_faults,
        _spread_faults,
        _status_faults,
        _key_faults,
        lambda runs, _: column_faults(runs, missing),
        label_faults,
    )
    spared = (
        {_nothing_to_check, label_faults} if part else {label_faults} if labels_apart else set()
    )
    if missing:
        spared |= {_nothing_to_check} | ({_missing_columns} if "p" in missing else set())
    return [fault for rule in rules if rule not in spared for fault in rule(runs, named)]


def validate_runs(
    runs: pd.DataFrame, *, source: str = "runs table", labels_apart: bool = False
) -> None:
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
    faults = find_faults(runs, labels_apart=labels_apart)
    if faults:
        raise SchemaError(faults, source)
