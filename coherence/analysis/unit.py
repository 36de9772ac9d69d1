"""What one (task, model) holds: its beliefs, states, pairs of actions and unreadable answers, read off the columns."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from coherence.inputs import as_codes
from coherence.table.schema import READABLE

ORDERED_PAIRS = (("yes", "no"), ("yes", "defer"), ("defer", "no"))


N_UNREADABLE_SHOWN = 8


USUAL_STATES = (["0", "1"], ["false", "true"], ["no", "yes"], ["0.0", "1.0"])
N_LABELS_SHOWN = 6


def _belief(rows: pd.DataFrame, states: list[str]) -> np.ndarray:
    """One belief per row, or one column per state where there are several."""
    if "p" in rows.columns:
        return rows["p"].to_numpy(dtype=np.float64)
    beliefs = rows[states].to_numpy(dtype=np.float64)
    # Stated with two digits, the states may sum to .99 or 1.01; the schema bounds how far off they
    # are.
    shares = np.asarray(beliefs / beliefs.sum(axis=1, keepdims=True))
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _unreadable(unit: pd.DataFrame) -> pd.DataFrame:
    columns = [
        name
        for name in ("context", "prompt", "z_state", "status", "raw_belief", "raw_z", "raw_action")
        if name in unit.columns
    ]
    if "status" not in unit.columns:
        return pd.DataFrame(columns=columns)
    shown = unit.loc[~unit["status"].isin(READABLE), columns].head(N_UNREADABLE_SHOWN)
    return shown.dropna(axis="columns", how="all").reset_index(drop=True)


def _action_pairs(actions: Sequence[Any]) -> tuple[list[tuple[Any, Any]], str]:
    """Pairs of actions and the direction in which the first one's share must move with belief."""
    by_name = {str(action).lower(): action for action in actions}
    if len(by_name) == len(actions) and set(by_name) <= {"yes", "no", "defer"}:
        return [
            (by_name[a], by_name[b]) for a, b in ORDERED_PAIRS if a in by_name and b in by_name
        ], "increasing"
    return list(combinations(actions, 2)), "either"


def _listed(names: Sequence[Any], last: str = "and") -> str:
    return (
        f"{', '.join(str(name) for name in names[:-1])} {last} {names[-1]}"
        if len(names) > 1
        else str(names[0])
    )


def _column_of(state: Any, columns: Sequence[str]) -> str:
    """The p_<state> column that is named after a state; empty if none is."""
    names = [f"p_{state}"]
    if isinstance(state, float) and state.is_integer():
        names.append(f"p_{int(state)}")  # empty cells in theta turn 1 into 1.0
    return next((name for name in names if name in columns), "")


def _second(columns: Sequence[str]) -> str:
    return f"beliefs are those of the column {columns[1]}, the second of {_listed(columns)} in sorted order."


def _ordered_states(columns: list[str], theta: pd.Series) -> tuple[list[str], str]:
    """Order the p_<state> columns as the states of theta are, and say why where they cannot be told apart by its labels."""
    try:
        ordered = sorted(columns, key=lambda name: float(name.removeprefix("p_")))
    except ValueError:
        ordered = sorted(columns)
    labels = as_codes(theta, "theta")[1]
    named = [name for name in (_column_of(label, columns) for label in labels) if name]
    if len(set(named)) < len(labels):
        shown = [
            *(repr(label) for label in labels[:N_LABELS_SHOWN]),
            *(["more"] if len(labels) > N_LABELS_SHOWN else []),
        ]
        return (
            ordered,
            f"theta is {_listed(shown, 'or')}, and the columns of beliefs are {_listed(ordered)}",
        )
    # The checks know theta by its own order, in which "10" as text comes before "2" and 10 as a
    # number after 2.
    return (named if len(named) == len(columns) else ordered), ""


def _positive_state(theta: pd.Series, columns: Sequence[str]) -> tuple[np.ndarray | None, str]:
    """The realised state as 0 or 1, and a note where the order had to be assumed; `columns` are the two of a belief per state, if there are any."""
    codes, states = as_codes(theta, "theta")
    if columns:
        codes = np.array([columns.index(_column_of(state, columns)) for state in states])[codes]
        states = tuple(name.removeprefix("p_") for name in columns)
    elif len(states) == 1 and states[0] in (0, 1, "0", "1"):
        return np.full(len(theta), float(states[0])), ""
    if len(states) != 2:
        return (
            None,
            f"theta has {len(states)} states: monotone choice, and calibration to what happened, need two.",
        )
    usual = [str(state).lower() for state in states] in USUAL_STATES
    note = f"theta: p was taken as the probability of {states[1]!r}, the second of the two labels in sorted order."
    if columns:
        note = f"theta: {_second(columns)}"
    return codes.astype(np.float64), "" if usual else note
